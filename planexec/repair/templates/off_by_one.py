"""One too many or one too few: numbers, indices, bounds of ranges and slices, lengths, counters."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from planexec.repair.edits import Edit
from planexec.repair.precedence import SUM
from planexec.repair.site import Site
from planexec.repair.templates.base import Template, by_cost, is_number, is_text

NAME = "off-by-one"


def number(site: Site) -> Iterator[Edit]:
    """A written whole number one up or down. The number of ``x + 1`` belongs to ``term``."""
    node = site.node
    assert isinstance(node, ast.Constant)
    if type(node.value) is not int or isinstance(site.parent, (ast.UnaryOp, ast.JoinedStr, ast.FormattedValue)):
        return
    here = isinstance(site.parent, (ast.Compare, ast.Subscript, ast.Slice)) or _is_range(site.parent)
    for change in (1, -1):
        value = node.value + change
        yield from site.replace(node, str(value), NAME, 1.2 if here else 1.5)


def negative(site: Site) -> Iterator[Edit]:
    """``-1`` to ``-2`` or ``0``."""
    node = site.node
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
            for change in (1, -1):
                yield from site.replace(node, str(change - value), NAME, 1.4)


def term(site: Site) -> Iterator[Edit]:
    """Drop ``+ 1`` or ``- 1``."""
    node = site.node
    assert isinstance(node, ast.BinOp)
    if isinstance(node.op, (ast.Add, ast.Sub)) and isinstance(node.right, ast.Constant) and node.right.value == 1:
        yield from site.replace(node, site.text(node.left), NAME, 1.2)
    if isinstance(node.op, ast.Add) and isinstance(node.left, ast.Constant) and node.left.value == 1:
        yield from site.replace(node, site.text(node.right), NAME, 1.3)


def shift(site: Site) -> Iterator[Edit]:
    """Add ``+ 1`` or ``- 1`` to what counts: bounds, indices, lengths, sides of comparisons, arguments."""
    node = site.node
    assert isinstance(node, ast.expr)
    if is_number(node) or is_text(node) or isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
        return
    cost = _cost_of_place(site)
    if cost is None:
        return
    ends_in_one = isinstance(node, ast.BinOp) and is_number(node.right)
    for change in ("- 1", "+ 1"):
        if not ends_in_one:
            yield from site.replace(node, f"{site.operand(node, SUM)} {change}", NAME, cost)


def _cost_of_place(site: Site) -> float | None:
    node, parent, field = site.node, site.parent, site.field
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
        return 1.3
    if isinstance(node, (ast.Compare, ast.BoolOp, ast.List, ast.Dict, ast.Set, ast.Lambda, ast.Constant, ast.Starred)):
        return None
    if isinstance(parent, ast.Slice) or (isinstance(parent, ast.Subscript) and field == "slice"):
        return None if isinstance(node, (ast.Slice, ast.Tuple)) else 1.4
    if _is_range(parent) and field == "args":
        return 1.3
    if isinstance(parent, ast.Compare):
        ordered = any(isinstance(each, (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq)) for each in parent.ops)
        return 1.6 if ordered else None
    if isinstance(parent, ast.Tuple) and _is_index(site, parent):
        return 1.5
    if isinstance(parent, ast.Call) and field == "args" and isinstance(node, (ast.Name, ast.BinOp)):
        return 1.7
    if isinstance(parent, (ast.Return, ast.Assign, ast.AugAssign)) and field == "value":
        return 1.9 if isinstance(node, (ast.Name, ast.BinOp, ast.Call, ast.Attribute, ast.Subscript)) else None
    return 2.0 if isinstance(parent, ast.BinOp) and isinstance(node, (ast.Name, ast.Attribute)) else None


def bounds(site: Site) -> Iterator[Edit]:
    """``range(n)`` to ``range(1, n)`` or ``range(1, n + 1)``, ``range(a, b)`` to ``range(b)``, a step of -1."""
    node = site.node
    assert isinstance(node, ast.Call)
    if not _is_range(node) or node.keywords or any(isinstance(arg, ast.Starred) for arg in node.args):
        return
    name = site.source.segment(node.func)
    match node.args:
        case [stop]:
            text = site.text(stop)
            yield from site.replace(node, f"{name}(1, {text})", NAME, 1.5)
            yield from site.replace(node, f"{name}(1, {site.operand(stop, SUM)} + 1)", NAME, 1.6)
            yield from site.replace(node, f"{name}({site.operand(stop, SUM)} - 1, -1, -1)", NAME, 1.9)
        case [start, stop]:
            yield from site.replace(node, f"{name}({site.text(stop)})", NAME, 1.6)
            yield from site.replace(node, f"{name}({site.text(start)}, {site.text(stop)}, -1)", NAME, 1.9)


def slices(site: Site) -> Iterator[Edit]:
    """Move, add or drop a bound: ``[:k]`` to ``[k:]``, ``[1:]`` to ``[:]``, ``[a:b]`` to ``[a:]``."""
    node = site.node
    assert isinstance(node, ast.Slice)
    if node.step is not None:
        return
    match node:
        case ast.Slice(lower=None, upper=ast.expr() as upper):
            yield from _slice(site, f"{site.text(upper)}:", 1.4)
            yield from _slice(site, f":-{site.operand(upper, 13)}", 1.8)
            yield from _slice(site, f"1:{site.text(upper)}", 1.9)
            yield from _slice(site, ":", 2.0)
        case ast.Slice(lower=ast.expr() as lower, upper=None):
            yield from _slice(site, f":{site.text(lower)}", 1.4)
            yield from _slice(site, f"{site.text(lower)}:-1", 1.9)
            yield from _slice(site, f"-{site.operand(lower, 13)}:", 1.9)
            yield from _slice(site, ":", 2.0)
        case ast.Slice(lower=ast.expr() as lower, upper=ast.expr() as upper):
            yield from _slice(site, f"{site.text(lower)}:", 1.5)
            yield from _slice(site, f":{site.text(upper)}", 1.6)


def _slice(site: Site, text: str, cost: float) -> Iterator[Edit]:
    yield from site.rewrite(*site.source.span(site.node), text, NAME, cost)


def _is_range(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"


def _is_index(site: Site, node: ast.AST) -> bool:
    parent, field = site.source.parents[node]
    return isinstance(parent, ast.Subscript) and field == "slice"


TEMPLATES = (
    Template(NAME, (ast.Constant,), 1.2, number),
    Template(NAME, (ast.UnaryOp,), 1.4, negative),
    Template(NAME, (ast.BinOp,), 1.2, lambda site: by_cost(term(site))),
    Template(NAME, (ast.expr,), 1.3, shift),
    Template(NAME, (ast.Call,), 1.5, bounds),
    Template(NAME, (ast.Slice,), 1.4, lambda site: by_cost(slices(site))),
)
