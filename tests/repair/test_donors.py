from __future__ import annotations

import ast

import pytest

from planexec.repair.donors import MAX_DONORS, MAX_FILES, Donors, confused_with, is_alike, is_test
from planexec.repair.source import Source


def names_at(text: str, name: str, *, called: bool = False) -> list[str]:
    donors = Donors({"a.py": text.encode()})
    source = donors.source("a.py")
    assert source is not None
    node = [each for each in ast.walk(source.tree) if isinstance(each, ast.Name) and each.id == name][-1]
    return [each.text for each in donors.names(source, node, called=called)]


NESTED = """
LIMIT = 3
def helper(): return 0
def outer(first):
    second = first
    def inner(third, spare):
        fourth = third
        return fourth
    return inner(second)
"""


def test_names_are_ordered_by_locality_and_unused_ones_lead() -> None:
    found = names_at(NESTED, "fourth")
    assert found[0] == "spare"
    assert found.index("third") < found.index("first") < found.index("LIMIT") < found.index("helper")
    assert "fourth" not in found


def test_what_is_called_comes_from_callables() -> None:
    found = names_at(NESTED, "inner", called=True)
    assert found.index("helper") < found.index("LIMIT")


def test_an_unreadable_or_missing_file_has_no_source() -> None:
    donors = Donors({"a.py": b"(", "b.txt": b"x = 1"})
    assert donors.source("a.py") is None
    assert donors.source("b.txt") is None
    assert donors.source("c.py") is None
    assert donors.modules == []


def keys(files: dict[str, bytes], key: str, receiver: str, *, stored: bool = False) -> list[tuple[str, float]]:
    donors = Donors(files)
    source = donors.source("a.py")
    assert source is not None
    return [(each.text, each.penalty) for each in donors.keys(source, key, receiver, stored=stored)]


def test_the_other_half_of_a_slip_leads_whichever_side_is_repaired() -> None:
    files = {"a.py": b"x = s['next']\ny = s['user']\n", "b.py": b"s['back'] = 1\ns['user'] = 2\nt['back_up'] = 3\n"}
    assert keys(files, "next", "s")[0] == ("back", -1.0)
    written = {"a.py": b"s['back'] = 1\ns['user'] = 2\n", "b.py": b"x = s['next']\ny = s['user']\n"}
    assert keys(written, "back", "s", stored=True)[0] == ("next", -0.6)


def test_a_key_that_is_written_somewhere_is_no_half_of_a_slip() -> None:
    files = {"a.py": b"x = s['user']\n", "b.py": b"s['user'] = 1\ns['back'] = 2\n"}
    assert all(penalty >= 0 for _, penalty in keys(files, "user", "s"))


def test_a_misspelt_attribute_of_self_is_led_by_those_that_are_assigned() -> None:
    text = b"class A:\n    def __init__(self):\n        self.colour = 1\n        self.size = 2\n"
    text += b"    def f(self):\n        return self.color\n"
    donors = Donors({"a.py": text})
    source = donors.source("a.py")
    assert source is not None
    node = next(each for each in ast.walk(source.tree) if isinstance(each, ast.Attribute) and each.attr == "color")
    found = donors.attributes(source, node, "self")
    assert found[0].text == "colour"
    assert found[0].penalty < 0
    assert found[0].origin == "a.py:3"


def test_constants_keep_to_their_type_and_prefer_the_function() -> None:
    text = b"A = 'far'\nB = 5\ndef f():\n    g('near', 'far', 7)\n"
    donors = Donors({"a.py": text, "b.py": b"C = 'other'\n"})
    source = donors.source("a.py")
    assert source is not None
    function = source.tree.body[2]
    assert isinstance(function, ast.FunctionDef)
    assert [each.text for each in donors.constants(source, "x", function)] == ["'far'", "'near'", "'other'"]
    assert [each.text for each in donors.constants(source, 5, None)] == ["7"]


def test_keywords_come_from_definitions_before_calls() -> None:
    text = b"class Box:\n    def __init__(self, size, *, deep=0): ...\nBox(shape=1)\n"
    donors = Donors({"a.py": text})
    assert [each.text for each in donors.keywords("Box")] == ["deep", "size", "shape"]
    assert donors.keywords("nothing") == []


def test_donors_and_files_are_bounded_and_near_files_come_first() -> None:
    files = {f"far/m{number}.py": b"x = 1\n" for number in range(MAX_FILES + 20)}
    files |= {"pkg/a.py": "\n".join(f"v{n} = 1" for n in range(200)).encode(), "pkg/z.py": b"y = 2\n"}
    donors = Donors(files, ["pkg/a.py"])
    assert [each.path for each in donors.modules[:2]] == ["pkg/a.py", "pkg/z.py"]
    assert len(donors.modules) == MAX_FILES
    source = donors.source("pkg/a.py")
    assert source is not None
    assert len(donors.names(source, source.tree.body[0])) == MAX_DONORS


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/a.py", True),
        ("a/test_b.py", True),
        ("b_test.py", True),
        ("conftest.py", True),
        ("attest.py", False),
        ("testing/a.py", False),
    ],
)
def test_what_is_a_test(path: str, expected: bool) -> None:
    assert is_test(path) is expected


def test_alike_and_confused() -> None:
    assert is_alike("colour", "color")
    assert is_alike("count", "counts")
    assert not is_alike("a", "b")
    assert not is_alike("", "b")
    assert not is_alike("x" * 60, "x" * 60 + "y")
    assert confused_with("any") == ["all"]
    assert "extend" in confused_with("append")
    assert confused_with("nothing") == []


def test_a_source_is_read_once() -> None:
    donors = Donors({"a.py": b"x = 1\n"})
    assert donors.source("a.py") is donors.source("a.py")
    assert isinstance(donors.source("a.py"), Source)
