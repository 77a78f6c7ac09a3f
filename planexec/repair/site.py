"""A place where templates act: one node with its surroundings, and the ways to turn an idea into an edit."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from planexec.repair.donors import Donors
from planexec.repair.edits import Edit, splice
from planexec.repair.precedence import ATOM, required, strength, strength_of_text
from planexec.repair.source import Function, Source, Span, Unit, inside

SHOWN = 72


@dataclass(frozen=True)
class Site:
    """``node`` of ``source``; ``unit`` is the statement (or its header) to which it belongs."""

    source: Source
    node: ast.AST
    unit: Unit
    donors: Donors

    @cached_property
    def function(self) -> Function | None:
        """The innermost function around the node."""
        return self.source.function_of(self.node)

    @property
    def parent(self) -> ast.AST:
        """The node's parent."""
        return self.source.parents[self.node][0]

    @property
    def field(self) -> str:
        """The field of the parent in which the node stands."""
        return self.source.parents[self.node][1]

    def text(self, node: ast.AST) -> str:
        """The source text of ``node`` with its own grouping parentheses."""
        start, end = self.source.outer(node)
        return self.source.text[start:end]

    def operand(self, node: ast.expr, level: int) -> str:
        """The text of ``node`` fit to stand where ``level`` is required."""
        text = self.text(node)
        grouped = self.source.outer(node) != self.source.span(node)
        return text if grouped or strength(node, text) >= level else f"({text})"

    def replace(
        self, node: ast.AST, text: str, template: str, cost: float, *, donor: str = "", risk: int = 0
    ) -> Iterator[Edit]:
        """Put the expression ``text`` in place of ``node``, in parentheses if needed. Yields one edit or none."""
        span = self._whole(node, text)
        parent, field = self.source.parents[node]
        if isinstance(node, ast.expr) and self.source.outer(node) == self.source.span(node):
            bare = isinstance(node, ast.Tuple) and strength(node, self.source.segment(node)) == 0
            level = strength_of_text(text)
            if (
                not (bare and level == 0)
                and level < required(parent, field)
                and not _may_be_bare(text, level, parent, field)
            ):
                text = f"({text})"
        yield from self.rewrite(*span, text, template, cost, donor=donor, risk=risk)

    def _whole(self, node: ast.AST, text: str) -> Span:
        """The span to replace: with the parentheses of ``node`` where ``text`` has no need of them."""
        inner, outer = self.source.span(node), self.source.outer(node)
        idle = isinstance(node, ast.expr) and strength_of_text(text) == ATOM and strength(node) < ATOM
        around = self.source.text[outer[0] : inner[0]] + self.source.text[inner[1] : outer[1]]
        return outer if idle and not around.strip("()") and "\n" not in text else inner

    def rewrite(
        self, start: int, end: int, text: str, template: str, cost: float, *, donor: str = "", risk: int = 0
    ) -> Iterator[Edit]:
        """Put ``text`` in place of the characters ``[start, end)``, as it is. Yields one edit or none."""
        found = splice(self.source, start, end, text)
        if found is None:
            return
        first, last, replacement = found
        left, right = self._shown(start, end)
        before = _in_one_line(self.source.text[left:right])
        after = _in_one_line(self.source.text[left:start] + text + self.source.text[end:right])
        line = self.source.line_of(start)
        yield Edit(self.source.path, line, first, last, replacement, template, cost, before, after, donor, risk)

    def _shown(self, start: int, end: int) -> tuple[int, int]:
        """The widest expression around the edit that still reads well in one line of a report, or its lines so far."""
        for node in reversed([self.node, *self.source.ancestors(self.node)]):
            if not isinstance(node, (ast.expr, ast.stmt)):
                continue
            left, right = self.source.span(node)
            text = self.source.text[left:right]
            if left <= start and end <= right and len(text) <= SHOWN and "\n" not in text and "\r" not in text:
                return left, right
        return self.source.line_start(self.source.line_of(start)), end


def _in_one_line(text: str) -> str:
    """``text`` for a report: where it goes over lines, with single spaces for line ends and indentation."""
    return " ".join(text.split()) if "\n" in text else text.strip()


def _may_be_bare(text: str, level: int, parent: ast.AST, field: str) -> bool:
    """A tuple needs no parentheses where a statement's whole value stands."""
    whole = isinstance(parent, (ast.Return, ast.Assign)) and field == "value"
    return whole and level == 0 and not text.startswith(("yield", "*")) and ":=" not in text


def sites(source: Source, unit: Unit, donors: Donors) -> list[Site]:
    """The unit and the expressions in it that templates may touch; annotations and documentation are left alone."""
    skipped: set[ast.AST] = set()
    found: list[Site] = []
    for node in inside(unit):
        if node is not unit and _is_quiet(source, node, skipped):
            skipped.add(node)
            continue
        if isinstance(node, (ast.expr, ast.stmt, ast.excepthandler)):
            found.append(Site(source, node, unit, donors))
    return found


def _is_quiet(source: Source, node: ast.AST, skipped: set[ast.AST]) -> bool:
    """Whether ``node`` has no behaviour of its own, or no place that can be trusted."""
    parent, field = source.parents.get(node, (source.tree, ""))
    if parent in skipped or field in {"annotation", "returns", "type_params", "pattern"}:
        return True
    if isinstance(parent, ast.Expr) and isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.JoinedStr):
        return isinstance(parent, ast.FormattedValue)
    if isinstance(parent, ast.JoinedStr):
        return not isinstance(node, ast.FormattedValue)
    if isinstance(parent, ast.FormattedValue):
        # Until Python 3.12 places inside f-strings are guesses: they count only if the text there says the same.
        return not _is_honest(source, node)
    return False


def _is_honest(source: Source, node: ast.AST) -> bool:
    if not isinstance(node, ast.expr):
        return True
    try:
        seen = ast.parse(f"({source.segment(node)}\n)", mode="eval").body
    except (SyntaxError, ValueError):
        return False
    return ast.dump(seen) == ast.dump(node)
