"""Shapes that pass tests without being right: they are ranked last, and the report says why.

Over-fitted patches are the known weakness of generate-and-validate repair (Qi et al. 2015, Smith et al. 2015): most
delete behaviour, make a condition constant or paste what the test expects.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from functools import lru_cache

from planexec.repair.edits import Candidate
from planexec.repair.source import parse

# Values that every program has; finding one of them in a test means nothing.
COMMON = frozenset({"0", "1", "-1", "2", "True", "False", "None", "''", "[]", "{}", "()"})


def expected_values(sources: Mapping[str, bytes], failing: Iterable[str], stated: Iterable[str]) -> frozenset[str]:
    """Reprs of the constants that the failing tests write down, and of those ``stated``; common values are left out."""
    found = set(stated)
    for test in failing:
        path, _, rest = test.partition("::")
        tree = parse(sources[path].decode(errors="replace")) if path in sources else None
        name = rest.rpartition("::")[2].partition("[")[0]
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
                found |= {repr(each.value) for each in ast.walk(node) if isinstance(each, ast.Constant)}
    return frozenset(found - COMMON)


def risk_of(candidate: Candidate, expected: frozenset[str], known: frozenset[str]) -> tuple[int, str]:
    """0 to 2 and the reason. ``known`` are reprs of the constants that the source writes itself."""
    edit = candidate.edit
    before, after = _constants(edit.before), _constants(edit.after)
    pasted = sorted((after - before) & expected - known)
    if pasted:
        return 2, f"puts in the value {pasted[0][:40]} that the test expects"
    whole = _constants_only(edit.after)
    if whole and whole <= expected and not _constants_only(edit.before):
        return 2, "returns what the test expects as a constant"
    if edit.risk == 2:
        return 2, "makes a condition constant"
    if edit.risk == 1:
        return 1, "takes behaviour away"
    if _idle_operations(edit.after) > _idle_operations(edit.before):
        return 1, "contains an operation without effect"
    return 0, ""


@lru_cache(maxsize=1024)
def _idle_operations(text: str) -> int:
    """How many operations like ``x * 1``, ``x + 0``, ``x / x``, ``x == x`` or ``x and x`` the fragment has."""
    tree = _fragment(text)
    return 0 if tree is None else sum(_is_idle(each) for each in ast.walk(tree))


def _is_idle(node: ast.AST) -> bool:
    match node:
        case (
            ast.BinOp(op=ast.Add() | ast.Sub(), right=ast.Constant(value=0))
            | ast.BinOp(op=ast.Add(), left=ast.Constant(value=0))
        ):
            return True
        case ast.BinOp(op=ast.Mult() | ast.Div() | ast.Pow() | ast.FloorDiv(), right=ast.Constant(value=1)):
            return True
        case ast.BinOp(op=ast.Mult(), left=ast.Constant(value=1)):
            return True
        case ast.BinOp(op=ast.Sub() | ast.Div() | ast.FloorDiv() | ast.Mod(), left=left, right=right):
            return ast.dump(left) == ast.dump(right)
        case ast.Compare(left=left, comparators=[right]):
            return ast.dump(left) == ast.dump(right)
        case ast.BoolOp():
            return len({ast.dump(value) for value in node.values}) < len(node.values)
        case ast.Assign(targets=[target], value=value):
            return ast.unparse(target) == ast.unparse(value)
    return False


@lru_cache(maxsize=1024)
def _constants(text: str) -> frozenset[str]:
    tree = _fragment(text)
    if tree is None:
        return frozenset()
    return frozenset(repr(each.value) for each in ast.walk(tree) if isinstance(each, ast.Constant))


def _constants_only(text: str) -> frozenset[str]:
    """The constants of ``return 3`` or ``"x"``; nothing if the fragment names anything."""
    tree = _fragment(text)
    if tree is None or any(isinstance(each, (ast.Name, ast.Attribute, ast.arg)) for each in ast.walk(tree)):
        return frozenset()
    return _constants(text)


def _fragment(text: str) -> ast.Module | None:
    """A statement or expression as cut out of a file; a return, break or else only inside something."""
    for frame in ("{0}", "({0}\n)", "{0}\n    pass", "try:\n    pass\n{0}\n    pass"):
        tree = parse(frame.format(text))
        if tree is not None:
            return tree
    return None
