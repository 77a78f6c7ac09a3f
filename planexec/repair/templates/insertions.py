"""A statement that is missing: a guard, a jump, a call for its effect, an assignment, a copy of one nearby."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from planexec.repair.donors import functions_around
from planexec.repair.edits import Edit
from planexec.repair.site import Site
from planexec.repair.source import Function, inside
from planexec.repair.templates.base import Template, by_cost, is_load

NAME = "statement"
MOST_NAMES = 14
LONGEST = 80
EMPTY = {"[]": "append", "list()": "append", "deque()": "append", "set()": "add"}
JUMPS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
SIMPLE = (ast.Assign, ast.AugAssign, ast.Expr, ast.Return, ast.Raise, ast.Delete, ast.AnnAssign)
Text = tuple[str, float, str]
"""A statement (rows after the first indented in relation to it), its cost, and where it comes from."""


def insert(site: Site) -> Iterator[Edit]:
    """Before or after a statement put a guard, a call that fills a container, an assignment, or a copy."""
    function, place = _inside_function(site)
    if function is None or place is None:
        return
    start, end, indent = place
    texts = [
        *_guards(site, function, indent), *_missing_keys(site, function, indent), *_calls(site, function),
        *_copies(site, function), *_assignments(site, function),
    ]  # fmt: skip
    for text, cost, origin in texts:
        lines = _laid_out(site, text, indent)
        newline = site.source.newline
        yield from site.rewrite(start, start, lines + newline + indent, NAME, cost, donor=origin)
        if not isinstance(site.node, JUMPS):
            yield from site.rewrite(end, end, newline + indent + lines, NAME, cost + 0.02, donor=origin)


def leave(site: Site) -> Iterator[Edit]:
    """After the last statement of a block ``break``, ``continue`` or ``return``: what ends a loop too late."""
    function, place = _inside_function(site)
    if function is None or place is None or isinstance(site.node, JUMPS):
        return
    parent, field = site.source.parents[site.node]
    row: list[ast.stmt] = getattr(parent, field)
    if not isinstance(row, list) or row[-1] is not site.node or parent is function:
        return
    _, end, indent = place
    words = [("break", 1.9), ("continue", 1.95)] if _in_loop(site, function) else []
    if not _returns_value(function):
        words.append(("return", 2.0))
    for word, cost in words:
        yield from site.rewrite(end, end, site.source.newline + indent + word, NAME, cost)


def _inside_function(site: Site) -> tuple[Function | None, tuple[int, int, str] | None]:
    """The function and the place of a statement beside which others can be put."""
    if isinstance(site.node, DEFINITIONS):
        return None, None
    return site.function, line_place(site)


def _laid_out(site: Site, text: str, indent: str) -> str:
    first, *more = text.split("\n")
    return site.source.newline.join([first, *(indent + row for row in more)])


def _in_loop(site: Site, function: Function) -> bool:
    """Whether a ``break`` here would leave a loop of this function."""
    below = site.node
    for above in site.source.ancestors(site.node):
        if above is function or isinstance(above, DEFINITIONS):
            return False
        if isinstance(above, (ast.For, ast.AsyncFor, ast.While)) and below in above.body:
            return True
        below = above
    return False


def _returns_value(function: Function) -> bool:
    return any(isinstance(each, ast.Return) and each.value is not None for each in ast.walk(function))


def _exits(site: Site, function: Function) -> list[str]:
    """What a guard can do: leave with an empty value, or with what the function returns elsewhere, or go on."""
    found = ["continue", "break"] if _in_loop(site, function) else []
    if not _returns_value(function):
        return ["return", *found]
    returned = [
        site.source.segment(each)
        for each in ast.walk(function)
        if isinstance(each, ast.Return) and each.value is not None and not isinstance(each.value, ast.Constant)
    ]
    short = [text for text in dict.fromkeys(returned) if len(text) <= 40 and "\n" not in text][:4]
    return ["return None", *found, "return []", "return False", "return 0", "return ''", *short]


def _guards(site: Site, function: Function, indent: str) -> Iterator[Text]:
    """``if x is None: return None`` and the like, for the names that the statement reads."""
    bound = site.donors.locals(function)
    read = [each.id for each in inside(site.unit) if isinstance(each, ast.Name) and is_load(each)]
    for name in dict.fromkeys(each for each in read if each in bound):
        origin = f"{site.source.path}:{bound[name]}"
        for rank, leaving in enumerate(_exits(site, function)):
            yield f"if {name} is None:\n{_step(indent)}{leaving}", 3.0 + 0.05 * rank, origin
            yield f"if not {name}:\n{_step(indent)}{leaving}", 3.02 + 0.05 * rank, origin


def _missing_keys(site: Site, function: Function, indent: str) -> Iterator[Text]:
    """``if k not in d: return None`` for a ``d[k]`` that the statement reads; or one of the function's assignments."""
    read = [each for each in inside(site.unit) if isinstance(each, ast.Subscript) and is_load(each)]
    for each in read:
        if isinstance(each.slice, (ast.Slice, ast.Constant)) and not isinstance(
            getattr(each.slice, "value", None), str
        ):
            continue
        key, table = site.source.segment(each.slice), site.source.segment(each.value)
        if len(key) + len(table) > LONGEST or "\n" in key + table:
            continue
        names = {part.id for part in ast.walk(each) if isinstance(part, ast.Name)}
        bodies = [*_exits(site, function)[:3], *(text for text, _, _ in _assigning(site, function, names))]
        for rank, body in enumerate(bodies):
            cost = 3.05 + 0.05 * rank
            yield f"if {key} not in {table}:\n{_step(indent)}{body}", cost, f"{site.source.path}:{each.lineno}"


def _step(indent: str) -> str:
    return "\t" if "\t" in indent else "    "


def _assigning(site: Site, function: Function, names: set[str]) -> list[Text]:
    """The function's short assignments to ``names``."""
    found: dict[str, int] = {}
    for each in ast.walk(function):
        if isinstance(each, ast.Assign) and len(each.targets) == 1 and isinstance(each.targets[0], ast.Name):
            text = site.source.segment(each)
            if each.targets[0].id in names and len(text) <= LONGEST and "\n" not in text:
                found.setdefault(text, each.lineno)
    return [(text, 0.0, f"{site.source.path}:{line}") for text, line in found.items()]


def _calls(site: Site, function: Function) -> Iterator[Text]:
    """``seen.add(node)`` for the containers that the function can fill."""
    around = [function, *(each for each in functions_around(site.source, function))]
    found: dict[str, tuple[float, str]] = {}
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


def _copies(site: Site, function: Function) -> Iterator[Text]:
    """The function's own calls for their effect, and its short assignments, a second time."""
    found: dict[str, tuple[float, str]] = {}
    for each in ast.walk(function):
        is_call = isinstance(each, ast.Expr) and isinstance(each.value, ast.Call)
        if is_call or isinstance(each, (ast.Assign, ast.AugAssign)):
            text = site.source.segment(each)
            if "\n" not in text and len(text) <= LONGEST:
                found.setdefault(text, (3.0 if is_call else 3.1, f"{site.source.path}:{getattr(each, 'lineno', 0)}"))
    for text, (cost, origin) in found.items():
        yield text, cost, origin


def _assignments(site: Site, function: Function) -> Iterator[Text]:
    """``x = None`` and other empty values, and ``previous = current``, for the variables of the function."""
    bound = list(site.donors.locals(function).items())[:MOST_NAMES]
    for target, line in bound:
        for rank, value in enumerate(("None", "[]", "False", "True", "''", "0")):
            yield f"{target} = {value}", 3.2 + 0.1 * rank, f"{site.source.path}:{line}"
        for other, _ in bound:
            if target != other:
                yield f"{target} = {other}", 3.3, f"{site.source.path}:{line}"


def line_place(site: Site) -> tuple[int, int, str] | None:
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
    Template(NAME, (ast.stmt,), 1.9, leave),
    Template(NAME, (ast.stmt,), 3.0, lambda site: by_cost(insert(site)), wide=True),
)
