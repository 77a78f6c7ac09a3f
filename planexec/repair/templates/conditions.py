"""Wrong condition: a clause too many, a clause missing, a missing guard, a comparison that is not there."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from planexec.repair.edits import Edit
from planexec.repair.precedence import AND, BIT_OR, NOT, OR
from planexec.repair.site import Site
from planexec.repair.templates.base import Template, by_cost, is_condition, is_load

NAME = "condition"
MOST_CLAUSES = 24


def drop_clause(site: Site) -> Iterator[Edit]:
    """``a and b`` to ``a`` or ``b``; of three clauses to two."""
    node = site.node
    assert isinstance(node, ast.BoolOp)
    word, level = (" and ", AND + 1) if isinstance(node.op, ast.And) else (" or ", OR + 1)
    for dropped in range(len(node.values)):
        kept = [value for place, value in enumerate(node.values) if place != dropped]
        text = site.text(kept[0]) if len(kept) == 1 else word.join(site.operand(each, level) for each in kept)
        yield from site.replace(node, text, NAME, 1.7, risk=1)


def add_clause(site: Site) -> Iterator[Edit]:
    """``c`` to ``c and d``, ``d or c`` and so on, with clauses made of what the function names."""
    node = site.node
    assert isinstance(node, ast.expr)
    if not is_condition(site) or isinstance(site.parent, (ast.BoolOp, ast.UnaryOp)):
        return
    for rank, (clause, origin) in enumerate(_clauses(site)):
        cost = 2.2 + 0.03 * rank
        after_and, after_or = site.operand(node, AND), site.operand(node, OR)
        yield from site.replace(node, f"{after_and} and {clause}", NAME, cost, donor=origin)
        yield from site.replace(node, f"{after_or} or {clause}", NAME, cost, donor=origin)
        # The order matters where the old condition may raise: a guard stands first.
        yield from site.replace(node, f"{clause} and {site.operand(node, AND + 1)}", NAME, cost + 0.05, donor=origin)
        yield from site.replace(node, f"{clause} or {site.operand(node, OR + 1)}", NAME, cost + 0.05, donor=origin)


def _clauses(site: Site) -> list[tuple[str, str]]:
    """Clauses for a condition, nearest first, with their origin: guards of names, then conditions of the function."""
    node, function = site.node, site.function
    here = site.source.path
    names = {each.id: each.lineno for each in ast.walk(node) if isinstance(each, ast.Name)}
    if function is not None:
        for name, line in site.donors.locals(function).items():
            names.setdefault(name, line)
    found: dict[str, str] = {}
    for name, line in names.items():
        for clause in (f"not {name}", name, f"{name} is None", f"{name} is not None"):
            found.setdefault(clause, f"{here}:{line}")
    around = function if function is not None else site.source.tree
    for each in ast.walk(around):
        if isinstance(each, ast.Compare) and each is not node:
            text = site.source.segment(each)
            if len(text) <= 60 and "\n" not in text:
                found.setdefault(text, f"{here}:{each.lineno}")
    for each in ast.walk(node):
        if isinstance(each, (ast.Attribute, ast.Subscript)) and is_load(each):
            text = site.source.segment(each)
            for clause in (f"{text} is not None", f"{text} is None", f"not {text}"):
                found.setdefault(clause, f"{here}:{each.lineno}")
    return list(found.items())[: 4 * MOST_CLAUSES]


def compared(site: Site) -> Iterator[Edit]:
    """A condition ``x`` to ``x is not None``, ``len(x) > 1``; ``len(x) == 0`` to ``len(x) <= 1``."""
    node = site.node
    if isinstance(node, ast.Compare):
        right = node.comparators[0]
        if len(node.ops) == 1 and isinstance(right, ast.Constant) and type(right.value) is int:
            left = site.operand(node.left, BIT_OR)
            for rank, tail in enumerate(("<= 1", "< 1", "> 1", "> 0", ">= 0", "< 0", "!= 0", "== 0", "== 1")):
                yield from site.replace(node, f"{left} {tail}", NAME, 1.7 + 0.05 * rank)
        elif len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot)) and _is_none(right):
            truth = "not " if isinstance(node.ops[0], ast.Is) else ""
            yield from site.replace(node, f"{truth}{site.operand(node.left, NOT)}", NAME, 1.8)
        return
    assert isinstance(node, ast.expr)
    if not is_condition(site) or isinstance(node, (ast.BoolOp, ast.UnaryOp, ast.Constant)):
        return
    for rank, tail in enumerate(("is not None", "is None", "> 0", "== 0", ">= 0")):
        yield from site.replace(node, f"{site.operand(node, BIT_OR)} {tail}", NAME, 1.8 + 0.1 * rank)


def looped(site: Site) -> Iterator[Edit]:
    """``while True`` to ``while queue`` for the names of the function."""
    node = site.node
    assert isinstance(node, ast.Constant)
    if not is_condition(site) or site.function is None:
        return
    for name, line in site.donors.locals(site.function).items():
        yield from site.replace(node, name, NAME, 1.8, donor=f"{site.source.path}:{line}")


def guarded(site: Site) -> Iterator[Edit]:
    """``x.a`` to ``x.a if x is not None else None`` where a value is used (``x[k]`` too); ``x`` to ``x or []``."""
    node = site.node
    assert isinstance(node, ast.expr)
    if not is_load(node) or site.field not in {"value", "args", "iter", "left", "right"}:
        return
    if isinstance(site.parent, (ast.Attribute, ast.Subscript, ast.Expr, ast.Starred, ast.Await, ast.YieldFrom)):
        return
    if isinstance(node, (ast.Name, ast.Attribute)):
        for rank, other in enumerate(("[]", "{}", "''", "0", "()")):
            if not (site.field == "iter" and other == "0"):
                yield from site.replace(node, f"{site.text(node)} or {other}", NAME, 2.3 + 0.1 * rank)
    subject = node
    while isinstance(subject, (ast.Attribute, ast.Subscript, ast.Call)):
        subject = subject.func if isinstance(subject, ast.Call) else subject.value
        if isinstance(subject, ast.Name):
            text, own = site.text(subject), site.operand(node, OR)
            for rank, other in enumerate(("None", "''", "[]", "{}", "0", "False")):
                cost = 2.4 + 0.1 * rank
                yield from site.replace(node, f"{own} if {text} is not None else {other}", NAME, cost)
                yield from site.replace(node, f"{own} if {text} else {other}", NAME, cost + 0.05)


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


TEMPLATES = (
    Template(NAME, (ast.BoolOp,), 1.7, drop_clause),
    Template(NAME, (ast.expr,), 1.7, lambda site: by_cost(compared(site))),
    Template(NAME, (ast.Constant,), 1.8, looped),
    Template(NAME, (ast.expr,), 2.2, lambda site: by_cost(add_clause(site))),
    Template(
        NAME, (ast.Name, ast.Attribute, ast.Subscript, ast.Call), 2.3, lambda site: by_cost(guarded(site)), wide=True
    ),
)
