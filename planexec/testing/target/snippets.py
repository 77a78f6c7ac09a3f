"""The part of a file that has to be compiled for a change in a function: the function in the classes that hold it.

A whole file takes longer to compile than most tests take to run.
"""

from __future__ import annotations
import __future__

import ast
import io
import tokenize
from typing import List, Optional, Sequence, Tuple

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class SourceFile:
    """A file as it was when it was loaded. Only UTF-8 with line feeds (perhaps after carriage returns) is looked at."""

    def __init__(self, content: bytes) -> None:
        self._lines = content.split(b"\n")
        self._body: Sequence[ast.stmt] = []
        self.flags = 0
        try:
            plain = tokenize.detect_encoding(io.BytesIO(content).readline)[0] == "utf-8"
            if plain and b"\r" not in content.replace(b"\r\n", b"\n"):
                self._body = ast.parse(content).body
                self.flags = _future_flags(self._body)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass

    def around(self, content: bytes) -> Optional[Tuple[bytes, bytes]]:
        """The outermost function in which ``content`` differs, before and after, each as a file of its own in which
        it stands on the same lines; None where another part of the file differs.
        """
        lines = content.split(b"\n")
        first, last = _changed(self._lines, lines)
        found = self._function(self._body, first, last, [])
        if found is None:
            return None
        function, above = found
        start, end = first_line(function), function.end_lineno or function.lineno
        headers = [_header(self._lines, each) for each in above]
        padding = start - 1 - len(headers)
        if padding < 0:
            return None
        head = b"\n" * padding + b"".join(header + b"\n" for header in headers)
        before, after = self._lines[start - 1 : end], lines[start - 1 : end + len(lines) - len(self._lines)]
        return head + b"\n".join(before) + b"\n", head + b"\n".join(after) + b"\n"

    def _function(
        self, body: Sequence[ast.stmt], first: int, last: int, above: List[ast.stmt]
    ) -> Optional[Tuple[ast.stmt, List[ast.stmt]]]:
        """The function that holds the old lines from ``first`` to before ``last``, and the statements around it."""
        for node in body:
            if not (first_line(node) <= first and last - 1 <= (node.end_lineno or node.lineno) >= first - 1):
                continue
            if isinstance(node, DEFINITIONS):
                return node, above
            for part in ("body", "handlers", "orelse", "finalbody"):
                found = self._function(getattr(node, part, []), first, last, [*above, node])
                if found is not None:
                    return found
        return None


def first_line(node: ast.stmt) -> int:
    """The first line of a statement, its decorators included."""
    decorators: Sequence[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def _changed(old: Sequence[bytes], new: Sequence[bytes]) -> Tuple[int, int]:
    """The old lines that differ, counted from 1: the first, and the one after the last."""
    most = min(len(old), len(new))
    ahead = 0
    while ahead < most and old[ahead] == new[ahead]:
        ahead += 1
    behind = 0
    while behind < most - ahead and old[-1 - behind] == new[-1 - behind]:
        behind += 1
    return ahead + 1, len(old) - behind + 1


def _header(lines: Sequence[bytes], node: ast.stmt) -> bytes:
    line = lines[node.lineno - 1]
    indent = line[: len(line) - len(line.lstrip())]
    return indent + (b"class " + node.name.encode() if isinstance(node, ast.ClassDef) else b"if 1") + b":"


def _future_flags(body: Sequence[ast.stmt]) -> int:
    flags = 0
    for node in body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for alias in node.names:
                feature = getattr(__future__, alias.name, None)
                flags |= getattr(feature, "compiler_flag", 0)
    return flags
