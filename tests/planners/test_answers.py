"""What a model may say as a plan."""

from __future__ import annotations

from typing import Any

import pytest

from planexec.core.plan import CheckPassed, FactIs, FactRecorded, Proposal, RegressionGreen, Step
from planexec.core.rules import validate_plan
from planexec.planners.answers import MOST_STEPS, read_plan
from planexec.planners.model import EXAMPLE
from planexec.tools.toolbox import Toolbox

CHECKS = {"reproduction": "verify_regression_red", "tests": "verify_related_tests"}


def planned(**more: Any) -> dict[str, Any]:
    step = {"id": "a", "goal": "g", "done_when": "d", "predicates": [], "artifacts": ["x"], "tools": ["read"]}
    return {"scope": "s", "steps": [{**step, **more}]}


def test_the_example_of_the_prompt_is_a_plan_that_keeps_the_rules() -> None:
    proposal = read_plan(EXAMPLE)
    assert isinstance(proposal, Proposal)
    assert validate_plan(proposal, "current_repository", CHECKS, Toolbox.standard().names) == []


def test_what_follows_by_itself_is_filled_in() -> None:
    kept = (Step(id="k", goal="g", done_when="d", artifacts=("inspection",)),)
    told = [{"predicate": "fact_recorded", "about": "location"}, {"predicate": "check_passed", "about": "tests"}]
    told += [{"predicate": "regression_green", "about": "reproduction"}]
    facts = [{"subject": "s", "value": "v"}]
    proposal = read_plan(
        planned(depends_on=["k"], predicates=told, tools=["edit"], preconditions=facts, writes=["a/**"]), kept
    )
    assert isinstance(proposal, Proposal) and proposal.steps[0] is kept[0]
    step = proposal.steps[1]
    assert step.predicates == (FactRecorded(("location",)), CheckPassed("tests"), RegressionGreen("reproduction"))
    assert (step.rollback, step.inputs, step.preconditions) == ("checkpoint", ("inspection",), (FactIs("s", "v"),))


REFUSED = {
    "a status": planned(status="completed"),
    "evidence": planned(evidence=["it passed"]),
    "a predicate of its own": planned(predicates=[{"predicate": "i_am_done", "about": "x"}]),
    "a predicate in words": planned(predicates=["the tests pass"]),
    "a goal that is a number": planned(goal=1),
    "dependencies in words": planned(depends_on="a"),
    "facts": {**planned(), "facts": [{"claim": "fixed"}]},
    "no steps": {"scope": "s"},
    "steps in words": {"scope": "s", "steps": "inspect, patch"},
    "nothing": {},
    "too many": {"scope": "s", "steps": planned()["steps"] * 500},
}


@pytest.mark.parametrize("value", REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_plan_is_told_in_one_line(value: dict[str, Any]) -> None:
    findings = read_plan(value)
    assert isinstance(findings, list) and len(findings) == 1
    assert "\n" not in findings[0] and len(findings[0]) < 400
    assert value is not REFUSED["too many"] or f"at most {MOST_STEPS}" in findings[0]


BROKEN = {
    "a cycle": planned(depends_on=["a"]),
    "an unknown step": planned(depends_on=["z"]),
    "no cover": planned(),
    "an unknown tool": planned(tools=["rm"]),
    "another scope": {**planned(), "scope": "everything"},
    "nothing to be seen": planned(covers=["tests", "reproduction"]),
    "an invented check": planned(covers=["mine"], predicates=[{"predicate": "check_passed", "about": "mine"}]),
}


@pytest.mark.parametrize("value", BROKEN.values(), ids=BROKEN.keys())
def test_a_plan_that_can_be_read_is_still_judged_by_the_rules(value: dict[str, Any]) -> None:
    proposal = read_plan(value)
    assert isinstance(proposal, Proposal)
    assert validate_plan(proposal, "s", CHECKS, Toolbox.standard().names)
