"""Hints are worked out from what a run saw; nothing that was not seen is said."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from planexec.controller.hints import hints
from planexec.core import events as e
from planexec.core.contract import Contract
from planexec.core.state import CheckState, RunState, StepRecord

from ..projects import BY_TESTS, make_contract

GROUND = {"exception": "AssertionError", "message": "assert 1 == 2", "missing": "", "top": 1, "failing": 1}
GROUND |= {"passing": 5, "beside": 3}


def search(**changes: Any) -> dict[str, Any]:
    ground = GROUND | changes.pop("ground", {})
    return {
        "id": "obs-patch-1", "reach": "suspicious", "tried": 100, "generated": 150, "seconds": 50.0,
        "bounds": {"seconds": 300.0, "candidates": 4000}, "ended": "exhausted", "left": 0, "surviving": 0,
        "ground": ground, **changes,
    }  # fmt: skip


def suspect(path: str, score: float = 1.0) -> dict[str, Any]:
    return {"path": path, "line": 1, "score": score}


def given(
    *searches: dict[str, Any],
    contract: Contract | None = None,
    state: RunState | None = None,
    suspects: tuple[dict[str, Any], ...] = (),
) -> list[str]:
    return hints(contract or make_contract(), state or RunState(), searches, suspects)


def failed(code: str, message: str) -> RunState:
    failure = e.Failure("patch", 1, e.FailureClass.TOOL, e.Cause.TRANSIENT, code, message, e.Recoverability.RETRY)
    return RunState(records={"patch": StepRecord(failure=failure)})


def one(found: list[str]) -> str:
    assert len(found) == 1, found
    return found[0]


def test_nothing_seen_nothing_said() -> None:
    assert given() == []
    assert given(search(ended="enough", tried=0)) == []


def test_a_search_that_was_tried_out() -> None:
    assert one(given(search())).startswith("all 100 small edits on the lines that the failing test runs were tried")
    both = one(given(search(), search(reach="wide", tried=20)))
    assert both.startswith("all 120 small edits in all code that was run or imported")
    assert given(search(), search(ended="enough", tried=0)) == []


def test_time_that_ended_it_gives_the_limit_that_would_do() -> None:
    contract = make_contract(BY_TESTS.replace("repair_seconds: 60", "repair_seconds: 50"))
    cut = search(ended="time", left=500, bounds={"seconds": 50.0, "candidates": 4000, "run": False})
    hint = one(given(cut, contract=contract))
    assert (
        "after 100 candidates in 50 s; about 500 are left, 2.0 a second: --budget (limits.repair_seconds) 350 would"
        in hint
    )
    many = one(given(cut | {"left": 9000}, contract=contract))
    assert "--budget (limits.repair_seconds) 5500 and limits.repair_candidates: 9100 would" in many
    short = one(given(cut | {"bounds": {"seconds": 10.0, "candidates": 4000, "run": True}}, contract=contract))
    assert "and as much more limits.seconds would" in short
    assert "about 500 are left" in one(given(cut, cut | {"left": 40, "reach": "wide"}, contract=contract))
    assert one(given(cut | {"left": 0}, contract=contract)).endswith("raise --budget (limits.repair_seconds)")
    assert one(given(search(ended="candidates"), contract=contract)).endswith("raise limits.repair_candidates")


def test_lines_that_nothing_tells_apart() -> None:
    hint = given(search(ended="enough", ground={"top": 9}))
    assert one(hint).startswith("9 lines share the highest suspicion: a second failing test that")
    more = given(search(ended="enough", ground={"top": 9, "failing": 2}))
    assert "a failing test more" in one(more)
    alone = given(search(ended="enough", ground={"top": 9, "beside": 0}))
    assert one(alone).startswith("of 5 passing tests that were traced none runs a line that the failing test runs")


def test_code_that_is_missing_makes_other_hints_idle() -> None:
    name = {"missing": "label", "exception": "AttributeError", "top": 9}
    assert one(given(search(ground=name))).startswith("the failing test asks for 'label', which no source defines")
    hint = one(given(search(ended="time", ground={"exception": "NotImplementedError", "top": 9})))
    assert "NotImplementedError: the fault is code that is missing" in hint


def test_suspected_lines_outside_the_scope() -> None:
    contract = make_contract(BY_TESTS + "scope: {allow: [shop/**], deny: [shop/basket.py]}\n")
    suspects = (suspect("shop/words.py"), suspect("shop/basket.py", 0.6), suspect("other.py", 0.1))
    hint = one(given(contract=contract, suspects=suspects))
    assert hint == "1 of the 2 most suspected lines lie outside the scope: take it out of scope.deny (shop/basket.py)"
    outside = given(contract=contract, suspects=(suspect("lib/a.py"), suspect("lib/b.py")))
    assert one(outside).endswith("widen scope.allow (lib/a.py, lib/b.py)")
    assert given(suspects=suspects) == []


def test_survivors_that_broke_something() -> None:
    broke = ["tests/a.py::test_a", "tests/b.py::test_b", "tests/c.py::test_c", "check 'right'"]
    hint = one(given(search(ended="enough", surviving=2, broke=broke)))
    assert hint.startswith("2 patches turn the failing test green (obs-patch-1) and none stands up to every check")
    assert "tests/a.py::test_a, tests/b.py::test_b, tests/c.py::test_c and 1 more" in hint


def test_environment_flaky_tests_and_long_suites() -> None:
    missing = replace(RunState(message="No module named 'yaml'"), settings={"interpreter": "/x/python (PATH)"})
    assert "cannot import 'yaml': install it for /x/python (PATH)" in one(given(state=missing))
    assert "disagrees with itself ('t' passed before and now failed)" in one(
        given(state=failed("FLAKY", "'t' passed before and now failed"))
    )
    evidence = e.Evidence("ev-1", "v", "tests", "inconclusive", "the suite is too long and no test file names it")
    long = RunState(checks={"tests": CheckState("verify_related_tests", "inconclusive", evidence)})
    hint = one(given(state=long))
    assert "limits.suite_seconds (240 s)" in hint
    assert "tests: {verifier: verify_related_tests, tests: [...]}" in hint
