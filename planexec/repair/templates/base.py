"""What a template is. A family is a module with a tuple ``TEMPLATES``; ``templates/__init__`` lists the families."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from planexec.repair.edits import Edit
from planexec.repair.site import Site


@dataclass(frozen=True, slots=True)
class Template:
    """A way to change one kind of node.

    ``floor`` is the least cost that its edits have; within a site they come with rising cost, so that the search can
    stop asking. A ``wide`` template is tried only where the reach is ``wide``: it is costly or rarely right.
    """

    name: str
    nodes: tuple[type[ast.AST], ...]
    floor: float
    generate: Callable[[Site], Iterator[Edit]]
    wide: bool = False


def by_cost(edits: Iterator[Edit]) -> Iterator[Edit]:
    """The edits of one site in the order of their cost; a site has few, so they may be held at once."""
    yield from sorted(edits, key=lambda edit: edit.cost)


def is_condition(site: Site) -> bool:
    """Whether the node's truth decides where control goes, or is returned."""
    parent, field = site.parent, site.field
    while isinstance(parent, (ast.BoolOp, ast.UnaryOp)):
        parent, field = site.source.parents[parent]
    if isinstance(parent, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        return field == "test"
    return isinstance(parent, ast.comprehension) and field == "ifs"


def is_number(node: ast.AST) -> bool:
    """Whether ``node`` is a written number, perhaps with a sign; truth values are not numbers here."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) in {int, float}


def is_text(node: ast.AST) -> bool:
    """Whether ``node`` is certainly a string or bytes."""
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)))


def is_load(node: ast.AST) -> bool:
    """Whether ``node`` is read, neither assigned nor deleted."""
    return isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
