"""Strict templates: a prompt is a file beside this one, every gap ``{{name}}`` is filled, every value is used."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_GAP = re.compile(r"\{\{(\w+)\}\}")


def render(name: str, **values: str) -> str:
    """The prompt ``name`` with its gaps filled. Values are put in as they are and never looked at again.

    Raises ValueError for a gap without a value and for a value without a gap: a prompt that says less than its writer
    thinks is a fault of the program.
    """
    text = _text(name)
    gaps = set(_GAP.findall(text))
    if gaps != values.keys():
        raise ValueError(f"prompt '{name}': gaps {sorted(gaps)}, values {sorted(values)}")
    return _GAP.sub(lambda gap: values[gap[1]], text)


@cache
def _text(name: str) -> str:
    return (files(__package__) / f"{name}.md").read_text("utf-8")
