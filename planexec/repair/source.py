"""One Python file as bytes, text, tokens and syntax tree, with the way from a node to its place in the file.

``ast`` counts columns in UTF-8 bytes of the decoded line, tokens count characters, the file has an encoding of its own,
a byte order mark perhaps, and any of three line ends. Everything here is in characters of ``Source.text``, which keeps
the file's own line ends; only ``byte_offset`` goes back to the file.
"""

from __future__ import annotations

import ast
import io
import keyword
import re
import tokenize
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

Span = tuple[int, int]
Unit = ast.stmt | ast.excepthandler | ast.match_case
Function = ast.FunctionDef | ast.AsyncFunctionDef

_LINE_END = re.compile(r"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Token:
    """A token that is neither comment nor line structure; ``start`` and ``end`` are characters of the text."""

    text: str
    start: int
    end: int


def parse(text: str) -> ast.Module | None:
    """The tree of ``text``, or None where this interpreter cannot read it (old syntax, null bytes, too deep)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


class Source:
    """A file that can be read, parsed and spliced. Made by ``Source.read``; the tree is not to be changed."""

    def __init__(self, path: str, data: bytes, *, encoding: str, bom: bytes, text: str, tree: ast.Module) -> None:
        self.path, self.data, self.encoding, self.bom = path, data, encoding, bom
        self.text, self.tree = text, tree
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
        self._ascii = text.isascii() and encoding in {"utf-8", "ascii", "iso-8859-1"}

    @classmethod
    def read(cls, path: str, data: bytes) -> Source | None:
        """The source in ``data``; None when it cannot be decoded, parsed, or written back byte for byte."""
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            bom = _BOM if data.startswith(_BOM) else b""
            encoding = "utf-8" if bom else encoding
            text = data[len(bom) :].decode(encoding)
            if bom + text.encode(encoding) != data:
                return None
        except (SyntaxError, ValueError, LookupError):
            return None
        tree = parse(text)
        return None if tree is None else cls(path, data, encoding=encoding, bom=bom, text=text, tree=tree)

    # Places

    def line_start(self, line: int) -> int:
        """The first character of ``line``, which counts from 1."""
        return self._starts[min(line, len(self._starts)) - 1]

    def line_end(self, line: int) -> int:
        """The place behind ``line`` and before its line end."""
        return self.line_start(line) + len(self.line_text(line))

    def line_text(self, line: int) -> str:
        """``line`` without its end; empty when the file has no such line."""
        if not 1 <= line <= len(self._starts):
            return ""
        end = self._starts[line] if line < len(self._starts) else len(self.text)
        return self.text[self._starts[line - 1] : end].rstrip("\r\n")

    def line_of(self, place: int) -> int:
        """The line, from 1, of the character ``place``."""
        return bisect_right(self._starts, place)

    @property
    def newline(self) -> str:
        """The line end that the file uses first; a line feed where it has none."""
        match = _LINE_END.search(self.text)
        return match.group() if match else "\n"

    def _place(self, line: int, column: int) -> int:
        start = self.line_start(line)
        if self._ascii:
            return start + column
        row = self.line_text(line)
        return start + (column if row.isascii() else len(row.encode()[:column].decode(errors="ignore")))

    def span(self, node: ast.AST) -> Span:
        """Where ``node`` stands, without parentheses around it.

        A generator that is the only argument of a call shares the call's parentheses in the tree; here it does not.
        """
        assert isinstance(node, (ast.expr, ast.stmt, ast.excepthandler, ast.arg, ast.keyword, ast.alias))
        start = self._place(node.lineno, node.col_offset)
        end = self._place(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
        if isinstance(node, ast.GeneratorExp) and node in self.parents:
            parent = self.parents[node][0]
            if isinstance(parent, ast.Call) and self.span(parent)[1] == end:
                return start + 1, end - 1
        return start, end

    def segment(self, node: ast.AST) -> str:
        """The text of ``node``."""
        start, end = self.span(node)
        return self.text[start:end]

    def byte_offset(self, place: int) -> int | None:
        """The offset in ``data`` of the character ``place``; None in an encoding with shift states."""
        if self._ascii:
            return len(self.bom) + place
        prefix = self.bom + self.text[:place].encode(self.encoding)
        return len(prefix) if self.data.startswith(prefix) else None

    # Tokens

    @cached_property
    def tokens(self) -> list[Token]:
        """All tokens in order; the insides of f-strings may be missing, and all are where ``tokenize`` gives up."""
        skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
        rows = iter([self.line_text(number) + "\n" for number in range(1, len(self._starts) + 1)])
        found: list[Token] = []
        try:
            for token in tokenize.generate_tokens(lambda: next(rows, "")):
                if token.type in skipped or not token.string:
                    continue
                start = self.line_start(token.start[0]) + token.start[1]
                end = self.line_start(token.end[0]) + token.end[1]
                found.append(Token(token.string, start, end))
        except (tokenize.TokenError, SyntaxError, IndentationError):
            return []
        return found

    @cached_property
    def _token_starts(self) -> list[int]:
        return [token.start for token in self.tokens]

    @cached_property
    def _partners(self) -> dict[int, int]:
        """Start of each opening bracket to start of the one that closes it."""
        pairs: dict[int, int] = {}
        opened: list[int] = []
        for token in self.tokens:
            if token.text in {"(", "[", "{"}:
                opened.append(token.start)
            elif token.text in {")", "]", "}"} and opened:
                pairs[opened.pop()] = token.start
        return pairs

    def tokens_in(self, start: int, end: int) -> list[Token]:
        """The tokens that begin in ``[start, end)``."""
        return self.tokens[bisect_left(self._token_starts, start) : bisect_left(self._token_starts, end)]

    def outer(self, node: ast.AST) -> Span:
        """Where ``node`` stands with all the grouping parentheses around it (not those of a call)."""
        start, end = self.span(node)
        while True:
            first = bisect_left(self._token_starts, start) - 1
            after = bisect_left(self._token_starts, end)
            if first < 0 or after >= len(self.tokens) or self.tokens[first].text != "(":
                return start, end
            opening, closing = self.tokens[first], self.tokens[after]
            if self._partners.get(opening.start) != closing.start or self._is_call(first):
                return start, end
            start, end = opening.start, closing.end

    def _is_call(self, index: int) -> bool:
        """Whether the ``(`` at ``index`` opens arguments or bases and does not group."""
        if index == 0:
            return False
        before = self.tokens[index - 1]
        if before.text in {")", "]", "}"}:
            return True
        is_word = before.text[0].isalnum() or before.text[0] in "_\"'" or not before.text[0].isascii()
        touching = self.line_of(before.start) == self.line_of(self.tokens[index].start)
        return is_word and touching and not keyword.iskeyword(before.text)

    # Structure

    @cached_property
    def parents(self) -> dict[ast.AST, tuple[ast.AST, str]]:
        """Each node's parent and the field of the parent in which it stands."""
        found: dict[ast.AST, tuple[ast.AST, str]] = {}
        for parent in ast.walk(self.tree):
            for name, value in ast.iter_fields(parent):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST) and not isinstance(child, (ast.expr_context, ast.operator)):
                        found[child] = (parent, name)
        return found

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """Parent, grandparent and so on up to the module."""
        while node in self.parents:
            node = self.parents[node][0]
            yield node

    def function_of(self, node: ast.AST) -> Function | None:
        """The innermost function whose body holds ``node``."""
        below = node
        for above in self.ancestors(node):
            if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)) and below in above.body:
                return above
            below = above
        return None

    @cached_property
    def units(self) -> dict[int, list[Unit]]:
        """Per line the simple statements on it and the compound ones whose header covers it, outermost first."""
        found: dict[int, list[Unit]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.stmt, ast.excepthandler, ast.match_case)):
                first, last = header_lines(node)
                for line in range(first, last + 1):
                    found.setdefault(line, []).append(node)
        return found


def first_line(unit: Unit) -> int:
    """The first line of a statement, its decorators included."""
    if isinstance(unit, ast.match_case):
        return unit.pattern.lineno
    decorators: list[ast.expr] = getattr(unit, "decorator_list", [])
    return min([unit.lineno, *(each.lineno for each in decorators)])


def header_lines(unit: Unit) -> tuple[int, int]:
    """First and last line of a statement, without the body that a compound one has."""
    body: list[Unit] = getattr(unit, "body", None) or getattr(unit, "cases", None) or []
    first = first_line(unit)
    if not body:
        assert not isinstance(unit, ast.match_case)
        return first, unit.end_lineno or unit.lineno
    header_end = max(
        (getattr(each, "end_lineno", None) or first for each in inside(unit) if each is not unit), default=first
    )
    return first, max(min(first_line(body[0]), header_end), first_line(body[0]) - 1, first)


def inside(unit: Unit) -> Iterator[ast.AST]:
    """The unit and its nodes in order of the source, without what belongs to a statement within it."""
    yield unit
    waiting = list(reversed(list(ast.iter_child_nodes(unit))))
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.stmt, ast.excepthandler, ast.match_case)):
            continue
        yield node
        waiting.extend(reversed(list(ast.iter_child_nodes(node))))


def qualified_name(source: Source, line: int) -> str:
    """The dotted name of the class and functions around ``line``; empty at the top of the module."""
    names: list[str] = []
    body: list[ast.stmt] = source.tree.body
    while True:
        for node in body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                first = header_lines(node)[0]
                if first <= line <= (node.end_lineno or node.lineno):
                    names.append(node.name)
                    body = node.body
                    break
        else:
            return ".".join(names)
