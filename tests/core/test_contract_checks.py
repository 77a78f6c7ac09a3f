from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planexec.core import contract as c
from planexec.core.contract_checks import argument_objections, did_you_mean, glob_objection
from planexec.core.paths import matches


def objections(kind: str, arguments: c.Arguments, *given_fields: str) -> list[str]:
    return [each.message for each in argument_objections("x", kind, arguments, frozenset(given_fields))]


def test_a_suggestion_is_near_or_none() -> None:
    assert did_you_mean("replan_buget", ["goal", "replan_budget"]) == "did you mean 'replan_budget'?"
    assert did_you_mean("zebra", ["goal"]) == ""


def test_defaults_are_no_limits_but_written_ones_count() -> None:
    assert objections(c.DIFF_SCOPE, c.Arguments()) == []
    assert objections(c.DIFF_SCOPE, c.Arguments(max_files=0), "max_files") == ["'max_files' must be at least 1"]


def test_several_objections_are_all_named() -> None:
    arguments = c.Arguments(acceptance=("/a.py", "b.txt", "", "a.py"), at="../x.py")
    assert objections(c.NAMED_TESTS, arguments) == [
        "'/a.py' does not lie beside the contract",
        "'b.txt' is not a test module",
        "'' does not lie beside the contract",
        "two acceptance files of one name",
        "'at' says where one acceptance file goes",
        "'../x.py' leaves the repository",
    ]


@pytest.mark.parametrize(
    ("setup", "message"),
    [
        ("return 3", ""),
        ("yield", ""),
        ("x = '''\n\n a'''", ""),
        ("nonlocal x", "the example makes no test: nonlocal declaration not allowed at module level"),
        ("break", "the example makes no test: 'break' outside loop"),
    ],
)
def test_an_example_has_to_make_a_test(setup: str, message: str) -> None:
    arguments = c.Arguments(example=c.Example(actual="f()", expected=1, setup=setup))
    found = objections(c.REGRESSION_RED, arguments)
    assert len(found) == bool(message)
    assert not message or found[0].startswith("the example makes no test: ")


@given(st.text(max_size=12))
def test_a_glob_without_objection_can_be_matched_and_stays_inside(glob: str) -> None:
    if glob_objection(glob) is None:
        matches("src/a.py", (glob,))
        assert not glob.startswith(("/", "~")) and ".." not in glob.split("/")
