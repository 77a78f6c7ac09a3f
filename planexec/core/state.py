"""The state of a run as plain frozen data (R28); ``core.reduce`` is the only way in which it changes."""

from __future__ import annotations

from typing import Any

import msgspec

from planexec.core import events as e
from planexec.core.plan import Status, Step
from planexec.core.usage import Spent, total

PASSED = "passed"
RUNNING, WAITING, BLOCKED = "running", "waiting", "blocked"
FAILED, SUCCEEDED, INTERRUPTED = "failed", "succeeded", "interrupted"
ENDED = frozenset({BLOCKED, FAILED, SUCCEEDED})
VERDICTS = frozenset({PASSED, "failed", "inconclusive", "error"})
"""What a verifier may say of a check."""

BUDGET = "repair_seconds"
"""The setting of a run that says for how many seconds a patch is searched for, all searches together."""

HELD_BACK = "held_back"
"""The setting that names the files which no copy holds, because the model's key stands in them."""

SEARCH, EDIT, UNDO = "repair", "edit", "undo"
"""The tools that search for a patch, put one in, and take it back."""

MAX_ATTEMPTS = 3
"""A transient failure is retried at most twice (R16)."""


class CheckState(msgspec.Struct, frozen=True):
    """A required check: who judges it, the verdict at the gate (``pending`` before), the evidence."""

    verifier: str
    status: str = "pending"
    evidence: e.Evidence | None = None


class Revision(msgspec.Struct, frozen=True):
    """One entry of the lineage (R22). ``changed`` holds old and new ``done_when`` of steps that kept their id."""

    number: int
    parent: int
    reason: str
    evidence: tuple[str, ...]
    preserved: tuple[str, ...]
    superseded: tuple[str, ...]
    new: tuple[str, ...]
    planner: str
    mechanism: str = ""
    spent_budget: bool = False
    changed: dict[str, tuple[str, str]] = {}


class StepRecord(msgspec.Struct, frozen=True):
    """What happened to a step: counters from which the ids of its actions and observations follow, and its evidence
    (R27).
    """

    attempt: int = 0
    actions: int = 0
    observations: int = 0
    open_action: str = ""
    evidence: tuple[e.Evidence, ...] = ()
    checkpoint: str = ""
    snapshot: str = ""
    failure: e.Failure | None = None
    last_observation: str = ""


class Frozen(msgspec.Struct, frozen=True):
    """The frozen regression test: path to digest, and the test ids."""

    files: dict[str, str] = {}
    ids: tuple[str, ...] = ()
    step: str = ""


class RunState(msgspec.Struct, frozen=True):
    """Everything about a run that decides what comes next. Bulky things are artifacts, found by digest."""

    run_id: str = ""
    goal: str = ""
    contract: str = ""
    contract_digest: str = ""
    contract_files: dict[str, str] = {}
    scope: str = ""
    revision: int = 0
    replans_left: int = 0
    corrections: int = 0
    actions_per_step: int = 0
    required_checks: dict[str, str] = {}
    checks: dict[str, CheckState] = {}
    facts: tuple[e.Fact, ...] = ()
    steps: tuple[Step, ...] = ()
    plan_history: tuple[tuple[Step, ...], ...] = ()
    revisions: tuple[Revision, ...] = ()
    records: dict[str, StepRecord] = {}
    status: str = ""
    reason: str = ""
    message: str = ""
    environment: bool = False
    questions: tuple[str, ...] = ()
    report: dict[str, Any] = {}
    base: dict[str, str] = {}
    settings: dict[str, str] = {}
    base_snapshot: str = ""
    snapshot: str = ""
    frozen: Frozen = Frozen()
    artifacts: dict[str, str] = {}
    trigger: e.ReplanTriggered | None = None
    refusals: int = 0
    findings: tuple[str, ...] = ()
    refuted: tuple[str, ...] = ()
    breaches: int = 0
    gate: str = ""
    patch: str = ""
    apply: str = ""
    apply_changes: str = ""
    apply_root: str = ""
    baseline: dict[str, Any] = {}
    apply_reverse: bool = False
    branch: str = ""
    branch_commit: str = ""
    branch_made: str = ""
    dirty: tuple[str, ...] = ()
    usage: dict[str, dict[str, Spent]] = {}
    """What models took, by step (empty for planning) and model."""

    def step(self, name: str) -> Step:
        """The step of the present plan with this id. Raises KeyError."""
        for step in self.steps:
            if step.id == name:
                return step
        raise KeyError(name)

    def record(self, name: str) -> StepRecord:
        """What happened to the step; an empty record when nothing did."""
        return self.records.get(name, StepRecord())

    def fact(self, subject: str) -> e.Fact | None:
        """The latest fact about ``subject``: a correction stands after what it corrects."""
        return next((fact for fact in reversed(self.facts) if fact.subject == subject), None)

    def failed_with(self, code: str) -> list[str]:
        """The steps, in the order of the plan, whose last attempt ended with this failure code."""
        failures = {step.id: self.record(step.id).failure for step in self.steps}
        return [name for name, failure in failures.items() if failure is not None and failure.code == code]

    def spent(self) -> Spent:
        """What all models took together."""
        return total(spent for models in self.usage.values() for spent in models.values())

    def live(self) -> list[Step]:
        """The steps that count: all but the superseded ones."""
        return [step for step in self.steps if step.status is not Status.SUPERSEDED]
