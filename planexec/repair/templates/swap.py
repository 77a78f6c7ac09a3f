"""Wrong order: operands, arguments, elements, the branches of a conditional, receiver and argument."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import combinations

from planexec.repair.edits import Edit
from planexec.repair.precedence import ATOM, OR, of_binary
from planexec.repair.site import Site
from planexec.repair.templates.base import Template

NAME = "swap"
MOST = 6
COMMUTES = (ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)


def operands(site: Site) -> Iterator[Edit]:
    """``a - b`` to ``b - a``. Sums and products too: they may be of strings or lists."""
    node = site.node
    if isinstance(node, ast.BinOp):
        level = of_binary(node.op)
        texts = site.operand(node.right, level + isinstance(node.op, ast.Pow)), site.operand(node.left, level + 1)
        cost = 2.2 if isinstance(node.op, COMMUTES) else 1.5 if isinstance(node.op, ast.Add) else 1.2
        yield from _exchange(site, (node.left, node.right), texts, cost)
    elif isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)) and len(node.ops) == 1:
        right = node.comparators[0]
        yield from _exchange(site, (node.left, right), (site.text(right), site.text(node.left)), 1.5)


def arguments(site: Site) -> Iterator[Edit]:
    """Two positional arguments, or the values of two keywords; neighbours first."""
    node = site.node
    assert isinstance(node, ast.Call)
    plain = [arg for arg in node.args if not isinstance(arg, ast.Starred)][:MOST]
    named = [keyword.value for keyword in node.keywords if keyword.arg is not None][:MOST]
    yield from _pairs(site, plain, 1.2)
    yield from _pairs(site, named, 1.4)
    for keyword in named[:2]:
        yield from _pairs(site, [*plain[-1:], keyword], 1.6)


def elements(site: Site) -> Iterator[Edit]:
    """Two elements of a tuple or list, targets of an assignment included; key and value of a dictionary."""
    node = site.node
    if isinstance(node, (ast.Tuple, ast.List)):
        if len(node.elts) <= MOST:
            yield from _pairs(site, list(node.elts), 1.3)
    elif isinstance(node, ast.DictComp):
        yield from _pairs(site, [node.key, node.value], 1.6)
    elif isinstance(node, ast.Slice) and node.lower is not None and node.upper is not None:
        yield from _pairs(site, [node.lower, node.upper], 1.6)


def branches(site: Site) -> Iterator[Edit]:
    """``a if c else b`` to ``b if c else a``."""
    node = site.node
    assert isinstance(node, ast.IfExp)
    texts = site.operand(node.orelse, OR), site.text(node.body)
    yield from _exchange(site, (node.body, node.orelse), texts, 1.2)


def receiver(site: Site) -> Iterator[Edit]:
    """``a.f(b)`` to ``b.f(a)``, and ``a[b]`` to ``b[a]``."""
    node = site.node
    match node:
        case ast.Call(func=ast.Attribute(), args=[ast.Name() | ast.Attribute()], keywords=[]):
            assert isinstance(node.func, ast.Attribute)
            texts = site.operand(node.args[0], ATOM), site.text(node.func.value)
            yield from _exchange(site, (node.func.value, node.args[0]), texts, 1.6)
        case ast.Subscript(slice=ast.Name()):
            yield from _exchange(site, (node.value, node.slice), (site.text(node.slice), site.text(node.value)), 2.2)


def _pairs(site: Site, nodes: Sequence[ast.AST], cost: float) -> Iterator[Edit]:
    """Each pair of places that require the same level; the farther apart, the dearer."""
    apart = sorted(combinations(range(len(nodes)), 2), key=lambda pair: (pair[1] - pair[0], pair))
    for one, other in apart:
        left, right = nodes[one], nodes[other]
        texts = site.text(right), site.text(left)
        yield from _exchange(site, (left, right), texts, cost + 0.1 * (other - one - 1))


def _exchange(site: Site, places: tuple[ast.AST, ast.AST], texts: tuple[str, str], cost: float) -> Iterator[Edit]:
    """Put the two texts at the two places; what stands between them stays."""
    start, middle = site.source.outer(places[0])
    resume, end = site.source.outer(places[1])
    if middle <= resume:
        between = site.source.text[middle:resume]
        yield from site.rewrite(start, end, f"{texts[0]}{between}{texts[1]}", NAME, cost)


TEMPLATES = (
    Template(NAME, (ast.BinOp, ast.Compare), 1.2, operands),
    Template(NAME, (ast.Call,), 1.2, arguments),
    Template(NAME, (ast.Tuple, ast.List, ast.DictComp, ast.Slice), 1.3, elements),
    Template(NAME, (ast.IfExp,), 1.2, branches),
    Template(NAME, (ast.Call, ast.Subscript), 1.6, receiver),
)
