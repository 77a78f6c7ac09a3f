"""Small values that the tests of this floor are made of, and a run that is driven by events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from planexec.core import events as e
from planexec.core import plan as p
from planexec.core.plan import CheckPassed, Proposal, Status, Step
from planexec.core.reduce import reduce
from planexec.core.state import RunState

CHECKS = {"reproduction": "verify_regression_red", "tests": "verify_related_tests"}
TOOLS = ("search", "repair", "run_tests")
SCOPE = "current_repository"


def step(name: str, *after: str, **more: object) -> Step:
    """A step that keeps every rule by itself."""
    fields: dict[str, object] = {
        "id": name,
        "goal": f"Bring about what {name} stands for",
        "depends_on": after,
        "done_when": f"what {name} stands for can be seen",
        "tools": ("search",),
        "artifacts": (f"{name}-artifact",),
        "predicates": (p.FactRecorded((f"subject-{name}",)),),
        "rollback": "checkpoint",
    }
    return Step(**(fields | more))  # type: ignore[arg-type]


def sound_steps() -> tuple[Step, ...]:
    """inspect -> patch -> verify: covers every check."""
    return (
        step("inspect"),
        step("patch", "inspect", artifacts=("patch",), inputs=("inspect-artifact",)),
        step("verify", "patch", covers=tuple(CHECKS), predicates=tuple(CheckPassed(name) for name in CHECKS)),
    )


def proposal(steps: Iterable[Step], scope: str = SCOPE) -> Proposal:
    return Proposal(scope, tuple(steps))


def started(budget: int = 2, corrections: int = 2, checks: dict[str, str] | None = None) -> e.RunStarted:
    return e.RunStarted(
        run_id="run-1",
        goal="mend it",
        contract="contract-digest",
        contract_digest="digest",
        scope=SCOPE,
        required_checks=CHECKS if checks is None else checks,
        replan_budget=budget,
        corrections=corrections,
        actions_per_step=10,
        base={"commit": "abc"},
        settings={"planner": "workflow"},
        snapshot="base",
    )


def accepted(state: RunState, steps: Sequence[Step], superseded: Sequence[str] = ()) -> e.PlanAccepted:
    return e.PlanAccepted(
        revision=state.revision + 1,
        parent=state.revision,
        reason="because",
        evidence=(),
        steps=tuple(steps),
        preserved=(),
        superseded=tuple(superseded),
        new=(),
        spends_budget=state.revision > 0,
        planner="test",
    )


def evidence(status: str = "passed", name: str = "ev-1") -> e.Evidence:
    return e.Evidence(name, "verify_x", "x", status, f"it {status}")


def failure(name: str, **more: object) -> e.Failure:
    fields: dict[str, object] = {
        "step": name,
        "attempt": 1,
        "failure_class": e.FailureClass.TASK,
        "cause": e.Cause.FALSE_FACT,
        "code": "NO_PATCH",
        "message": "nothing was found",
        "recoverability": e.Recoverability.REPLAN,
        "evidence": ("ev-1",),
    }
    return e.Failure(**(fields | more))  # type: ignore[arg-type]


def fact(name: str, subject: str, value: str, by: str, corrects: str = "") -> e.Fact:
    return e.Fact(name, f"{subject} is {value}", f"obs-{by}-1", subject, value, (), by, corrects)


def folded(*events: e.AnyEvent, state: RunState | None = None) -> RunState:
    state = state if state is not None else RunState()
    for event in events:
        state = reduce(state, event)
    return state


def planned(steps: Sequence[Step] | None = None, **start: object) -> RunState:
    """A run with its first plan."""
    state = folded(started(**start))  # type: ignore[arg-type]
    return reduce(state, accepted(state, sound_steps() if steps is None else steps))


def begin(state: RunState, name: str) -> RunState:
    return reduce(state, e.StepStarted(name, state.record(name).attempt + 1, state.snapshot))


def completed(state: RunState, *names: str) -> RunState:
    """The steps run and complete, one after the other, each leaving a tree of its own."""
    for name in names:
        artifacts = dict.fromkeys(state.step(name).artifacts, f"tree-{name}")
        state = reduce(begin(state, name), e.StepCompleted(name, (evidence(),), f"tree-{name}", artifacts))
    return state


def failed(state: RunState, name: str, **more: object) -> RunState:
    return reduce(begin(state, name), e.StepFailed(failure(name, **more)))


def judged(state: RunState, **statuses: str) -> RunState:
    """The gate, with a verdict on each check: passed where none is given."""
    state = reduce(state, e.GateStarted(state.snapshot))
    for name in state.checks:
        state = reduce(state, e.CheckJudged(name, evidence(statuses.get(name, "passed"), f"ev-{name}")))
    return state


def trigger(root: str, *hit: str) -> e.ReplanTriggered:
    return e.ReplanTriggered("no_patch", failure(root), root, hit)


def superseded(one: Step) -> Step:
    return replace(one, status=Status.SUPERSEDED)
