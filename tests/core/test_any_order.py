"""Whatever the order in which events arrive, a state is legal, and ``decide`` has an answer that can be carried out."""

from __future__ import annotations

import random
from collections.abc import Callable

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from planexec.core import decide as d
from planexec.core import events as e
from planexec.core import plan as p
from planexec.core import state as s
from planexec.core.decide import decide
from planexec.core.plan import Status, Step
from planexec.core.reduce import IllegalEventError, reduce
from planexec.core.state import RunState
from planexec.core.usage import RAISABLE, Usage
from tests.core.building import (
    CHECKS,
    accepted,
    begin,
    completed,
    evidence,
    failed,
    failure,
    judged,
    planned,
    started,
    step,
)

POOL = ("a", "b", "c", "d", "ghost")
SUBJECTS = ("place", "cause")
ENDED = {"blocked", "failed", "succeeded"}
LONGEST = 600
"""More decisions than any run within these budgets can take."""


# --- what may arrive: events that fit, nearly fit, or do not fit at all


def some_step(rng: random.Random, state: RunState) -> str:
    """Mostly a step of the plan."""
    known = [one.id for one in state.steps]
    return rng.choice(known) if known and rng.random() < 0.85 else rng.choice(POOL)


def some_plan(rng: random.Random, prefix: str = "") -> tuple[Step, ...]:
    """Mostly a graph without cycles, in any order; now and then with a cycle, a ghost or a forged status."""
    names = [f"{prefix}{name}" for name in POOL[: rng.randint(1, 4)]]
    steps = []
    for number, name in enumerate(names):
        pool = names[:number] if rng.random() < 0.95 else [*names, "ghost"]
        after = rng.sample(pool, min(len(pool), rng.randint(0, 2)))
        artifacts = ("patch",) if rng.random() < 0.3 else (f"{name}-artifact",)
        needs = rng.choice([(), (p.FactIs("place", "x"),), (p.ArtifactStored("patch"),), (p.FactRecorded(("cause",)),)])
        made = step(name, *after, artifacts=artifacts, preconditions=needs if rng.random() < 0.3 else ())
        steps.append(made if rng.random() < 0.97 else replace(made, status=rng.choice(list(Status))))
    rng.shuffle(steps)
    return tuple(steps)


def some_failure(rng: random.Random, state: RunState, name: str) -> e.Failure:
    known = [one.id for one in state.facts]
    return failure(
        name,
        cause=rng.choice(list(e.Cause)),
        recoverability=rng.choice([*e.Recoverability, e.Recoverability.REPLAN, e.Recoverability.RETRY]),
        evidence=tuple(rng.sample(known, min(len(known), 1))),
        question=rng.choice(["", "Which one?"]),
    )


def some_fact(rng: random.Random, state: RunState, name: str) -> e.Fact:
    subject = rng.choice(SUBJECTS)
    known = state.fact(subject)
    corrects = known.id if known and rng.random() < 0.7 else rng.choice(["", "", "fact-1", "nothing"])
    number = len(state.facts) + (1 if rng.random() < 0.9 else 0)
    return e.Fact(
        f"fact-{number}", "claim", rng.choice(["obs", "obs", "obs", ""]), subject, rng.choice("xy"), (), name, corrects
    )


def some_evidence(rng: random.Random) -> e.Evidence:
    return evidence(rng.choice(["passed"] * 8 + ["failed", "inconclusive", "error", "pending", "splendid"]))


def some_replan(rng: random.Random, state: RunState) -> e.PlanAccepted:
    kept = [one for one in state.steps if rng.random() < 0.9]
    kept = [replace(one, status=rng.choice(list(Status))) if rng.random() < 0.1 else one for one in kept]
    steps = tuple({one.id: one for one in (*some_plan(rng, f"r{state.revision}"), *kept)}.values())
    event = accepted(state, steps, [one.id for one in kept])
    if rng.random() < 0.1:
        event = replace(event, revision=event.revision + rng.choice([-1, 1]))
    return replace(event, spends_budget=not event.spends_budget) if rng.random() < 0.1 else event


def some_event(rng: random.Random, state: RunState) -> e.AnyEvent:
    """Any of the events, about this state or about none."""
    name = some_step(rng, state)
    record = state.record(name)
    tree = rng.choice([state.snapshot, state.snapshot, "tree-1", "tree-2", ""])
    attempt = record.attempt + rng.choice([1, 1, 1, 0, 2])
    makers: list[Callable[[], e.AnyEvent]] = [
        lambda: started(rng.randint(-1, 2), rng.randint(0, 2), rng.choice([CHECKS, {}])),
        lambda: e.ProposalRefused("p", ("bad",)),
        lambda: accepted(state, some_plan(rng)),
        lambda: some_replan(rng, state),
        lambda: e.StepStarted(name, attempt, tree),
        lambda: e.ActionStarted(name, rng.choice(["act-1", "act-2", ""]), "search", {}, True),
        lambda: e.ObservationRecorded(name, rng.choice([record.open_action, "act-2"]), "obs", "s", "art"),
        lambda: e.FactCommitted(some_fact(rng, state, name)),
        lambda: e.ClaimRejected(name, "obs", "t", "r"),
        lambda: e.RegressionFrozen(name, {"t.py": rng.choice("xy")}, ("t",)),
        lambda: e.StepCompleted(name, tuple(some_evidence(rng) for _ in range(rng.randint(0, 2))), tree,
         {"patch": tree}),
        lambda: e.StepFailed(some_failure(rng, state, name)),
        lambda: e.StepRetried(name, attempt, 0.1),
        lambda: e.StepRecovered(name, record.open_action),
        lambda: e.StepInvalidated(name, "w", rng.choice([("ev",), ("ev",), ()]), tree),
        lambda: e.ReplanTriggered("t", some_failure(rng, state, name), name, (name,)),
        lambda: e.ForbiddenEntered(name, "act", ("x",)) if rng.random() < 0.2 else e.ClaimRejected(name, "o", "t", "r"),
        lambda: e.GateStarted(tree),
        lambda: e.CheckJudged(rng.choice([*CHECKS, "beauty"]), some_evidence(rng)),
        lambda: e.RunEnded("succeeded", "r", "m", patch=rng.choice(["", "patch"])),
        lambda: e.RunEnded(rng.choice(["blocked", "failed", "waiting", "great"]), rng.choice(["r", "model_calls"]), "m")
        if rng.random() < 0.05
        else rng.choice([e.RunInterrupted("SIGINT"), e.RunResumed("0"), e.BaseMeasured({}, 1.0)]),
        lambda: e.ModelCalled("act", rng.choice("mn"), name, "q", "a", Usage(7, 2, 3, 1), 0.5, rng.choice([None, 0.1])),
        lambda: e.LimitRaised(rng.choice(["seconds", "model_calls"]), rng.choice([0.0, 9.0])),
        lambda: e.ApplyIntended("c", "root", rng.random() < 0.5),
        lambda: e.BranchIntended(rng.choice(["mend", ""]), "commit"),
        lambda: e.BranchEnded(rng.choice(["finished", "undone", "half"])),
        lambda: e.ApplyEnded(rng.choice(["finished", "undone", "half"])),
    ]  # fmt: skip
    return rng.choice(makers)()


# --- what a controller does with a decision


def carried_out(rng: random.Random, state: RunState, decision: d.Decision) -> list[e.AnyEvent]:
    """The events that a decision leads to, with an outcome that chance chooses. Each must be legal."""
    match decision:
        case d.Propose():
            return [proposed(rng, state)]
        case d.Execute(step):
            return executed(rng, state, step)
        case d.Recover(step):
            return [e.StepRecovered(step.id, state.record(step.id).open_action)]
        case d.Retry(step, delay):
            return [e.StepRetried(step.id, state.record(step.id).attempt + 1, delay)]
        case d.Replan(trigger, invalidated):
            return [*(e.StepInvalidated(name, "w", ("ev",), "tree-0") for name in reversed(invalidated)), trigger]
        case d.Gate():
            opened: list[e.AnyEvent] = [] if state.gate == state.snapshot else [e.GateStarted(state.snapshot)]
            waiting = [name for name, check in state.checks.items() if opened or check.status == "pending"]
            verdicts = ["passed"] * 6 + ["failed", "failed", "inconclusive", "error"]
            return [*opened, *(e.CheckJudged(name, evidence(rng.choice(verdicts))) for name in waiting)]
        case d.Conclude(status, reason, message, questions):
            return [e.RunEnded(status, reason, message, questions, patch="patch" if status == "succeeded" else "")]
        case _:
            return []


def proposed(rng: random.Random, state: RunState) -> e.AnyEvent:
    """A plan that keeps what is completed and replaces the rest, or a refusal."""
    if rng.random() < 0.2:
        return e.ProposalRefused("p", ("bad",))
    kept = [one for one in state.steps if one.status is Status.COMPLETED]
    after = [kept[-1].id] if kept else []
    new = step(f"new{state.revision}", *after, artifacts=(rng.choice(["patch", "notes"]),))
    return accepted(state, (*kept, new, step(f"end{state.revision}", new.id)))


def executed(rng: random.Random, state: RunState, step: Step) -> list[e.AnyEvent]:
    events: list[e.AnyEvent] = [e.StepStarted(step.id, state.record(step.id).attempt + 1, state.snapshot)]
    events += [e.ActionStarted(step.id, "act", "t", {}, True), e.ObservationRecorded(step.id, "act", "obs", "s", "art")]
    if rng.random() < 0.4:
        known = state.fact("place")
        number = f"seen-{len(state.facts)}-{state.revision}-{state.record(step.id).attempt}-{step.id}"
        events.append(
            e.FactCommitted(
                e.Fact(number, "c", "obs", "place", rng.choice("xy"), (), step.id, known.id if known else "")
            )
        )
    if rng.random() < 0.6:
        return [*events, e.StepCompleted(step.id, (evidence(),), f"tree-{step.id}", dict.fromkeys(step.artifacts, "t"))]
    return [*events, e.StepFailed(some_failure(rng, state, step.id))]


# --- what holds of every state and of every step from one to the next


def assert_legal(state: RunState) -> None:
    by_id = {one.id: one for one in state.steps}
    live = state.live()
    assert len(by_id) == len(state.steps)
    assert all(isinstance(one.status, Status) for one in state.steps)
    assert state.status in {"", "running", "waiting"} | ENDED
    assert p.cycle(live) == []
    for one in live:
        assert set(one.depends_on) <= by_id.keys()
        if one.status in {Status.RUNNING, Status.COMPLETED}:
            assert all(by_id[parent].status is Status.COMPLETED for parent in one.depends_on)
        if one.status is Status.COMPLETED:
            found = state.record(one.id).evidence
            assert found and all(each.status == "passed" for each in found)
        if one.status is Status.BLOCKED:
            assert state.record(one.id).failure is not None
    assert all(by_id[name].status is Status.RUNNING for name, record in state.records.items() if record.open_action)
    assert state.replans_left >= 0 and state.refusals >= 0
    assert len(state.revisions) == state.revision and len(state.plan_history) == max(state.revision - 1, 0)
    assert [each.number for each in state.revisions] == list(range(1, state.revision + 1))
    assert len({each.id for each in state.facts}) == len(state.facts)
    assert all(each.corrects in {"", *(f.id for f in state.facts[:i])} for i, each in enumerate(state.facts))
    assert {name: check.verifier for name, check in state.checks.items()} == state.required_checks
    assert all(check.status in {"pending", *s.VERDICTS} for check in state.checks.values())
    if state.frozen.step:
        assert by_id[state.frozen.step].status in {Status.RUNNING, Status.COMPLETED}
    if state.trigger is not None:
        assert state.revision > 0 and all(one.status is not Status.RUNNING for one in state.steps)
    if state.gate:
        assert state.gate == state.snapshot and all(one.status is Status.COMPLETED for one in live)
    else:
        assert all(check.status == "pending" for check in state.checks.values())
    if state.status == "succeeded":
        assert state.gate and state.patch and state.trigger is None and live
        assert state.required_checks and all(check.status == "passed" for check in state.checks.values())
    if state.apply or state.branch_made:
        assert state.status == "succeeded"


FIXED = (
    "run_id",
    "goal",
    "contract",
    "contract_digest",
    "scope",
    "required_checks",
    "corrections",
    "base",
    "base_snapshot",
)
_AFTERWARDS = e.ApplyIntended | e.ApplyEnded | e.BranchIntended | e.BranchEnded


def assert_step(before: RunState, event: e.AnyEvent, after: RunState) -> None:
    if before.run_id:
        assert all(getattr(before, name) == getattr(after, name) for name in FIXED)
        spent = isinstance(event, e.PlanAccepted) and before.revision > 0
        assert after.replans_left == before.replans_left - int(spent)
    assert after.facts[: len(before.facts)] == before.facts
    assert after.plan_history[: len(before.plan_history)] == before.plan_history
    assert after.revisions[: len(before.revisions)] == before.revisions
    assert len(after.facts) - len(before.facts) == int(isinstance(event, e.FactCommitted))
    was = {one.id: one for one in before.steps}
    now = {one.id: one for one in after.steps}
    for name, one in now.items():
        if one.status is Status.COMPLETED and (name not in was or was[name].status is not Status.COMPLETED):
            assert isinstance(event, e.StepCompleted) and was[name].status is Status.RUNNING
    for name, one in was.items():
        if one.status is Status.COMPLETED and now.get(name) != one:
            assert isinstance(event, e.StepInvalidated) and event.step == name and event.evidence
    if before.gate and before.gate == after.gate and not isinstance(event, e.GateStarted):
        assert all(after.checks[name] == check for name, check in before.checks.items() if check.status != "pending")
    if isinstance(event, e.PlanAccepted):
        assert after.live() and not after.gate and after.trigger is None
    owner = was.get(before.frozen.step)
    if owner is not None and owner.status is Status.COMPLETED and now.get(owner.id) == owner:
        assert after.frozen == before.frozen
    stored = {name for one in after.steps if one.status is Status.COMPLETED for name in one.artifacts}
    if isinstance(event, e.StepInvalidated):
        assert not set(was[event.step].artifacts) & after.artifacts.keys() - stored
    if before.status in ENDED and isinstance(event, e.LimitRaised):
        assert (before.status, after.status) == ("blocked", "running") and RAISABLE[before.reason] == event.limit
    elif before.status in ENDED:
        assert isinstance(event, _AFTERWARDS) and before.status == "succeeded"
    if after.status == "succeeded" and before.status != "succeeded":
        assert before.status == "running" and before.gate and isinstance(event, e.RunEnded)


def beginning(rng: random.Random) -> RunState:
    """An empty run, or one of several that are under way, so that late states are reached too."""
    steps = (step("a"), step("b", "a", artifacts=("patch",)), step("c", "a"), step("d", "b", "c"))
    choices: list[Callable[[], RunState]] = [
        RunState,
        lambda: planned(steps),
        lambda: begin(completed(planned(steps), "a"), "b"),
        lambda: failed(completed(planned(steps), "a", "c"), "b"),
        lambda: completed(planned(steps), "a", "b", "c", "d"),
        lambda: judged(completed(planned(steps), "a", "b", "c", "d"), tests=rng.choice(["passed", "passed", "failed"])),
    ]
    return rng.choice(choices)()


@settings(max_examples=250, deadline=None)
@given(st.integers(0, 2**64))
def test_any_order_of_events_gives_a_legal_state_or_is_refused(seed: int) -> None:
    rng = random.Random(seed)
    state = beginning(rng)
    for _ in range(40):
        event = some_event(rng, state)
        try:
            after = reduce(state, event)
        except IllegalEventError:
            continue
        assert_step(state, event, after)
        assert_legal(after)
        decision = decide(after)
        assert isinstance(decision, d.Stop) == (after.status != "running")
        state = after
    assert msgspec.json.decode(msgspec.json.encode(state), type=RunState) == state


@settings(max_examples=250, deadline=None)
@given(st.integers(0, 2**64))
def test_from_any_state_decisions_can_be_carried_out_and_lead_to_an_end(seed: int) -> None:
    rng = random.Random(seed)
    state = beginning(rng)
    for _ in range(rng.choice([0, 5, 25])):
        try:
            state = reduce(state, some_event(rng, state))
        except IllegalEventError:
            continue
    state = state if state.run_id else reduce(state, started(rng.randint(0, 2), rng.randint(0, 2)))
    for _ in range(LONGEST):
        decision = decide(state)
        if isinstance(decision, d.Stop):
            break
        events = carried_out(rng, state, decision)
        assert events, decision
        for event in events:
            after = reduce(state, event)
            assert_step(state, event, after)
            assert_legal(after)
            state = after
    assert state.status in ENDED | {"waiting"}


def test_chance_reaches_every_kind_of_state_and_event() -> None:
    """The properties above say something only if every event is accepted now and then, and every decision made."""
    seen: set[str] = set()
    for seed in range(1500):
        rng = random.Random(seed)
        state = beginning(rng)
        for _ in range(40):
            event = some_event(rng, state)
            try:
                state = reduce(state, event)
            except IllegalEventError:
                continue
            seen |= {type(event).__name__, type(decide(state)).__name__, state.status}
    wanted = {kind.__name__ for kind in e.AnyEvent.__args__} | {kind.__name__ for kind in d.Decision.__args__}
    assert wanted | ENDED | {"waiting"} <= seen, (wanted | ENDED) - seen
