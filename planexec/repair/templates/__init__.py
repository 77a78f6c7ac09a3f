"""The families of templates. To add one: a module with ``TEMPLATES``, and its name here."""

from __future__ import annotations

from planexec.repair.templates import (
    calls,
    conditions,
    expressions,
    insertions,
    literals,
    off_by_one,
    operators,
    statements,
    substitution,
    swap,
)
from planexec.repair.templates.base import Template

FAMILIES = (
    operators, swap, off_by_one, substitution, literals, conditions, calls, expressions, statements, insertions,
)  # fmt: skip
ALL: tuple[Template, ...] = tuple(template for family in FAMILIES for template in family.TEMPLATES)

__all__ = ["ALL", "FAMILIES", "Template"]
