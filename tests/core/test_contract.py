from __future__ import annotations

import msgspec

from planexec.core import contract as c


def test_lines_keep_what_may_lie_in_a_string() -> None:
    example = c.Example(actual="x", setup=("a = 1\nb = '''\n\n  c'''\n", "", "d = 2"), imports="import os\n")
    assert example.setup_lines() == ["a = 1", "b = '''", "", "  c'''", "d = 2"]
    assert example.import_lines() == ["import os"]
    assert c.Example(actual="x").setup_lines() == []


def test_the_expected_value_as_source() -> None:
    assert c.Example(actual="x", expected="/a").expected_source() == "'/a'"
    assert c.Example(actual="x", expected=None).expected_source() == "None"
    assert c.Example(actual="x", expected_code="f(2)").expected_source() == "f(2)"


def test_acceptance_files_are_one_or_many() -> None:
    assert c.Arguments().acceptance_files() == ()
    assert c.Arguments(acceptance="a.py").acceptance_files() == ("a.py",)
    assert c.Arguments(acceptance=("a.py", "b.py")).acceptance_files() == ("a.py", "b.py")


def test_a_scope_without_globs_is_the_repository() -> None:
    assert c.Scope().label() == c.CURRENT_REPOSITORY == "current_repository"
    assert c.Scope(("a/**", "b")).label() == "a/**, b"


def test_a_contract_without_reproduction_has_none() -> None:
    check = c.Check("tests", "pass", c.RELATED_TESTS, c.RELATED_TESTS, c.Arguments())
    contract = c.Contract("g", c.Scope(), {"tests": check}, c.Limits())
    assert contract.reproduction is None
    assert contract.required_checks == {"tests": "verify_related_tests"}
    assert len(contract.digest) == 64


def test_a_bound_contract_survives_json() -> None:
    arguments = c.Arguments(example=c.Example(actual="f()", expected=[1, {"a": None}]), runs=2)
    check = c.Check("reproduction", "red", c.REGRESSION_RED, c.REGRESSION_RED, arguments)
    contract = c.Contract("g", c.Scope(("a",)), {"reproduction": check}, c.Limits(), files={"t.py": b"\x00\xff"})
    assert msgspec.json.decode(msgspec.json.encode(contract), type=c.Contract) == contract
