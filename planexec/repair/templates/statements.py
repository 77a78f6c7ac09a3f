"""A statement that is wrong: one too many, one at the wrong depth, the wrong jump, the wrong exception."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from planexec.repair.edits import Edit
from planexec.repair.site import Site
from planexec.repair.templates.base import Template, by_cost
from planexec.repair.templates.insertions import LONGEST, NAME, SIMPLE


def remove(site: Site) -> Iterator[Edit]:
    """Put ``pass`` in place of a simple statement. One candidate a statement, so it comes before longer families."""
    node = site.node
    documentation = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    removable = (ast.Assign, ast.AugAssign, ast.Expr, ast.Raise, ast.Delete, ast.Break, ast.Continue)
    if isinstance(node, removable) and not documentation:
        yield from site.rewrite(*site.source.span(node), "pass", NAME, 2.3, risk=1)


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


def raised(site: Site) -> Iterator[Edit]:
    """``raise`` to what the module raises elsewhere, the nearest first."""
    node = site.node
    assert isinstance(node, ast.Raise)
    found: dict[str, int] = {}
    for each in ast.walk(site.source.tree):
        if isinstance(each, ast.Raise) and each is not node and each.exc is not None:
            text = site.source.segment(each)
            if len(text) <= LONGEST and "\n" not in text:
                found.setdefault(text, each.lineno)
    nearest = sorted(found.items(), key=lambda item: (abs(item[1] - node.lineno), item[0]))
    for rank, (text, line) in enumerate(nearest[:20]):
        origin = f"{site.source.path}:{line}"
        yield from site.rewrite(*site.source.span(node), text, NAME, 2.3 + 0.02 * rank, donor=origin)


TEMPLATES = (
    Template(NAME, (ast.Break, ast.Continue), 1.4, jump),
    Template(NAME, SIMPLE, 2.0, exchange, wide=True),
    Template(NAME, (ast.Raise,), 2.3, lambda site: by_cost(raised(site))),
    Template(NAME, (ast.stmt,), 2.3, remove),
)
