"""The only way in which a run's state changes: ``reduce(state, event) -> state`` (R13).

``reduce`` refuses what may not happen (IllegalEventError), so a state is legal whatever the order in which events
arrive: nothing starts before its dependencies, nothing completes that did not run, and ``succeeded`` needs every
check passed at the gate (L1, R25).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from planexec.core import events as e
from planexec.core.plan import Status, Step, cycle, ready
from planexec.core.state import (
    BLOCKED,
    FAILED,
    MAX_ATTEMPTS,
    PASSED,
    RUNNING,
    SUCCEEDED,
    VERDICTS,
    WAITING,
    CheckState,
    Frozen,
    Revision,
    RunState,
    StepRecord,
)
from planexec.core.usage import RAISABLE, Spent


class IllegalEventError(ValueError):
    """An event that may not happen in this state."""


def reduce(state: RunState, event: e.AnyEvent) -> RunState:
    """The state after ``event``. Raises IllegalEventError when it may not happen."""
    if not isinstance(event, e.RunStarted):
        _need(bool(state.run_id), "the run has not started")
    return _REDUCERS[type(event)](state, event)


def _need(condition: bool, why: str) -> None:
    if not condition:
        raise IllegalEventError(why)


def _running(state: RunState) -> None:
    _need(state.status == RUNNING, f"the run is {state.status}")


def _step(state: RunState, name: str, status: Status) -> Step:
    _running(state)
    found = next((step for step in state.steps if step.id == name), None)
    if found is None:
        raise IllegalEventError(f"no step '{name}'")
    _need(found.status is status, f"step '{name}' is {found.status.value}, not {status.value}")
    return found


def _with_status(state: RunState, name: str, status: Status) -> tuple[Step, ...]:
    return tuple(replace(step, status=status) if step.id == name else step for step in state.steps)


def _with_record(state: RunState, name: str, **changes: Any) -> dict[str, StepRecord]:
    return {**state.records, name: replace(state.record(name), **changes)}


def _run_started(state: RunState, event: e.RunStarted) -> RunState:
    _need(not state.run_id, "the run has started already")
    _need(bool(event.run_id and event.snapshot), "a run has a name and a base")
    _need(bool(event.required_checks), "nothing is required: nothing could be proved")
    _need(event.replan_budget >= 0 and event.corrections >= 0, "a budget is negative")
    return RunState(
        run_id=event.run_id,
        goal=event.goal,
        contract=event.contract,
        contract_digest=event.contract_digest,
        contract_files=event.contract_files,
        scope=event.scope,
        replans_left=event.replan_budget,
        corrections=event.corrections,
        actions_per_step=event.actions_per_step,
        required_checks=event.required_checks,
        checks={name: CheckState(verifier) for name, verifier in event.required_checks.items()},
        status=RUNNING,
        base=event.base,
        settings=event.settings,
        base_snapshot=event.snapshot,
        snapshot=event.snapshot,
        dirty=event.dirty,
    )


def _proposal_refused(state: RunState, event: e.ProposalRefused) -> RunState:
    _running(state)
    _need(state.revision == 0 or state.trigger is not None, "no proposal was asked for")
    return replace(state, refusals=state.refusals + 1, findings=event.findings)


def _plan_accepted(state: RunState, event: e.PlanAccepted) -> RunState:
    _running(state)
    _need(state.revision == 0 or state.trigger is not None, "no proposal was asked for")
    _need(event.revision == state.revision + 1 and event.parent == state.revision, "the revision does not follow")
    _need(not event.spends_budget or state.replans_left > 0, "the replan budget is spent")
    _need(event.spends_budget == (state.revision > 0), "a replan spends the budget, the first plan does not")
    _graph(event.steps)
    before = {step.id: step for step in state.steps}
    for step in event.steps:
        old = before.get(step.id)
        kept = old is not None and step == old
        replaced = old is not None and step == replace(old, status=Status.SUPERSEDED) and step.id in event.superseded
        new = step.status is Status.PENDING
        _need(kept or replaced or new, f"step '{step.id}' is {step.status.value} in the proposal")
    kept_done = {step.id for step in event.steps if step.status is Status.COMPLETED}
    _need({s.id for s in state.steps if s.status is Status.COMPLETED} <= kept_done, "a completed step is lost")
    changed = {
        step.id: (before[step.id].done_when, step.done_when)
        for step in event.steps
        if step.id in before and before[step.id].done_when != step.done_when
    }
    lineage = Revision(
        event.revision, event.parent, event.reason, event.evidence, event.preserved, event.superseded, event.new,
        event.planner, event.mechanism, event.spends_budget, changed,
    )  # fmt: skip
    return replace(
        state,
        revision=event.revision,
        replans_left=state.replans_left - int(event.spends_budget),
        plan_history=(*state.plan_history, state.steps) if state.revision else state.plan_history,
        steps=event.steps,
        revisions=(*state.revisions, lineage),
        trigger=None,
        refusals=0,
        findings=(),
        gate="",
        checks={name: CheckState(check.verifier) for name, check in state.checks.items()},
    )


def _graph(steps: tuple[Step, ...]) -> None:
    """A plan is a graph without cycles over its own live steps: what ``rules`` explains to the planner is a must
    here.
    """
    _need(len({step.id for step in steps}) == len(steps), "two steps have one id")
    live = {step.id: step for step in steps if step.status is not Status.SUPERSEDED}
    _need(bool(live), "the plan has no steps")
    _need(all(live.keys() >= set(step.depends_on) for step in live.values()), "a dependency is missing or superseded")
    _need(not cycle(list(live.values())), "the dependencies form a cycle")


def _step_started(state: RunState, event: e.StepStarted) -> RunState:
    _step(state, event.step, Status.PENDING)
    _need(state.trigger is None, "a replan is due")
    _need(event.attempt == state.record(event.step).attempt + 1, "the attempt does not follow")
    _need(
        event.step in {step.id for step in ready(state.steps)}, f"the dependencies of '{event.step}' are not completed"
    )
    records = _with_record(
        state, event.step, attempt=event.attempt, checkpoint=event.checkpoint, failure=None, open_action="", evidence=()
    )
    return replace(state, steps=_with_status(state, event.step, Status.RUNNING), records=records)


def _action_started(state: RunState, event: e.ActionStarted) -> RunState:
    _step(state, event.step, Status.RUNNING)
    record = state.record(event.step)
    _need(bool(event.action), "an action has a name")
    _need(not record.open_action, f"action '{record.open_action}' is still open")
    return replace(state, records=_with_record(state, event.step, actions=record.actions + 1, open_action=event.action))


def _observation_recorded(state: RunState, event: e.ObservationRecorded) -> RunState:
    _step(state, event.step, Status.RUNNING)
    record = state.record(event.step)
    _need(bool(event.action) and record.open_action == event.action, f"action '{event.action}' is not open")
    records = _with_record(
        state,
        event.step,
        observations=record.observations + 1,
        open_action="",
        last_observation=event.observation,
    )
    return replace(state, records=records)


def _fact_committed(state: RunState, event: e.FactCommitted) -> RunState:
    _step(state, event.fact.step, Status.RUNNING)
    _need(bool(event.fact.evidence_ref), "a fact needs evidence")
    _need(all(fact.id != event.fact.id for fact in state.facts), f"fact '{event.fact.id}' stands already")
    known = state.fact(event.fact.subject)
    corrects = event.fact.corrects
    _need(not corrects or (known is not None and corrects == known.id), f"'{corrects}' is not the fact that stands")
    if known is not None and known.value != event.fact.value:
        _need(corrects == known.id, f"'{event.fact.subject}' stands otherwise; a correction must name '{known.id}'")
    return replace(state, facts=(*state.facts, event.fact))


def _claim_rejected(state: RunState, event: e.ClaimRejected) -> RunState:
    _running(state)
    return state


def _regression_frozen(state: RunState, event: e.RegressionFrozen) -> RunState:
    _step(state, event.step, Status.RUNNING)
    _need(state.frozen.step in {"", event.step}, f"'{state.frozen.step}' has frozen the regression test already")
    return replace(state, frozen=Frozen(event.files, event.ids, event.step))


def _step_completed(state: RunState, event: e.StepCompleted) -> RunState:
    _step(state, event.step, Status.RUNNING)
    record = state.record(event.step)
    _need(not record.open_action, f"action '{record.open_action}' is still open")
    _need(bool(event.snapshot), "a completed step leaves a snapshot")
    _need(bool(event.evidence), "a completed step needs evidence")
    _need(all(each.status == PASSED for each in event.evidence), "the evidence does not pass")
    return replace(
        state,
        steps=_with_status(state, event.step, Status.COMPLETED),
        records=_with_record(state, event.step, evidence=event.evidence, snapshot=event.snapshot),
        snapshot=event.snapshot,
        artifacts={**state.artifacts, **event.artifacts},
    )


def _step_failed(state: RunState, event: e.StepFailed) -> RunState:
    failure = event.failure
    _step(state, failure.step, Status.RUNNING)
    frozen = Frozen() if state.frozen.step == failure.step else state.frozen
    records = _with_record(state, failure.step, failure=failure, evidence=event.evidence, open_action="")
    return replace(state, steps=_with_status(state, failure.step, Status.BLOCKED), records=records, frozen=frozen)


def _step_retried(state: RunState, event: e.StepRetried) -> RunState:
    _step(state, event.step, Status.BLOCKED)
    failure = state.record(event.step).failure
    _need(failure is not None and failure.recoverability is e.Recoverability.RETRY, "the failure is not transient")
    attempt = state.record(event.step).attempt
    _need(state.trigger is None, "a replan is due")
    _need(event.attempt == attempt + 1, "the attempt does not follow")
    _need(attempt < MAX_ATTEMPTS, f"{attempt} attempts are enough")
    return replace(state, steps=_with_status(state, event.step, Status.PENDING))


def _step_recovered(state: RunState, event: e.StepRecovered) -> RunState:
    _step(state, event.step, Status.RUNNING)
    frozen = Frozen() if state.frozen.step == event.step else state.frozen
    return replace(
        state,
        steps=_with_status(state, event.step, Status.PENDING),
        records=_with_record(state, event.step, open_action=""),
        frozen=frozen,
    )


def _step_invalidated(state: RunState, event: e.StepInvalidated) -> RunState:
    step = _step(state, event.step, Status.COMPLETED)
    _need(bool(event.evidence and event.checkpoint), "an invalidation needs evidence and a tree to go back to")
    resting = [s.id for s in state.live() if step.id in s.depends_on and s.status in {Status.COMPLETED, Status.RUNNING}]
    _need(not resting, f"'{', '.join(resting)}' rests on '{step.id}' and must be withdrawn first")
    frozen = Frozen() if state.frozen.step == event.step else state.frozen
    return replace(
        state,
        steps=_with_status(state, event.step, Status.SUPERSEDED),
        snapshot=event.checkpoint,
        refuted=(*state.refuted, *event.refuted),
        frozen=frozen,
        artifacts=_without(state, step),
        gate="",
        checks={name: CheckState(check.verifier) for name, check in state.checks.items()},
    )


def _without(state: RunState, step: Step) -> dict[str, str]:
    """The stored artifacts that do not come from ``step`` alone."""
    others = {name for s in state.live() if s.id != step.id and s.status is Status.COMPLETED for name in s.artifacts}
    return {name: digest for name, digest in state.artifacts.items() if name not in step.artifacts or name in others}


def _replan_triggered(state: RunState, event: e.ReplanTriggered) -> RunState:
    _running(state)
    _need(state.trigger is None, "a replan is due already")
    _need(state.revision > 0, "there is no plan")
    _need(all(step.status is not Status.RUNNING for step in state.steps), "a step is running")
    _need({step.id for step in state.steps} >= {*event.affected}, "a step is affected that does not exist")
    return replace(state, trigger=event, refusals=0, findings=())


def _forbidden_entered(state: RunState, event: e.ForbiddenEntered) -> RunState:
    _step(state, event.step, Status.RUNNING)
    return replace(state, breaches=state.breaches + 1)


def _gate_started(state: RunState, event: e.GateStarted) -> RunState:
    _running(state)
    _need(state.trigger is None, "a replan is due")
    _need(_all_completed(state), "a step is not completed")
    _need(event.snapshot == state.snapshot, "the gate judges another tree than the plan left")
    checks = {name: CheckState(check.verifier) for name, check in state.checks.items()}
    return replace(state, gate=event.snapshot, checks=checks)


def _all_completed(state: RunState) -> bool:
    live = state.live()
    return bool(live) and all(step.status is Status.COMPLETED for step in live)


def _check_judged(state: RunState, event: e.CheckJudged) -> RunState:
    _running(state)
    _need(bool(state.gate) and state.trigger is None, "the gate is not open")
    check = state.checks.get(event.check)
    if check is None:
        raise IllegalEventError(f"no check '{event.check}'")
    _need(check.status == "pending", f"check '{event.check}' is judged already")
    _need(event.evidence.status in VERDICTS, f"'{event.evidence.status}' is no verdict")
    judged = replace(check, status=event.evidence.status, evidence=event.evidence)
    return replace(state, checks={**state.checks, event.check: judged})


def _run_ended(state: RunState, event: e.RunEnded) -> RunState:
    _need(state.status in {RUNNING, WAITING}, f"the run is {state.status}")
    _need(event.status in {SUCCEEDED, BLOCKED, FAILED, WAITING}, f"'{event.status}' is no way to end")
    if event.status == SUCCEEDED:
        _running(state)
        _need(state.trigger is None, "a replan is due")
        _need(
            bool(state.gate) and all(check.status == PASSED for check in state.checks.values()),
            "a check has not passed",
        )
        _need(_all_completed(state), "a step is not completed")
        _need(bool(event.patch), "the patch is empty")
    return replace(
        state,
        status=event.status,
        reason=event.reason,
        message=event.message,
        questions=event.questions,
        report=event.report,
        patch=event.patch,
        environment=event.environment,
    )


def _run_interrupted(state: RunState, event: e.RunInterrupted) -> RunState:
    _running(state)
    return replace(state, reason=f"interrupted by {event.signal}")


def _base_measured(state: RunState, event: e.BaseMeasured) -> RunState:
    _running(state)
    told = {"outcomes": event.outcomes, "seconds": event.seconds, "flaky": list(event.flaky), "problem": event.problem}
    return replace(state, baseline=told)


def _model_called(state: RunState, event: e.ModelCalled) -> RunState:
    _running(state)
    models = state.usage.get(event.step, {})
    spent = models.get(event.model, Spent()).plus(event.usage, event.cost, event.seconds)
    return replace(state, usage={**state.usage, event.step: {**models, event.model: spent}})


def _limit_raised(state: RunState, event: e.LimitRaised) -> RunState:
    _need(state.status == BLOCKED and RAISABLE.get(state.reason) == event.limit, f"'{event.limit}' did not end the run")
    _need(event.value > 0, "a limit is positive")
    settings = {**state.settings, event.limit: f"{event.value:g}"}
    return replace(state, status=RUNNING, reason="", message="", questions=(), report={}, settings=settings)


def _run_resumed(state: RunState, event: e.RunResumed) -> RunState:
    _running(state)
    return replace(state, reason="")


def _apply_intended(state: RunState, event: e.ApplyIntended) -> RunState:
    """Whether the tree holds the patch is seen in the tree, which a person may have changed: any order will do."""
    _need(state.status == SUCCEEDED, "only a proven patch is applied")
    _need(state.apply != "intended", "an apply is under way")
    return replace(
        state, apply="intended", apply_changes=event.changes, apply_root=event.root, apply_reverse=event.reverse
    )


def _apply_ended(state: RunState, event: e.ApplyEnded) -> RunState:
    _need(state.apply == "intended", "no apply is under way")
    _need(event.outcome in {"finished", "undone"}, f"'{event.outcome}' is no way to end")
    if state.apply_reverse:
        return replace(state, apply="reversed" if event.outcome == "finished" else "finished")
    return replace(state, apply=event.outcome)


def _branch_intended(state: RunState, event: e.BranchIntended) -> RunState:
    _need(state.status == SUCCEEDED, "only a proven patch becomes a commit")
    _need(bool(event.branch and event.commit), "a branch has a name and a commit")
    _need(state.branch_made != "intended", "a branch is being made")
    return replace(state, branch=event.branch, branch_commit=event.commit, branch_made="intended")


def _branch_ended(state: RunState, event: e.BranchEnded) -> RunState:
    _need(state.branch_made == "intended", "no branch is being made")
    _need(event.outcome in {"finished", "undone"}, f"'{event.outcome}' is no way to end")
    return replace(state, branch_made=event.outcome)


_REDUCERS: dict[type[e.Event], Callable[[RunState, Any], RunState]] = {
    e.RunStarted: _run_started,
    e.ProposalRefused: _proposal_refused,
    e.PlanAccepted: _plan_accepted,
    e.StepStarted: _step_started,
    e.ActionStarted: _action_started,
    e.ObservationRecorded: _observation_recorded,
    e.FactCommitted: _fact_committed,
    e.ClaimRejected: _claim_rejected,
    e.RegressionFrozen: _regression_frozen,
    e.StepCompleted: _step_completed,
    e.StepFailed: _step_failed,
    e.StepRetried: _step_retried,
    e.StepRecovered: _step_recovered,
    e.StepInvalidated: _step_invalidated,
    e.ReplanTriggered: _replan_triggered,
    e.ForbiddenEntered: _forbidden_entered,
    e.GateStarted: _gate_started,
    e.CheckJudged: _check_judged,
    e.RunEnded: _run_ended,
    e.ModelCalled: _model_called,
    e.LimitRaised: _limit_raised,
    e.RunInterrupted: _run_interrupted,
    e.RunResumed: _run_resumed,
    e.BaseMeasured: _base_measured,
    e.ApplyIntended: _apply_intended,
    e.ApplyEnded: _apply_ended,
    e.BranchIntended: _branch_intended,
    e.BranchEnded: _branch_ended,
}
