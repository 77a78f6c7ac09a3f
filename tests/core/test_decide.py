from __future__ import annotations

import pytest
from msgspec.structs import replace

from planexec.core import decide as d
from planexec.core import events as e
from planexec.core.decide import decide
from planexec.core.plan import ArtifactStored, CheckPassed, FactIs, FactRecorded, Step
from planexec.core.reduce import reduce
from planexec.core.state import RunState
from tests.core.building import (
    accepted,
    begin,
    completed,
    fact,
    failed,
    failure,
    folded,
    judged,
    planned,
    sound_steps,
    started,
    step,
    superseded,
)  # fmt: skip

ALL = ("inspect", "patch", "verify")
RETRY, WAIT, ABORT = e.Recoverability.RETRY, e.Recoverability.WAIT, e.Recoverability.ABORT


def replan_of(state: RunState) -> d.Replan:
    decision = decide(state)
    assert isinstance(decision, d.Replan), decision
    return decision


def conclusion_of(state: RunState) -> d.Conclude:
    decision = decide(state)
    assert isinstance(decision, d.Conclude), decision
    return decision


def with_facts(state: RunState, by: str, *facts: e.Fact) -> RunState:
    """The step runs, records the facts, and completes."""
    state = folded(*(e.FactCommitted(one) for one in facts), state=begin(state, by))
    done = e.StepCompleted(
        by, (e.Evidence("ev", "v", "a", "passed", "s"),), f"tree-{by}", dict.fromkeys(state.step(by).artifacts, "t")
    )
    return reduce(state, done)


def test_the_ordinary_way() -> None:
    assert decide(RunState()) == d.Stop()
    assert decide(folded(started())) == d.Propose()
    state = planned()
    for name in ALL:
        assert decide(state) == d.Execute(state.step(name))
        assert decide(begin(state, name)) == d.Recover(begin(state, name).step(name))
        state = completed(state, name)
    assert decide(state) == d.Gate()
    opened = reduce(state, e.GateStarted("tree-verify"))
    assert decide(opened) == d.Gate()
    assert decide(reduce(opened, e.CheckJudged("tests", e.Evidence("ev", "v", "a", "passed", "s")))) == d.Gate()
    end = conclusion_of(judged(state))
    assert (end.status, end.reason) == ("succeeded", "proved")
    assert decide(reduce(judged(state), e.RunEnded("succeeded", "proved", "m", patch="p"))) == d.Stop()
    assert decide(reduce(planned(), e.RunEnded("waiting", "r", "m"))) == d.Stop()


def test_refused_proposals_are_corrected_so_often_and_no_more() -> None:
    state = folded(started(corrections=1))
    state = reduce(state, e.ProposalRefused("p", ("one", "two")))
    assert decide(state) == d.Propose()
    end = conclusion_of(reduce(state, e.ProposalRefused("p", ("one", "two"))))
    assert (end.status, end.reason) == ("blocked", "no_valid_plan")
    assert "one; two" in end.message


def test_a_forbidden_state_entered_twice_ends_the_run() -> None:
    state = begin(planned(), "inspect")
    event = e.ForbiddenEntered("inspect", "act", ("a",))
    assert isinstance(decide(reduce(state, event)), d.Recover)
    end = conclusion_of(folded(event, event, state=state))
    assert (end.status, end.reason) == ("failed", "safety")


def test_a_transient_failure_is_retried_twice_with_back_off() -> None:
    state = failed(planned(), "inspect", recoverability=RETRY)
    for attempt, delay in ((2, d.BACKOFF[0]), (3, d.BACKOFF[1])):
        assert decide(state) == d.Retry(state.step("inspect"), delay)
        state = reduce(state, e.StepRetried("inspect", attempt, delay))
        assert decide(state) == d.Execute(state.step("inspect"))
        state = failed(state, "inspect", recoverability=RETRY, environment=True)
    assert d.MAX_ATTEMPTS == 3
    end = conclusion_of(state)
    assert (end.status, end.reason, end.environment) == ("blocked", "environment", True)


@pytest.mark.parametrize(("how", "status"), [(ABORT, "blocked"), (WAIT, "waiting")])
def test_what_cannot_be_mended_here_ends_with_its_question(how: e.Recoverability, status: str) -> None:
    end = conclusion_of(failed(planned(), "inspect", recoverability=how, code="NOT_RED", question="Is it fixed?"))
    assert (end.status, end.reason, end.questions) == (status, "not_red", ("Is it fixed?",))
    assert conclusion_of(failed(planned(), "inspect", recoverability=how)).questions == ()


def test_replanning_is_local() -> None:
    steps = (*sound_steps(), step("side"), step("later", "side"))
    decision = replan_of(failed(completed(planned(steps), "inspect", "side"), "patch"))
    assert (decision.trigger.root, decision.trigger.affected, decision.invalidated) == (
        "patch",
        ("patch", "verify"),
        (),
    )
    assert decision.trigger.trigger == "no_patch"


def test_a_due_replan_asks_the_planner_until_the_budget_is_spent() -> None:
    state = failed(completed(planned(budget=1), "inspect"), "patch")
    state = reduce(state, replan_of(state).trigger)
    assert decide(state) == d.Propose(state.trigger)
    kept = [superseded(one) if one.id != "inspect" else one for one in state.steps]
    state = reduce(state, accepted(state, [*kept, step("wider", "inspect")], ["patch", "verify"]))
    state = failed(state, "wider")
    state = reduce(state, replan_of(state).trigger)
    end = conclusion_of(state)
    assert (end.status, end.reason) == ("blocked", "replan_budget")
    assert "nothing was found" in end.message and "replan_budget" in end.questions[0]


def test_a_side_effect_withdraws_the_patch_and_what_rests_on_it() -> None:
    state = failed(completed(planned(), "inspect", "patch"), "verify", cause=e.Cause.SIDE_EFFECT)
    decision = replan_of(state)
    assert (decision.trigger.root, decision.trigger.affected) == ("patch", ("patch", "verify"))
    assert decision.invalidated == ("patch",)
    nobody = failed(planned(), "inspect", cause=e.Cause.SIDE_EFFECT)
    assert replan_of(nobody).trigger.root == "inspect"


def test_the_step_that_failed_is_replaced_also_when_the_root_lies_elsewhere() -> None:
    steps = (*sound_steps(), step("guard", "inspect"))
    state = failed(completed(planned(steps), "inspect", "patch"), "guard", cause=e.Cause.SIDE_EFFECT)
    decision = replan_of(state)
    assert (decision.trigger.root, decision.trigger.affected) == ("patch", ("patch", "verify", "guard"))
    assert decision.invalidated == ("patch",)


def test_a_changed_goal_touches_the_whole_graph() -> None:
    decision = replan_of(failed(completed(planned(), "inspect", "patch"), "verify", cause=e.Cause.CHANGED_GOAL))
    assert (decision.trigger.root, decision.trigger.affected, decision.invalidated) == ("", ALL, ("inspect", "patch"))


def test_withdrawn_steps_come_after_what_they_rest_on_whatever_the_plans_order() -> None:
    inspect, patch, verify = sound_steps()
    state = completed(planned((verify, patch, inspect)), *ALL)
    decision = replan_of(judged(state, tests="failed"))
    assert decision.trigger.root == "patch" and decision.invalidated == ("patch", "verify")
    for name in reversed(decision.invalidated):
        state = reduce(state, e.StepInvalidated(name, "w", ("ev",), "tree-inspect"))


def needing(*preconditions: object) -> tuple[Step, ...]:
    inspect, patch, verify = sound_steps()
    return inspect, replace(patch, preconditions=preconditions), verify


@pytest.mark.parametrize(
    ("needs", "message"),
    [
        (FactIs("place", "b.py"), "needs place = 'b.py', but it is 'a.py': place is a.py"),
        (FactIs("weather", "fine"), "needs weather = 'fine', but it is not known"),
        (FactRecorded(("place", "weather")), "needs facts about weather, but there are none"),
        (ArtifactStored("map"), "needs the artifact 'map', but it is not stored"),
    ],
)
def test_a_broken_precondition_is_found_before_the_step_runs(needs: object, message: str) -> None:
    state = with_facts(
        planned(needing(FactIs("place", "a.py"), needs)), "inspect", fact("f1", "place", "a.py", "inspect")
    )
    decision = replan_of(state)
    assert decision.trigger.trigger == "precondition_lost"
    assert message in decision.trigger.failure.message
    assert (decision.trigger.root, decision.invalidated) == ("patch", ())
    assert reduce(state, decision.trigger).trigger == decision.trigger


def test_preconditions_that_hold_let_the_step_run() -> None:
    steps = needing(
        FactIs("place", "a.py"), FactRecorded(("place",)), ArtifactStored("inspect-artifact"), CheckPassed("tests")
    )
    state = with_facts(planned(steps), "inspect", fact("f1", "place", "a.py", "inspect"))
    assert decide(state) == d.Execute(state.step("patch"))


def test_a_false_fact_points_to_the_step_that_produced_it() -> None:
    inspect, patch, verify = needing(FactIs("place", "a.py"))
    steps = (inspect, step("look", "inspect"), replace(patch, depends_on=("look",)), verify)
    state = with_facts(planned(steps), "inspect", fact("f1", "place", "a.py", "inspect"))
    state = with_facts(state, "look", fact("f2", "place", "b.py", "look", "f1"))
    decision = replan_of(state)
    assert decision.trigger.root == "inspect"
    assert decision.trigger.affected == ("inspect", "look", "patch", "verify")
    assert decision.invalidated == ("inspect", "look")


def test_a_fact_of_a_step_that_is_gone_leaves_the_failing_step_as_the_root() -> None:
    inspect, patch, verify = needing(FactIs("place", "a.py"))
    steps = (step("old"), inspect, patch, verify)
    state = with_facts(planned(steps), "old", fact("f1", "place", "a.py", "old"))
    state = with_facts(state, "inspect", fact("f2", "place", "b.py", "inspect", "f1"))
    state = reduce(state, e.StepInvalidated("old", "w", ("ev",), "base"))
    assert replan_of(state).trigger.root == "patch"


@pytest.mark.parametrize(
    ("status", "reason", "environment"), [("error", "environment", True), ("inconclusive", "inconclusive", False)]
)
def test_a_gate_without_a_verdict_blocks(status: str, reason: str, environment: bool) -> None:
    end = conclusion_of(judged(completed(planned(), *ALL), tests=status))
    assert (end.status, end.reason, end.environment) == ("blocked", reason, environment)
    assert f"check 'tests' is {status}: it {status}" in end.message


def test_a_failing_gate_withdraws_the_patch() -> None:
    decision = replan_of(judged(completed(planned(), *ALL), tests="failed"))
    assert decision.trigger.trigger == "gate_failed"
    assert (decision.trigger.root, decision.invalidated) == ("patch", ("patch", "verify"))
    assert decision.trigger.failure.evidence == ("ev-tests",)
    without_patch = (step("a"), step("b"))
    decision = replan_of(judged(completed(planned(without_patch), "a", "b"), tests="failed"))
    assert (decision.trigger.root, decision.invalidated) == ("b", ("b",))


def test_what_waits_for_nobody_is_said() -> None:
    state = completed(planned(), "inspect")
    state = reduce(state, e.StepInvalidated("inspect", "w", ("ev",), "base"))
    end = conclusion_of(state)
    assert (end.status, end.reason) == ("blocked", "stuck")
    assert "'patch' waits for 'inspect' (superseded); 'verify' waits for 'patch' (pending)" in end.message
    alone = completed(planned((step("a"),)), "a")
    assert conclusion_of(reduce(alone, e.StepInvalidated("a", "w", ("ev",), "base"))).reason == "stuck"


def test_states_that_no_event_makes_are_still_answered() -> None:
    """A state may come from a checkpoint of another version."""
    blocked = failed(planned(), "inspect")
    assert conclusion_of(replace(blocked, records={})).reason == "stuck"
    orphan = replace(planned(), steps=(step("a", "gone"),))
    assert "'a' waits for 'gone' (unknown)" in conclusion_of(orphan).message
    assert replan_of(failed(planned(), "inspect", evidence=("nothing-known",))).trigger.root == "inspect"
    assert d.replan(planned(), failure("inspect")).trigger.affected == ALL
