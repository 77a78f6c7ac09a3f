from __future__ import annotations

import ast

from planexec.repair.donors import Donors
from planexec.repair.site import Site, sites


def site_of(text: str, kind: type[ast.AST], place: int = 0) -> Site:
    data = text.encode()
    donors = Donors({"a.py": data})
    source = donors.source("a.py")
    assert source is not None
    found = {}
    for units in source.units.values():
        for unit in units:
            for site in sites(source, unit, donors):
                found[site.node] = site
    return [site for node, site in found.items() if isinstance(node, kind)][place]


def replaced(text: str, kind: type[ast.AST], new: str, place: int = 0) -> str:
    site = site_of(text, kind, place)
    edits = list(site.replace(site.node, new, "t", 1.0))
    return edits[0].apply(text.encode()).decode() if edits else text


def test_parentheses_are_added_where_they_are_needed_and_only_there() -> None:
    assert replaced("x = a * b", ast.BinOp, "c + d") == "x = c + d"
    assert replaced("x = y - a * b", ast.BinOp, "c + d", 1) == "x = y - (c + d)"
    assert replaced("x = (a * b) - y", ast.BinOp, "c + d", 1) == "x = (c + d) - y"
    assert replaced("x = (a * b) - y", ast.BinOp, "c", 1) == "x = c - y"
    assert replaced("x = f(a)", ast.Call, "c if d else e") == "x = c if d else e"
    assert replaced("x = f(a).b", ast.Call, "c if d else e") == "x = (c if d else e).b"
    assert replaced("return_ = a", ast.Name, "b, c", 1) == "return_ = b, c"
    assert replaced("f(a)", ast.Name, "(yield)", 1) == "f((yield))"


def test_before_and_after_show_the_widest_expression_that_reads_well() -> None:
    site = site_of("def f():\n    return g(a + 1)\n", ast.BinOp)
    edit = next(site.replace(site.node, "a", "t", 1.0))
    assert (edit.before, edit.after, edit.line) == ("return g(a + 1)", "return g(a)", 2)
    wide = "x = [" + ", ".join(["value"] * 30) + ", a + 1]"
    site = site_of(wide, ast.BinOp)
    edit = next(site.replace(site.node, "a", "t", 1.0))
    assert (edit.before, edit.after) == ("a + 1", "a")


def test_nothing_is_yielded_where_nothing_changes() -> None:
    site = site_of("x = a", ast.Name, 1)
    assert list(site.replace(site.node, "a", "t", 1.0)) == []


def touched(text: str) -> set[str]:
    data = text.encode()
    donors = Donors({"a.py": data})
    source = donors.source("a.py")
    assert source is not None
    units = {unit for units in source.units.values() for unit in units}
    found = {site.node for unit in units for site in sites(source, unit, donors) if isinstance(site.node, ast.expr)}
    return {source.segment(node) for node in found}


def test_annotations_and_documentation_are_not_touched() -> None:
    text = 'def f(a: int = b) -> str:\n    "Text."\n    c: list[d] = e\n'
    assert touched(text) == {"b", "c", "e"}


def test_expressions_in_format_strings_are_touched_only_where_their_place_is_sure() -> None:
    found = touched("x = f'{a + 1} {b!r:>{width}}'\n")
    assert {"a + 1", "a"} <= found
    assert " " not in found


def test_the_expressions_of_a_body_do_not_belong_to_the_header() -> None:
    data = b"if a:\n    b = c\n"
    donors = Donors({"a.py": data})
    source = donors.source("a.py")
    assert source is not None
    found = sites(source, source.tree.body[0], donors)
    assert [type(site.node).__name__ for site in found] == ["If", "Name"]
