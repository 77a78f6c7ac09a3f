"""What comes next: ``decide(state) -> decision``, pure (the third seed's controller).

It compares what each ready step expects with the facts, and chooses: go on, retry, roll back, replan, gate, or stop.
"""

from __future__ import annotations

from dataclasses import dataclass

from planexec.core import events as e
from planexec.core import state as s
from planexec.core.plan import (
    ArtifactStored,
    FactIs,
    FactRecorded,
    Predicate,
    Status,
    Step,
    affected,
    ready,
    topological,
)

MAX_ATTEMPTS = s.MAX_ATTEMPTS

BACKOFF = (0.2, 1.0)
"""Seconds before the second and the third attempt."""


@dataclass(frozen=True)
class Propose:
    """Ask the planner for a plan: the first one, or the next one where ``trigger`` is set."""

    trigger: e.ReplanTriggered | None = None


@dataclass(frozen=True)
class Execute:
    """Run this step."""

    step: Step


@dataclass(frozen=True)
class Recover:
    """A process died within this step: back to its checkpoint."""

    step: Step


@dataclass(frozen=True)
class Retry:
    """The same step again, after ``delay`` seconds."""

    step: Step
    delay: float


@dataclass(frozen=True)
class Replan:
    """Plan and world disagree: the steps in ``invalidated`` are withdrawn, then the planner is asked."""

    trigger: e.ReplanTriggered
    invalidated: tuple[str, ...]


@dataclass(frozen=True)
class Gate:
    """Run every required check again, on a clean tree."""


@dataclass(frozen=True)
class Conclude:
    """End the run."""

    status: str
    reason: str
    message: str
    questions: tuple[str, ...] = ()
    environment: bool = False


@dataclass(frozen=True)
class Stop:
    """Nothing is left to do: the run has ended."""


Decision = Propose | Execute | Recover | Retry | Replan | Gate | Conclude | Stop


def decide(state: s.RunState) -> Decision:
    """The one next thing to do."""
    if state.status != s.RUNNING:
        return Stop()
    if state.breaches >= 2:
        return Conclude(s.FAILED, "safety", "a forbidden state was entered twice")
    if state.revision == 0 or state.trigger is not None:
        return _propose(state)
    running = [step for step in state.steps if step.status is Status.RUNNING]
    if running:
        return Recover(running[0])
    blocked = [step for step in state.steps if step.status is Status.BLOCKED]
    if blocked:
        return _after_failure(state, blocked[0])
    startable = ready(state.steps)
    for step in startable:
        if broken := broken_precondition(state, step):
            return replan(state, broken)
    if startable:
        return Execute(startable[0])
    if not state.live() or any(step.status is Status.PENDING for step in state.steps):
        return Conclude(s.BLOCKED, "stuck", diagnosis(state))
    return _at_gate(state)


def _propose(state: s.RunState) -> Decision:
    if state.refusals > state.corrections:
        findings = "; ".join(state.findings)
        return Conclude(s.BLOCKED, "no_valid_plan", f"the planner's proposals break the rules: {findings}")
    if state.trigger is None:
        return Propose()
    failure = state.trigger.failure
    if state.replans_left <= 0:
        question = failure.question or "Raise limits.replan_budget, or change the contract or the code?"
        return Conclude(s.BLOCKED, "replan_budget", f"the replan budget is spent: {failure.message}", (question,))
    return Propose(state.trigger)


def _after_failure(state: s.RunState, step: Step) -> Decision:
    record = state.record(step.id)
    failure = record.failure
    if failure is None:
        return Conclude(s.BLOCKED, "stuck", f"step '{step.id}' is blocked without a reason")
    if failure.recoverability is e.Recoverability.RETRY and record.attempt < MAX_ATTEMPTS:
        return Retry(step, BACKOFF[min(record.attempt, len(BACKOFF)) - 1])
    if failure.recoverability is e.Recoverability.REPLAN:
        return replan(state, failure)
    questions = (failure.question,) if failure.question else ()
    status = s.WAITING if failure.recoverability is e.Recoverability.WAIT else s.BLOCKED
    reason = "environment" if failure.environment else failure.code.lower()
    return Conclude(status, reason, failure.message, questions, failure.environment)


def broken_precondition(state: s.RunState, step: Step) -> e.Failure | None:
    """The failure that a ready step would start from, when something that it needs is missing or otherwise."""
    for predicate in step.preconditions:
        objection, evidence = _unmet(state, predicate)
        if objection:
            return e.Failure(
                step=step.id,
                attempt=state.record(step.id).attempt,
                failure_class=e.FailureClass.PLAN,
                cause=e.Cause.FALSE_FACT,
                code="PRECONDITION_LOST",
                message=f"step '{step.id}' needs {objection}",
                recoverability=e.Recoverability.REPLAN,
                evidence=evidence,
            )
    return None


def _unmet(state: s.RunState, predicate: Predicate) -> tuple[str, tuple[str, ...]]:
    """What is missing, with the evidence of what stands instead; predicates that need a verifier are not looked at
    here.
    """
    match predicate:
        case FactIs(subject, value):
            fact = state.fact(subject)
            if fact is None:
                return f"{subject} = '{value}', but it is not known", ()
            if fact.value != value:
                return f"{subject} = '{value}', but it is '{fact.value}': {fact.claim}", (fact.id, fact.evidence_ref)
        case FactRecorded(subjects):
            missing = [subject for subject in subjects if state.fact(subject) is None]
            if missing:
                return f"facts about {', '.join(missing)}, but there are none", ()
        case ArtifactStored(name) if name not in state.artifacts:
            return f"the artifact '{name}', but it is not stored", ()
    return "", ()


def replan(state: s.RunState, failure: e.Failure) -> Replan:
    """Find the root and what hangs on it (R20), and which completed steps have to be withdrawn, each after what it
    rests on.

    The step that failed is always replaced, also where the root lies elsewhere: kept, it would only fail again.
    """
    root = root_of(state, failure)
    roots = {root} | {
        step.id for step in state.live() if step.id == failure.step and step.status is not Status.COMPLETED
    }
    hit = affected(state.steps, roots) if root else {step.id for step in state.live()}
    live = [step for step in state.live() if step.id in hit]
    trigger = e.ReplanTriggered(
        trigger=failure.code.lower(), failure=failure, root=root, affected=tuple(step.id for step in live)
    )
    return Replan(trigger, tuple(step.id for step in topological(live) if step.status is Status.COMPLETED))


def root_of(state: s.RunState, failure: e.Failure) -> str:
    """The step whose result is wrong; empty when the goal itself changed, which touches the whole graph."""
    if failure.cause is e.Cause.CHANGED_GOAL:
        return ""
    if failure.cause is e.Cause.SIDE_EFFECT:
        producers = [step.id for step in state.live() if "patch" in step.artifacts and step.status is Status.COMPLETED]
        return producers[-1] if producers else failure.step
    if failure.cause is e.Cause.FALSE_FACT:
        by_id = {fact.id: fact for fact in state.facts}
        corrections = [by_id[name] for name in failure.evidence if name in by_id and by_id[name].corrects]
        live = {step.id for step in state.live()}
        producers = [by_id[fact.corrects].step for fact in corrections if by_id[fact.corrects].step in live]
        if producers:
            return producers[0]
    return failure.step


def _at_gate(state: s.RunState) -> Decision:
    judged = [check for check in state.checks.values() if check.status != "pending"]
    if not state.gate or len(judged) < len(state.checks):
        return Gate()
    failing = {name: check for name, check in state.checks.items() if check.status != s.PASSED}
    if not failing:
        return Conclude(s.SUCCEEDED, "proved", "every required check passed on a clean tree")
    name, check = next(iter(failing.items()))
    summary = check.evidence.summary if check.evidence else ""
    if check.status != "failed":
        environment = check.status == "error"
        reason = "environment" if environment else "inconclusive"
        return Conclude(s.BLOCKED, reason, f"check '{name}' is {check.status}: {summary}", environment=environment)
    live = state.live()
    failure = e.Failure(
        step=live[-1].id,
        attempt=1,
        failure_class=e.FailureClass.TASK,
        cause=e.Cause.SIDE_EFFECT,
        code="GATE_FAILED",
        message=f"check '{name}' failed at the gate: {summary}",
        recoverability=e.Recoverability.REPLAN,
        evidence=(check.evidence.id,) if check.evidence else (),
    )
    return replan(state, failure)


def diagnosis(state: s.RunState) -> str:
    """Why nothing is ready and nothing is running."""
    by_id = {step.id: step for step in state.steps}
    waits = []
    for step in state.steps:
        if step.status is Status.PENDING:
            missing = [
                f"'{parent}' ({by_id[parent].status.value})" if parent in by_id else f"'{parent}' (unknown)"
                for parent in step.depends_on
                if parent not in by_id or by_id[parent].status is not Status.COMPLETED
            ]
            waits.append(f"'{step.id}' waits for {', '.join(missing)}")
    return f"nothing is ready and nothing is running: {'; '.join(waits)}"
