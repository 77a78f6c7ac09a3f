from __future__ import annotations

import pytest

from planexec.core import events as e
from planexec.core.plan import Status, Step
from planexec.core.state import RunState, StepRecord


def step(name: str, status: Status = Status.PENDING) -> Step:
    return Step(id=name, goal="g", done_when="d", status=status)


def fact(number: int, subject: str, value: str) -> e.Fact:
    return e.Fact(f"fact-{number}", "a claim", "obs-1", subject, value, (), "inspect")


def test_steps_and_records() -> None:
    state = RunState(steps=(step("a"), step("b", Status.SUPERSEDED)), records={"a": StepRecord(attempt=2)})
    assert state.step("b").status is Status.SUPERSEDED
    with pytest.raises(KeyError):
        state.step("c")
    assert state.record("a").attempt == 2 and state.record("c").attempt == 0
    assert [each.id for each in state.live()] == ["a"]


def test_the_latest_fact_counts() -> None:
    state = RunState(facts=(fact(1, "x", "old"), fact(2, "y", "other"), fact(3, "x", "new")))
    found = state.fact("x")
    assert found is not None and found.value == "new"
    assert state.fact("z") is None


def test_failures_by_code() -> None:
    failure = e.Failure("b", 1, e.FailureClass.TASK, e.Cause.FALSE_FACT, "NO_PATCH", "", e.Recoverability.REPLAN)
    state = RunState(steps=(step("a"), step("b")), records={"b": StepRecord(failure=failure)})
    assert state.failed_with("NO_PATCH") == ["b"]
    assert state.failed_with("OTHER") == []
