from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from planexec.core import events as e
from planexec.core import state as s
from planexec.core.plan import Status
from planexec.core.reduce import IllegalEventError, reduce
from planexec.core.state import RunState
from tests.core.building import (
    CHECKS,
    accepted,
    begin,
    completed,
    evidence,
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
    trigger,
)  # fmt: skip

ALL = ("inspect", "patch", "verify")


def illegal(state: RunState, event: e.AnyEvent, why: str) -> None:
    with pytest.raises(IllegalEventError, match=why):
        reduce(state, event)


def acted(state: RunState, name: str, action: str = "act-1") -> RunState:
    return reduce(state, e.ActionStarted(name, action, "search", {"q": 1}, True))


def ended(status: str, patch: str = "") -> e.RunEnded:
    return e.RunEnded(status, "reason", "message", ("why?",), {"a": 1}, patch, False)


def due(state: RunState | None = None) -> RunState:
    return reduce(state if state is not None else planned(), trigger("inspect", "inspect"))


# --- start and plans


def test_a_run_starts_once_and_nothing_comes_before() -> None:
    state = folded(started())
    assert (state.status, state.revision, state.replans_left, state.snapshot) == ("running", 0, 2, "base")
    assert state.required_checks == CHECKS
    assert {name: check.status for name, check in state.checks.items()} == dict.fromkeys(CHECKS, "pending")
    illegal(state, started(), "has started already")
    illegal(RunState(), e.GateStarted("x"), "has not started")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"run_id": ""}, "a name and a base"), ({"snapshot": ""}, "a name and a base"),
        ({"required_checks": {}}, "nothing is required"), ({"replan_budget": -1}, "negative"), ({"corrections": -1},
         "negative"),
    ],
)  # fmt: skip
def test_a_run_that_could_prove_nothing_does_not_start(change: dict[str, Any], why: str) -> None:
    illegal(RunState(), replace(started(), **change), why)


def test_the_first_plan() -> None:
    state = planned()
    assert (state.revision, state.replans_left, state.plan_history) == (1, 2, ())
    assert state.steps == sound_steps()
    assert state.revisions[0].number == 1 and not state.revisions[0].spent_budget
    illegal(state, accepted(state, sound_steps()), "no proposal was asked for")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"revision": 2}, "does not follow"), ({"parent": 1}, "does not follow"), ({"spends_budget": True},
         "first plan does not"),
        ({"steps": ()}, "no steps"), ({"steps": (step("a"), step("a"))}, "two steps have one id"),
        ({"steps": (step("a", "b"),)}, "missing or superseded"), ({"steps": (step("a", "b"), step("b", "a"))},
         "a cycle"),
        ({"steps": (step("a", status=Status.COMPLETED),)}, "'a' is completed in the proposal"),
        ({"steps": (step("a"), superseded(step("b")))}, "'b' is superseded in the proposal"),
        ({"steps": (step("a", status=Status.RUNNING),)}, "'a' is running in the proposal"),
    ],
)  # fmt: skip
def test_plans_that_are_none(change: dict[str, Any], why: str) -> None:
    state = folded(started())
    illegal(state, replace(accepted(state, sound_steps()), **change), why)


def test_a_refused_proposal_costs_a_correction_turn_and_not_the_budget() -> None:
    state = reduce(folded(started()), e.ProposalRefused("p", ("bad",)))
    assert (state.refusals, state.findings, state.replans_left) == (1, ("bad",), 2)
    after = reduce(state, accepted(state, sound_steps()))
    assert (after.refusals, after.findings) == (0, ())
    illegal(after, e.ProposalRefused("p", ()), "no proposal was asked for")
    assert reduce(due(after), e.ProposalRefused("p", ("x",))).refusals == 1


def replanned() -> RunState:
    state = failed(completed(planned(), "inspect"), "patch")
    state = reduce(state, trigger("patch", "patch", "verify"))
    inspect, patch, verify = state.steps
    new = step("wider", "inspect")
    event = accepted(
        state, (inspect, superseded(patch), new, replace(verify, depends_on=("wider",), done_when="new")), ["patch"]
    )
    return reduce(state, event)


def test_a_replan_keeps_the_old_plan_and_its_lineage() -> None:
    state = replanned()
    assert (state.revision, state.replans_left, state.trigger) == (2, 1, None)
    assert [one.id for one in state.plan_history[0]] == list(ALL)
    assert [one.status.value for one in state.steps] == ["completed", "superseded", "pending", "pending"]
    lineage = state.revisions[1]
    assert (lineage.number, lineage.parent, lineage.superseded, lineage.spent_budget) == (2, 1, ("patch",), True)
    assert lineage.changed == {"verify": (sound_steps()[2].done_when, "new")}


def test_a_replan_cannot_do_without_budget_or_lose_a_completed_step() -> None:
    state = reduce(failed(completed(planned(budget=0), "inspect"), "patch"), trigger("patch", "patch", "verify"))
    illegal(state, accepted(state, state.steps), "budget is spent")
    illegal(state, replace(accepted(state, state.steps), spends_budget=False), "a replan spends the budget")
    state = reduce(failed(completed(planned(), "inspect"), "patch"), trigger("patch", "patch", "verify"))
    inspect, patch, _ = state.steps
    illegal(state, accepted(state, (step("new"),)), "a completed step is lost")
    illegal(state, accepted(state, (superseded(inspect), step("new")), ["inspect"]), "a completed step is lost")
    illegal(state, accepted(state, (inspect, replace(patch, status=Status.COMPLETED))), "'patch' is completed in the")
    illegal(state, accepted(state, (inspect, superseded(patch), step("new"))), "'patch' is superseded in the proposal")


# --- steps


def test_a_step_starts_when_its_dependencies_are_completed() -> None:
    state = planned()
    illegal(state, e.StepStarted("patch", 1, "base"), "dependencies of 'patch' are not completed")
    illegal(state, e.StepStarted("nothing", 1, "base"), "no step 'nothing'")
    illegal(state, e.StepStarted("inspect", 2, "base"), "the attempt does not follow")
    illegal(due(state), e.StepStarted("inspect", 1, "base"), "a replan is due")
    running = begin(state, "inspect")
    assert running.step("inspect").status is Status.RUNNING
    assert (running.record("inspect").attempt, running.record("inspect").checkpoint) == (1, "base")
    illegal(running, e.StepStarted("inspect", 2, "base"), "is running, not pending")
    assert begin(completed(state, "inspect"), "patch").step("patch").status is Status.RUNNING


def test_actions_and_observations_come_in_pairs() -> None:
    state = begin(planned(), "inspect")
    illegal(state, e.ActionStarted("inspect", "", "search", {}, True), "an action has a name")
    illegal(state, e.ActionStarted("patch", "a", "search", {}, True), "is pending, not running")
    illegal(state, e.ObservationRecorded("inspect", "act-1", "obs-1", "s", "art"), "'act-1' is not open")
    illegal(state, e.ObservationRecorded("inspect", "", "obs-1", "s", "art"), "'' is not open")
    state = acted(state, "inspect")
    illegal(state, e.ActionStarted("inspect", "act-2", "search", {}, True), "'act-1' is still open")
    illegal(state, e.ObservationRecorded("inspect", "act-2", "obs-1", "s", "art"), "'act-2' is not open")
    illegal(state, e.StepCompleted("inspect", (evidence(),), "t", {}), "'act-1' is still open")
    state = reduce(state, e.ObservationRecorded("inspect", "act-1", "obs-1", "s", "art"))
    record = state.record("inspect")
    assert (record.actions, record.observations, record.open_action, record.last_observation) == (1, 1, "", "obs-1")


def test_facts_are_added_and_corrected_but_never_overwritten() -> None:
    state = begin(planned(), "inspect")
    one = fact("f1", "place", "a.py", "inspect")
    illegal(planned(), e.FactCommitted(one), "is pending, not running")
    illegal(state, e.FactCommitted(fact("f1", "place", "a.py", "nobody")), "no step 'nobody'")
    illegal(state, e.FactCommitted(replace(one, evidence_ref="")), "a fact needs evidence")
    illegal(state, e.FactCommitted(replace(one, corrects="f0")), "'f0' is not the fact that stands")
    state = reduce(state, e.FactCommitted(one))
    illegal(state, e.FactCommitted(one), "'f1' stands already")
    illegal(state, e.FactCommitted(fact("f2", "place", "b.py", "inspect")), "must name 'f1'")
    illegal(state, e.FactCommitted(fact("f2", "other", "b.py", "inspect", "f1")), "'f1' is not the fact that stands")
    state = reduce(state, e.FactCommitted(fact("f2", "place", "b.py", "inspect", "f1")))
    illegal(state, e.FactCommitted(fact("f3", "place", "c.py", "inspect", "f1")), "'f1' is not the fact that stands")
    state = reduce(state, e.FactCommitted(fact("f3", "place", "b.py", "inspect")))
    assert [one.id for one in state.facts] == ["f1", "f2", "f3"]
    assert (found := state.fact("place")) is not None and found.id == "f3"
    assert state.fact("weather") is None


def test_a_rejected_claim_leaves_the_state_as_it_is() -> None:
    state = begin(planned(), "inspect")
    assert reduce(state, e.ClaimRejected("inspect", "obs-1", "it is so", "it is not")) is state


def test_the_regression_test_is_frozen_once() -> None:
    state = begin(planned(), "inspect")
    state = reduce(state, e.RegressionFrozen("inspect", {"t.py": "d"}, ("t.py::t",)))
    state = reduce(state, e.RegressionFrozen("inspect", {"t.py": "e"}, ("t.py::t",)))
    assert state.frozen == s.Frozen({"t.py": "e"}, ("t.py::t",), "inspect")
    done = reduce(state, e.StepCompleted("inspect", (evidence(),), "t1", {}))
    illegal(done, e.RegressionFrozen("inspect", {}, ()), "is completed, not running")
    illegal(
        begin(done, "patch"), e.RegressionFrozen("patch", {}, ()), "'inspect' has frozen the regression test already"
    )
    for event in (e.StepFailed(failure("inspect")), e.StepRecovered("inspect", "")):
        assert reduce(state, event).frozen == s.Frozen()
    assert failed(done, "patch").frozen.step == "inspect"
    assert reduce(begin(done, "patch"), e.StepRecovered("patch", "")).frozen.step == "inspect"
    assert reduce(done, e.StepInvalidated("inspect", "w", ("ev",), "base")).frozen == s.Frozen()


def test_a_step_completes_with_evidence_that_passes() -> None:
    state = begin(planned(), "inspect")
    illegal(planned(), e.StepCompleted("inspect", (evidence(),), "t", {}), "is pending, not running")
    illegal(state, e.StepCompleted("inspect", (), "t", {}), "needs evidence")
    illegal(state, e.StepCompleted("inspect", (evidence(), evidence("failed")), "t", {}), "does not pass")
    illegal(state, e.StepCompleted("inspect", (evidence("inconclusive"),), "t", {}), "does not pass")
    illegal(state, e.StepCompleted("inspect", (evidence(),), "", {}), "leaves a snapshot")
    done = reduce(state, e.StepCompleted("inspect", (evidence(),), "tree", {"map": "d"}))
    assert done.step("inspect").status is Status.COMPLETED
    assert (done.snapshot, done.artifacts, done.record("inspect").evidence) == ("tree", {"map": "d"}, (evidence(),))


def test_failure_and_retry() -> None:
    state = failed(planned(), "inspect", recoverability=e.Recoverability.RETRY)
    assert state.step("inspect").status is Status.BLOCKED
    assert (found := state.record("inspect").failure) is not None and found.code == "NO_PATCH"
    illegal(state, e.StepRetried("inspect", 3, 0.1), "the attempt does not follow")
    illegal(due(state), e.StepRetried("inspect", 2, 0.1), "a replan is due")
    illegal(failed(planned(), "inspect"), e.StepRetried("inspect", 2, 0.1), "not transient")
    illegal(planned(), e.StepFailed(failure("inspect")), "is pending, not running")
    for attempt in (2, 3):
        state = reduce(state, e.StepRetried("inspect", attempt, 0.1))
        assert state.step("inspect").status is Status.PENDING
        state = failed(state, "inspect", recoverability=e.Recoverability.RETRY)
    illegal(state, e.StepRetried("inspect", 4, 0.1), "3 attempts are enough")


def test_a_failing_step_closes_its_action() -> None:
    state = acted(begin(planned(), "inspect"), "inspect")
    assert reduce(state, e.StepFailed(failure("inspect"))).record("inspect").open_action == ""
    recovered = reduce(state, e.StepRecovered("inspect", "act-1"))
    assert recovered.step("inspect").status is Status.PENDING and recovered.record("inspect").open_action == ""
    illegal(recovered, e.StepRecovered("inspect", ""), "is pending, not running")
    assert begin(recovered, "inspect").record("inspect").attempt == 2


def test_only_a_completed_step_on_which_nothing_rests_is_withdrawn() -> None:
    state = completed(planned(), "inspect", "patch")
    illegal(state, e.StepInvalidated("verify", "w", ("ev",), "base"), "is pending, not completed")
    illegal(state, e.StepInvalidated("patch", "w", (), "base"), "needs evidence and a tree")
    illegal(state, e.StepInvalidated("patch", "w", ("ev",), ""), "needs evidence and a tree")
    illegal(state, e.StepInvalidated("inspect", "w", ("ev",), "base"), "'patch' rests on 'inspect'")
    illegal(begin(state, "verify"), e.StepInvalidated("patch", "w", ("ev",), "base"), "'verify' rests on 'patch'")
    after = reduce(state, e.StepInvalidated("patch", "w", ("ev",), "tree-inspect", ("digest",)))
    assert after.step("patch").status is Status.SUPERSEDED
    assert (after.snapshot, after.refuted) == ("tree-inspect", ("digest",))
    assert after.artifacts == {"inspect-artifact": "tree-inspect"}
    assert "inspect" in [one.id for one in after.live()] and "patch" not in [one.id for one in after.live()]
    assert reduce(after, e.StepInvalidated("inspect", "w", ("ev",), "base")).artifacts == {}


def test_an_artifact_that_another_step_stored_too_stays() -> None:
    steps = (step("a", artifacts=("x",)), step("b", artifacts=("x", "y")))
    state = completed(planned(steps), "a", "b")
    assert set(reduce(state, e.StepInvalidated("b", "w", ("ev",), "base")).artifacts) == {"x"}


def test_a_trigger() -> None:
    state = due()
    assert state.trigger is not None and state.trigger.root == "inspect"
    illegal(state, trigger("inspect", "inspect"), "due already")
    illegal(folded(started()), trigger("inspect"), "there is no plan")
    illegal(begin(planned(), "inspect"), trigger("inspect"), "a step is running")
    illegal(planned(), trigger("inspect", "inspect", "nobody"), "does not exist")


def test_forbidden_states_are_counted() -> None:
    state = begin(planned(), "inspect")
    event = e.ForbiddenEntered("inspect", "act-1", ("a.lock",))
    assert folded(event, event, state=state).breaches == 2
    illegal(planned(), event, "is pending, not running")


# --- the gate and the end


def test_the_gate_opens_on_the_tree_that_the_plan_left() -> None:
    state = completed(planned(), *ALL)
    illegal(completed(planned(), "inspect"), e.GateStarted("tree-inspect"), "a step is not completed")
    illegal(folded(started()), e.GateStarted("base"), "a step is not completed")
    illegal(state, e.GateStarted("another"), "another tree")
    illegal(due(state), e.GateStarted("tree-verify"), "a replan is due")
    illegal(state, e.CheckJudged("tests", evidence()), "the gate is not open")
    opened = reduce(state, e.GateStarted("tree-verify"))
    assert opened.gate == "tree-verify"
    illegal(opened, e.CheckJudged("beauty", evidence()), "no check 'beauty'")
    illegal(opened, e.CheckJudged("tests", evidence("pending")), "'pending' is no verdict")
    illegal(due(opened), e.CheckJudged("tests", evidence()), "the gate is not open")
    done = reduce(opened, e.CheckJudged("tests", evidence("failed")))
    assert done.checks["tests"].status == "failed"
    illegal(done, e.CheckJudged("tests", evidence()), "judged already")


def test_success_needs_every_check_every_step_and_a_patch() -> None:
    state = completed(planned(), *ALL)
    good = judged(state)
    assert reduce(good, ended("succeeded", "patch")).status == "succeeded"
    illegal(good, ended("succeeded"), "the patch is empty")
    illegal(state, ended("succeeded", "patch"), "a check has not passed")
    illegal(reduce(state, e.GateStarted("tree-verify")), ended("succeeded", "patch"), "a check has not passed")
    for status in ("failed", "inconclusive", "error"):
        illegal(judged(state, tests=status), ended("succeeded", "patch"), "a check has not passed")
    illegal(due(good), ended("succeeded", "patch"), "a replan is due")
    illegal(reduce(good, ended("waiting")), ended("succeeded", "patch"), "the run is waiting")
    withdrawn = reduce(good, e.StepInvalidated("verify", "w", ("ev",), "tree-patch"))
    assert withdrawn.gate == "" and withdrawn.checks["tests"].status == "pending"
    illegal(withdrawn, ended("succeeded", "patch"), "a check has not passed")
    illegal(planned(), ended("great"), "'great' is no way to end")


@pytest.mark.parametrize("status", ["blocked", "failed", "succeeded"])
def test_nothing_happens_after_the_end(status: str) -> None:
    state = reduce(judged(completed(planned(), *ALL)), ended(status, "patch"))
    assert (state.status, state.reason, state.questions, state.report) == (status, "reason", ("why?",), {"a": 1})
    events: list[e.AnyEvent] = [
        ended("blocked"), e.GateStarted("tree-verify"), e.ProposalRefused("p", ()), trigger("inspect"),
        e.StepInvalidated("verify", "w", ("ev",), "x"), e.RunInterrupted("SIGINT"), e.RunResumed("0"),
        e.BaseMeasured({}, 1.0),
        accepted(state, state.steps),
        e.CheckJudged("tests", evidence()), e.ClaimRejected("inspect", "o", "t", "r"), e.StepStarted("inspect", 2, "x"),
    ]  # fmt: skip
    for event in events:
        illegal(state, event, f"the run is {status}")


def test_a_waiting_run_may_still_be_blocked_and_an_interrupted_one_goes_on() -> None:
    waiting = reduce(planned(), ended("waiting"))
    assert reduce(waiting, ended("failed")).status == "failed"
    interrupted = reduce(planned(), e.RunInterrupted("SIGTERM"))
    assert (interrupted.status, interrupted.reason) == ("running", "interrupted by SIGTERM")
    assert begin(interrupted, "inspect").step("inspect").status is Status.RUNNING
    assert reduce(interrupted, e.RunResumed("0")) == planned()


def test_how_the_suite_does_on_the_base_is_kept() -> None:
    measured = reduce(planned(), e.BaseMeasured({"passed": 3}, 1.5, ("a::b",), "late"))
    assert measured.baseline == {"outcomes": {"passed": 3}, "seconds": 1.5, "flaky": ["a::b"], "problem": "late"}


def test_only_a_proven_patch_is_applied_and_one_apply_at_a_time() -> None:
    good = judged(completed(planned(), *ALL))
    illegal(good, e.ApplyIntended("c", "root"), "only a proven patch")
    illegal(reduce(good, ended("blocked")), e.ApplyIntended("c", "root"), "only a proven patch")
    state = reduce(good, ended("succeeded", "patch"))
    illegal(state, e.ApplyEnded("finished"), "no apply is under way")
    intended = reduce(state, e.ApplyIntended("c", "root"))
    assert (intended.apply, intended.apply_changes, intended.apply_root) == ("intended", "c", "root")
    illegal(intended, e.ApplyIntended("c", "root"), "under way")
    illegal(intended, e.ApplyEnded("half"), "no way to end")
    finished = reduce(intended, e.ApplyEnded("finished"))
    assert reduce(finished, e.ApplyIntended("d", "root")).apply == "intended"  # a person may have taken it back
    assert reduce(reduce(intended, e.ApplyEnded("undone")), e.ApplyIntended("d", "root")).apply == "intended"


@pytest.mark.parametrize(("outcome", "apply"), [("finished", "reversed"), ("undone", "finished")])
def test_an_applied_patch_is_taken_back_and_may_be_applied_again(outcome: str, apply: str) -> None:
    state = reduce(judged(completed(planned(), *ALL)), ended("succeeded", "patch"))
    for event in (e.ApplyIntended("c", "root"), e.ApplyEnded("finished"), e.ApplyIntended("d", "root", True)):
        state = reduce(state, event)
    assert (state.apply, state.apply_reverse) == ("intended", True)
    state = reduce(state, e.ApplyEnded(outcome))
    assert state.apply == apply
    again = reduce(reduce(state, e.ApplyIntended("c", "root")), e.ApplyEnded("finished"))
    assert (again.apply, again.apply_reverse) == ("finished", False)


def test_only_a_proven_patch_becomes_a_commit() -> None:
    good = judged(completed(planned(), *ALL))
    illegal(good, e.BranchIntended("mend", "c0"), "only a proven patch")
    state = reduce(good, ended("succeeded", "patch"))
    illegal(state, e.BranchEnded("finished"), "no branch is being made")
    illegal(state, e.BranchIntended("mend", ""), "a name and a commit")
    intended = reduce(state, e.BranchIntended("mend", "c0"))
    assert (intended.branch, intended.branch_commit, intended.branch_made) == ("mend", "c0", "intended")
    illegal(intended, e.BranchIntended("other", "c1"), "a branch is being made")
    illegal(intended, e.BranchEnded("half"), "no way to end")
    undone = reduce(intended, e.BranchEnded("undone"))
    assert reduce(undone, e.BranchIntended("other", "c1")).branch == "other"


def test_looking_things_up() -> None:
    state = replanned()
    assert state.step("wider").id == "wider"
    with pytest.raises(KeyError):
        state.step("nobody")
    assert state.record("nobody") == s.StepRecord()
    assert [one.id for one in state.live()] == ["inspect", "wider", "verify"]


def test_a_state_survives_json() -> None:
    for state in (RunState(), replanned(), due(replanned()), judged(completed(planned(), *ALL), tests="failed")):
        assert msgspec.json.decode(msgspec.json.encode(state), type=RunState) == state
