"""Wrong statement: one missing, one too many, one at the wrong depth."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from planexec.repair.donors import functions_around
from planexec.repair.edits import Edit
from planexec.repair.site import Site
from planexec.repair.source import inside
from planexec.repair.templates.base import Template, by_cost, is_load

NAME = "statement"
MOST_NAMES = 14
EMPTY = {"[]": "append", "list()": "append", "deque()": "append", "set()": "add"}
SIMPLE = (ast.Assign, ast.AugAssign, ast.Expr, ast.Return, ast.Raise, ast.Delete, ast.AnnAssign)


def insert(site: Site) -> Iterator[Edit]:
    """Before or after a statement put a guard that returns, a call that fills a container, or an assignment."""
    node = site.node
    assert isinstance(node, ast.stmt)
    place = _line_place(site)
    if (
        place is None
        or site.function is None
        or isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
    ):
        return
    start, end, indent = place
    newline = site.source.newline
    for text, cost, origin in [*_guards(site, indent), *_calls(site), *_assignments(site)]:
        first, *more = text.split("\n")
        lines = newline.join([first, *(indent + row for row in more)])
        yield from site.rewrite(start, start, lines + newline + indent, NAME, cost, donor=origin)
        if not isinstance(node, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
            yield from site.rewrite(end, end, newline + indent + lines, NAME, cost + 0.02, donor=origin)


def _guards(site: Site, indent: str) -> Iterator[tuple[str, float, str]]:
    """``if x is None: return None`` and the like, for the names that the statement reads."""
    assert site.function is not None
    bound = site.donors.locals(site.function)
    step = "\t" if "\t" in indent else "    "
    read = [each.id for each in inside(site.unit) if isinstance(each, ast.Name) and is_load(each)]
    for name in dict.fromkeys(each for each in read if each in bound):
        origin = f"{site.source.path}:{bound[name]}"
        for rank, value in enumerate(("None", "[]", "False", "0", "''")):
            yield f"if {name} is None:\n{step}return {value}", 3.0 + 0.05 * rank, origin
            yield f"if not {name}:\n{step}return {value}", 3.02 + 0.05 * rank, origin


def _calls(site: Site) -> Iterator[tuple[str, float, str]]:
    """The calls that the function makes for their effect, and ``seen.add(node)`` for the containers it can fill."""
    function = site.function
    assert function is not None
    around = [function, *(each for each in functions_around(site.source, function))]
    found: dict[str, tuple[float, str]] = {}
    for each in ast.walk(function):
        if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call):
            text = site.source.segment(each)
            if "\n" not in text and len(text) <= 80:
                found.setdefault(text, (3.0, f"{site.source.path}:{each.lineno}"))
    filled = {pair: line for each in reversed(around) for pair, line in _fillable(each).items()}
    for (receiver, method), line in filled.items():
        for rank, argument in enumerate(site.donors.locals(function)):
            if argument != receiver and rank < MOST_NAMES:
                found.setdefault(f"{receiver}.{method}({argument})", (3.05, f"{site.source.path}:{line}"))
    for text, (cost, origin) in found.items():
        yield text, cost, origin


def _fillable(function: ast.AST) -> dict[tuple[str, str], int]:
    """Names with the methods that fill them: those made empty here, those that are filled here."""
    found: dict[tuple[str, str], int] = {}
    for each in ast.walk(function):
        match each:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if ast.unparse(value) in EMPTY:
                    found.setdefault((name, EMPTY[ast.unparse(value)]), each.lineno)
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method), args=[_], keywords=[])
            ):
                found.setdefault((name, method), each.lineno)
    return found


def _assignments(site: Site) -> Iterator[tuple[str, float, str]]:
    """``previous = current`` for the variables of the function."""
    assert site.function is not None
    bound = list(site.donors.locals(site.function).items())[:MOST_NAMES]
    for target, line in bound:
        for value, _ in bound:
            if target != value:
                yield f"{target} = {value}", 3.3, f"{site.source.path}:{line}"


def remove(site: Site) -> Iterator[Edit]:
    """Put ``pass`` in place of a simple statement."""
    node = site.node
    documentation = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    removable = (ast.Assign, ast.AugAssign, ast.Expr, ast.Raise, ast.Delete, ast.Break, ast.Continue)
    if isinstance(node, removable) and not documentation:
        yield from site.rewrite(*site.source.span(node), "pass", NAME, 2.8, risk=1)


def jump(site: Site) -> Iterator[Edit]:
    """``break`` to ``continue`` and back; ``return`` to ``yield`` is another matter and not tried."""
    node = site.node
    word = "continue" if isinstance(node, ast.Break) else "break"
    yield from site.rewrite(*site.source.span(node), word, NAME, 1.4)


def exchange(site: Site) -> Iterator[Edit]:
    """A simple statement with the one after it."""
    node = site.node
    parent, field = site.source.parents[node]
    row: list[ast.stmt] = getattr(parent, field)
    after = row.index(node) + 1 if isinstance(node, SIMPLE) and isinstance(row, list) else len(row)
    if after < len(row) and isinstance(row[after], SIMPLE):
        start, middle = site.source.span(node)
        resume, end = site.source.span(row[after])
        text = site.source.text
        new = text[resume:end] + text[middle:resume] + text[start:middle]
        yield from site.rewrite(start, end, new, NAME, 2.0)


def _line_place(site: Site) -> tuple[int, int, str] | None:
    """Start and end of the statement and its indentation, if it has whole lines of its own."""
    start, end = site.source.span(site.node)
    source = site.source
    indent = source.text[source.line_start(source.line_of(start)) : start]
    last = source.line_of(end)
    rest = source.line_text(last)[end - source.line_start(last) :]
    if indent.strip() or rest.strip().startswith(";"):
        return None
    # A comment at the end of the line stays with its statement.
    return start, end + len(rest), indent


TEMPLATES = (
    Template(NAME, (ast.Break, ast.Continue), 1.4, jump),
    Template(NAME, SIMPLE, 2.0, exchange, wide=True),
    Template(NAME, (ast.stmt,), 2.8, remove, wide=True),
    Template(NAME, (ast.stmt,), 3.0, lambda site: by_cost(insert(site)), wide=True),
)
