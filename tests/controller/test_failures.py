from __future__ import annotations

import pytest

from planexec.controller.failures import classify
from planexec.core.events import Cause, Evidence, FailureClass, Recoverability
from planexec.core.plan import CheckPassed, FactRecorded, Predicate, RegressionGreen, RegressionRed, SetupCarries, Step
from planexec.tools.interface import ToolResult


def step(*predicates: Predicate, artifact: str = "thing") -> Step:
    return Step(id="s", goal="g", done_when="d", artifacts=(artifact,), predicates=predicates)


def evidence(status: str = "failed", code: str = "") -> Evidence:
    return Evidence("ev-1", "verify_x", "x", status, "it is not so", "", code)


@pytest.mark.parametrize(
    ("predicate", "artifact", "code", "expected"),
    [
        (
            RegressionRed("r"),
            "regression-test",
            "NOT_RED",
            ("NOT_RED", FailureClass.GOAL, Cause.FALSE_FACT, Recoverability.ABORT),
        ),
        (
            RegressionRed("r"),
            "regression-test",
            "OTHER_RED",
            ("OTHER_RED", FailureClass.GOAL, Cause.FALSE_FACT, Recoverability.ABORT),
        ),
        (SetupCarries("r"), "test-setup", "", ("SETUP", FailureClass.TASK, Cause.FALSE_FACT, Recoverability.REPLAN)),
        (
            FactRecorded(("a",)),
            "inspection",
            "",
            ("NOT_FOUND", FailureClass.TASK, Cause.FALSE_FACT, Recoverability.ABORT),
        ),
        (
            CheckPassed("tests"),
            "verification",
            "",
            ("CHECK_FAILED", FailureClass.TASK, Cause.SIDE_EFFECT, Recoverability.REPLAN),
        ),
        (CheckPassed("other"), "patch", "", ("NO_PATCH", FailureClass.TASK, Cause.FALSE_FACT, Recoverability.REPLAN)),
        (RegressionGreen("r"), "patch", "", ("NO_PATCH", FailureClass.TASK, Cause.FALSE_FACT, Recoverability.REPLAN)),
    ],
)
def test_what_did_not_hold(predicate: Predicate, artifact: str, code: str, expected: tuple[object, ...]) -> None:
    failure = classify(step(predicate, artifact=artifact), 1, [evidence(code=code)], "", None, "obs-s-1")
    assert (failure.code, failure.failure_class, failure.cause, failure.recoverability) == expected
    assert failure.evidence == ("ev-1", "obs-s-1")
    assert failure.message == "it is not so"


def test_the_environment_is_told_apart() -> None:
    failure = classify(step(CheckPassed("x")), 1, [evidence("error")], "", None, "")
    assert (failure.environment, failure.recoverability) == (True, Recoverability.ABORT)
    slow = classify(step(CheckPassed("x")), 1, [evidence("error", "TIMEOUT")], "", None, "")
    assert (slow.environment, slow.recoverability) == (True, Recoverability.RETRY)
    flaky = classify(step(CheckPassed("x")), 1, [evidence("inconclusive")], "", None, "")
    assert (flaky.code, flaky.cause, flaky.recoverability) == ("FLAKY", Cause.TRANSIENT, Recoverability.RETRY)


@pytest.mark.parametrize(
    ("result", "code", "recoverability"),
    [
        (ToolResult(False, "no disk", code="ENVIRONMENT", environment=True), "ENVIRONMENT", Recoverability.ABORT),
        (ToolResult(False, "too slow", code="TIMEOUT"), "TIMEOUT", Recoverability.RETRY),
        (ToolResult(False, "nothing is red", code="NOT_RED"), "NOT_RED", Recoverability.ABORT),
        (ToolResult(False, "refused", code="REFUSED"), "GAVE_UP", Recoverability.REPLAN),
        (None, "GAVE_UP", Recoverability.REPLAN),
    ],
)
def test_a_step_that_never_asked(result: ToolResult | None, code: str, recoverability: Recoverability) -> None:
    failure = classify(step(CheckPassed("x")), 2, [], "", result, "obs-s-2")
    assert (failure.code, failure.recoverability, failure.attempt) == (code, recoverability, 2)


def test_the_reason_of_the_executor_is_told_and_decides_nothing() -> None:
    failure = classify(step(CheckPassed("x"), artifact="patch"), 1, [], "I fixed it, believe me", None, "")
    assert failure.code == "NO_PATCH"
    assert failure.message == "I fixed it, believe me"
