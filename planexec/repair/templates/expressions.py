"""Wrong expression: a term too many or missing, an index missing, a limit missing, a wrong value returned."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from planexec.repair.edits import Edit
from planexec.repair.precedence import ATOM, POWER, PRODUCT, SUM
from planexec.repair.site import Site
from planexec.repair.templates.base import Template, by_cost, is_load, is_text

NAME = "expression"
RETURN = "return"


def drop_term(site: Site) -> Iterator[Edit]:
    """``a + b`` to ``a`` or ``b``."""
    node = site.node
    assert isinstance(node, ast.BinOp)
    for kept in (node.right, node.left):
        yield from site.replace(node, site.text(kept), NAME, 1.7, risk=1)


def add_term(site: Site) -> Iterator[Edit]:
    """``a`` to ``a - b``, ``a + b``, ``a * b`` with names in scope, and ``a ** 2``."""
    node = site.node
    assert isinstance(node, ast.expr)
    if not _is_value(site) or is_text(node) or isinstance(node, (ast.Constant, ast.BinOp)):
        return
    for symbol, level in (("-", SUM), ("+", SUM), ("*", PRODUCT)):
        left = site.operand(node, level)
        for donor in site.donors.names(site.source, node)[:10]:
            if donor.penalty <= 0.5:
                cost = 2.2 + donor.penalty
                yield from site.replace(node, f"{left} {symbol} {donor.text}", NAME, cost, donor=donor.origin)
    for donor in site.donors.names(site.source, node)[:6]:
        # Text and lists do not commute.
        new = f"{donor.text} + {site.operand(node, SUM + 1)}"
        yield from site.replace(node, new, NAME, 2.4 + donor.penalty, donor=donor.origin)
    yield from site.replace(node, f"{site.operand(node, POWER + 1)} ** 2", NAME, 2.3)


def limit(site: Site) -> Iterator[Edit]:
    """``a`` to ``max(a, b)`` or ``min(a, b)`` with zero, one, the target of the assignment and names in scope."""
    node = site.node
    assert isinstance(node, ast.expr)
    if not _is_value(site) or is_text(node) or isinstance(node, ast.Constant):
        return
    text = site.text(node)
    others = [("0", 2.2), ("1", 2.3)]
    if isinstance(site.parent, ast.Assign):
        others += [(site.text(target), 2.1) for target in site.parent.targets]
    others += [(donor.text, 2.4 + donor.penalty) for donor in site.donors.names(site.source, node)[:6]]
    for other, cost in others:
        yield from site.replace(node, f"max({other}, {text})", NAME, cost)
        yield from site.replace(node, f"min({other}, {text})", NAME, cost)


def element(site: Site) -> Iterator[Edit]:
    """``a`` to ``a[1:]``, ``a[:-1]``, ``a[0]``, ``a[-1]``, ``a[i]``, ``a[i:]``; ``a[i]`` to ``a``."""
    node = site.node
    if isinstance(node, ast.Subscript) and is_load(node):
        yield from site.replace(node, site.text(node.value), NAME, 1.9, risk=1)
        return
    assert isinstance(node, ast.expr)
    if not is_load(node) or site.field not in {"args", "value", "iter", "elts", "left", "right", "comparators"}:
        return
    if isinstance(site.parent, (ast.Attribute, ast.Subscript)) and site.field == "value":
        return
    text = site.operand(node, ATOM)
    for rank, index in enumerate(("[1:]", "[:-1]", "[0]", "[-1]", "[::-1]", "[:]", "[1]")):
        yield from site.replace(node, f"{text}{index}", NAME, 2.1 + 0.05 * rank)
    for donor in site.donors.names(site.source, node)[:10]:
        for shape, extra in (("[{}]", 0.1), ("[{}:]", 0.15), ("[:{}]", 0.2)):
            if donor.penalty <= 0.4:
                cost = 2.1 + donor.penalty + extra
                yield from site.replace(node, text + shape.format(donor.text), NAME, cost, donor=donor.origin)


def returned(site: Site) -> Iterator[Edit]:
    """``return x`` to ``return y``, ``return True`` to ``return depth == 0``, made of what the function names."""
    node = site.node
    assert isinstance(node, ast.Return)
    if node.value is None or site.function is None:
        return
    old = site.source.segment(node.value)
    for donor in site.donors.names(site.source, node.value)[:20]:
        if donor.text in site.donors.locals(site.function):
            cost = 1.8 + donor.penalty
            yield from site.replace(node.value, donor.text, RETURN, cost, donor=donor.origin)
            yield from site.replace(node.value, f"[{donor.text}]", RETURN, cost + 0.5, donor=donor.origin)
            if isinstance(node.value, ast.Constant) and isinstance(node.value.value, bool):
                for rank, tail in enumerate(("== 0", "is None", "is not None", "> 0", "!= 0")):
                    text = f"{donor.text} {tail}"
                    yield from site.replace(node.value, text, RETURN, cost + 0.2 + 0.05 * rank, donor=donor.origin)
                yield from site.replace(node.value, f"not {donor.text}", RETURN, cost + 0.2, donor=donor.origin)
    seen: dict[str, int] = {}
    for each in ast.walk(site.function):
        if isinstance(each, (ast.Compare, ast.Call, ast.BinOp, ast.Subscript, ast.Attribute, ast.Tuple)) and is_load(
            each
        ):
            text = site.source.segment(each)
            if text != old and len(text) <= 60 and "\n" not in text:
                seen.setdefault(text, each.lineno)
    for text, line in sorted(seen.items(), key=lambda item: (abs(item[1] - node.lineno), item[0]))[:30]:
        yield from site.replace(node.value, text, RETURN, 2.2, donor=f"{site.source.path}:{line}")


def _is_value(site: Site) -> bool:
    """Whether a value may be computed here: an argument, a returned or assigned value, an index, a side, an element."""
    if not is_load(site.node) or isinstance(
        site.node, (ast.Starred, ast.Slice, ast.Tuple, ast.Lambda, ast.FormattedValue)
    ):
        return False
    if isinstance(site.parent, (ast.Attribute, ast.Starred, ast.Expr, ast.Await, ast.Yield, ast.YieldFrom)):
        return False
    if isinstance(site.parent, ast.Subscript):
        return site.field == "slice"
    return site.field in {"args", "value", "left", "right", "comparators", "elts", "lower", "upper"}


TEMPLATES = (
    Template(NAME, (ast.BinOp,), 1.7, drop_term),
    Template(RETURN, (ast.Return,), 1.7, lambda site: by_cost(returned(site))),
    Template(NAME, (ast.expr,), 1.9, lambda site: by_cost(element(site)), wide=True),
    Template(NAME, (ast.expr,), 2.1, lambda site: by_cost(limit(site)), wide=True),
    Template(NAME, (ast.expr,), 2.2, lambda site: by_cost(add_term(site)), wide=True),
)
