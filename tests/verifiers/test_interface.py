from __future__ import annotations

from planexec.testing.outcomes import TestOutcome, TestReport
from planexec.verifiers.interface import ERROR, FAILED, trouble

PROBLEM = "no module named 'x' (needed by test_b.py)"


def report(*, ran: bool, trusted: bool = True, timed_out: bool = False, problem: str = "") -> TestReport:
    outcomes = {"a.py::t": TestOutcome("a.py::t", "passed")} if ran else {}
    return TestReport(
        outcomes, {}, trusted, "odd", 1, timed_out, 1.0, "", environment_problem=problem, interpreter="/x/python (venv)"
    )


def test_what_the_environment_lacks_is_told_with_the_interpreter() -> None:
    found = trouble(report(ran=False, trusted=False, problem=PROBLEM), "the base")
    assert found is not None and found.status == ERROR
    assert found.summary == f"tests cannot be run on the base: {PROBLEM}; run with /x/python (venv)"


def test_what_one_file_lacks_does_not_keep_the_others_from_counting() -> None:
    assert trouble(report(ran=True, problem=PROBLEM), "the base") is None


def test_a_report_that_came_too_late_or_is_not_believed() -> None:
    late = trouble(report(ran=True, trusted=False, timed_out=True), "the base")
    assert late is not None and (late.status, late.code) == (ERROR, "TIMEOUT")
    odd = trouble(report(ran=True, trusted=False, problem=PROBLEM), "the base")
    assert odd is not None and (odd.status, odd.code) == (FAILED, "UNTRUSTED")
    assert trouble(report(ran=True), "the base") is None
