from __future__ import annotations

import ast

import pytest

from planexec.repair.donors import Donors
from planexec.repair.site import sites
from planexec.repair.source import Source
from planexec.repair.templates import ALL, FAMILIES
from planexec.repair.templates.base import is_condition, is_number, is_text


def test_every_family_is_listed_with_templates_that_name_node_types() -> None:
    assert len(FAMILIES) == 10
    assert all(issubclass(node, ast.AST) for template in ALL for node in template.nodes)


def test_costs_rise_within_a_site_and_start_at_the_floor_or_above() -> None:
    text = b"""
class Box:
    def __init__(self, items, size=3):
        self.items = items
        self.size = size

    def fill(self, other, limit=10):
        found = []
        for each in other[:limit]:
            if each is not None and each.size <= self.size or not found:
                found.append(len(each) + 1 if each else {'size': limit - 1}['size'])
                continue
        try:
            self.items.update(found, key="size", deep=True)
        except KeyError:
            return range(limit), ','
        return found
"""
    source = Source.read("a.py", text)
    assert source is not None
    donors = Donors({"a.py": text})
    fresh = donors.source("a.py")
    assert fresh is not None
    seen = set()
    for unit in {unit for units in fresh.units.values() for unit in units}:
        for site in sites(fresh, unit, donors):
            for template in ALL:
                if isinstance(site.node, template.nodes):
                    costs = [edit.cost for edit in template.generate(site)]
                    assert all(cost >= template.floor - 0.2 for cost in costs), (template.name, template.floor)
                    if costs:
                        seen.add(template)
    assert len(seen) > 0.8 * len(ALL)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("if x: pass", True), ("y = 1 if not x else 2", True), ("y = [1 for i in z if x and i]", True), ("y = x", False)],
)
def test_what_is_a_condition(text: str, expected: bool) -> None:
    source = Source.read("a.py", text.encode())
    assert source is not None
    donors = Donors({"a.py": text.encode()})
    found = [site for unit in source.units[1] for site in sites(source, unit, donors)]
    names = [site for site in found if isinstance(site.node, ast.Name) and site.node.id == "x"]
    assert [is_condition(site) for site in names] == [expected]


def test_numbers_and_text() -> None:
    values = [ast.parse(each, mode="eval").body for each in ("1", "-2.5", "True", "'a'", "f'{a}'", "a")]
    assert [is_number(each) for each in values] == [True, True, False, False, False, False]
    assert [is_text(each) for each in values] == [False, False, False, True, True, False]
