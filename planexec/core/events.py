"""Everything that can happen in a run: one small frozen class an event, a tagged union, JSON in and out (R13).

A run's state is the fold of these and nothing else. Bulky things (observations, evidence, trees) are artifacts; an
event holds their digest.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from planexec.core import wire
from planexec.core.plan import Step
from planexec.core.usage import Usage


class Event(msgspec.Struct, frozen=True, tag_field="event"):
    """The base of all events."""


class FailureClass(StrEnum):
    """At which level something failed."""

    TOOL = "tool"
    TASK = "task"
    PLAN = "plan"
    GOAL = "goal"


class Cause(StrEnum):
    """The third seed's four kinds of failure: each has a scope of change of its own (R20)."""

    TRANSIENT = "transient"
    FALSE_FACT = "false_fact"
    SIDE_EFFECT = "side_effect"
    CHANGED_GOAL = "changed_goal"


class Recoverability(StrEnum):
    """What the controller does about it."""

    RETRY = "retry"
    WAIT = "wait"
    REPLAN = "replan"
    ABORT = "abort"


class Failure(msgspec.Struct, frozen=True):
    """What failed, where, why, and what may be done about it (R16). ``environment`` marks errors that are not the
    product's (R26).
    """

    step: str
    attempt: int
    failure_class: FailureClass
    cause: Cause
    code: str
    message: str
    recoverability: Recoverability
    evidence: tuple[str, ...] = ()
    environment: bool = False
    question: str = ""


class LinesSupport(msgspec.Struct, frozen=True, tag="lines", tag_field="support"):
    """These lines (counted from 1, both ends included) of a file have this SHA-256."""

    path: str
    start: int
    end: int
    sha256: str


class OccurrencesSupport(msgspec.Struct, frozen=True, tag="occurrences", tag_field="support"):
    """The text occurs in the files that match ``globs`` at exactly these places, each ``path:line``."""

    text: str
    globs: tuple[str, ...]
    places: tuple[str, ...]


class OutcomeSupport(msgspec.Struct, frozen=True, tag="outcome", tag_field="support"):
    """The test has this outcome on a clean tree with ``files`` (path to text) laid in; ``shows`` stands in what it
    printed.
    """

    id: str
    status: str
    files: dict[str, str] = {}
    shows: str = ""


class TraceSupport(msgspec.Struct, frozen=True, tag="trace", tag_field="support"):
    """Running the test, the name at that line holds the value (a repr)."""

    id: str
    path: str
    line: int
    name: str
    value: str
    files: dict[str, str] = {}


class RecordSupport(msgspec.Struct, frozen=True, tag="record", tag_field="support"):
    """A host tool's stored result has this value under ``field``."""

    observation: str
    field: str
    value: str


class CheckSupport(msgspec.Struct, frozen=True, tag="check", tag_field="support"):
    """The verifier of a required check says this of the base."""

    check: str
    status: str


Support = LinesSupport | OccurrencesSupport | OutcomeSupport | TraceSupport | RecordSupport | CheckSupport


class Claim(msgspec.Struct, frozen=True):
    """What an observation suggests: a text for people, a subject and value for predicates, and supports to be
    checked again (R12).
    """

    text: str
    subject: str
    value: str
    supports: tuple[Support, ...]


class Fact(msgspec.Struct, frozen=True):
    """A claim that the observation verifier has confirmed. ``corrects`` names the fact that it replaces (R23)."""

    id: str
    claim: str
    evidence_ref: str
    subject: str
    value: str
    supports: tuple[Support, ...]
    step: str
    corrects: str = ""


class Evidence(msgspec.Struct, frozen=True):
    """What a verifier found: its id, who judged what, the verdict, one line, and the artifact with everything it
    printed.
    """

    id: str
    verifier: str
    about: str
    status: str
    summary: str
    artifact: str = ""
    code: str = ""


class RunStarted(Event, frozen=True, tag="run_started"):
    """A run begins: everything that it depends on is named here; ``dirty`` are the uncommitted files of its base."""

    run_id: str
    goal: str
    contract: str
    contract_digest: str
    scope: str
    required_checks: dict[str, str]
    replan_budget: int
    corrections: int
    actions_per_step: int
    base: dict[str, str]
    settings: dict[str, str]
    snapshot: str
    contract_files: dict[str, str] = {}
    dirty: tuple[str, ...] = ()


class BaseMeasured(Event, frozen=True, tag="base_measured"):
    """The whole suite ran twice on the base: how many tests have which status, how long it takes, what is flaky.

    ``seconds`` are those of the first run. ``flaky`` are the ids on which the two runs disagree. ``problem`` is one
    line when a run is no evidence.
    """

    outcomes: dict[str, int]
    seconds: float
    flaky: tuple[str, ...] = ()
    problem: str = ""


class ProposalRefused(Event, frozen=True, tag="proposal_refused"):
    """A proposal broke the rules: it costs a correction turn, not the budget (R19)."""

    proposal: str
    findings: tuple[str, ...]


class PlanAccepted(Event, frozen=True, tag="plan_accepted"):
    """A proposal became the plan: the lineage of R22."""

    revision: int
    parent: int
    reason: str
    evidence: tuple[str, ...]
    steps: tuple[Step, ...]
    preserved: tuple[str, ...]
    superseded: tuple[str, ...]
    new: tuple[str, ...]
    spends_budget: bool
    planner: str
    mechanism: str = ""


class StepStarted(Event, frozen=True, tag="step_started"):
    """A step begins from ``checkpoint``, the digest of the tree's manifest."""

    step: str
    attempt: int
    checkpoint: str


class ActionStarted(Event, frozen=True, tag="action_started"):
    """An action begins. Between this and its observation its outcome is unknown; ``idempotent`` says whether it may
    be done again.
    """

    step: str
    action: str
    tool: str
    arguments: dict[str, Any]
    idempotent: bool


class ObservationRecorded(Event, frozen=True, tag="observation_recorded"):
    """What an action gave: unverified. All of it is the artifact; its claims wait for the observation verifier."""

    step: str
    action: str
    observation: str
    summary: str
    artifact: str
    claims: int = 0
    ok: bool = True


class FactCommitted(Event, frozen=True, tag="fact_committed"):
    """The observation verifier confirmed a claim."""

    fact: Fact


class ClaimRejected(Event, frozen=True, tag="claim_rejected"):
    """The observation verifier could not confirm a claim."""

    step: str
    observation: str
    text: str
    reason: str


class RegressionFrozen(Event, frozen=True, tag="regression_frozen"):
    """The regression test is fixed from here on: path to digest, and the ids that must turn from red to green."""

    step: str
    files: dict[str, str]
    ids: tuple[str, ...]


class StepCompleted(Event, frozen=True, tag="step_completed"):
    """Every predicate of the step held; ``snapshot`` is the tree's manifest, ``artifacts`` name to digest."""

    step: str
    evidence: tuple[Evidence, ...]
    snapshot: str
    artifacts: dict[str, str]


class StepFailed(Event, frozen=True, tag="step_failed"):
    """The step did not reach its predicates; the tree is put back to its checkpoint."""

    failure: Failure
    evidence: tuple[Evidence, ...] = ()


class StepRetried(Event, frozen=True, tag="step_retried"):
    """A transient failure: the same step again, after ``delay`` seconds."""

    step: str
    attempt: int
    delay: float


class StepRecovered(Event, frozen=True, tag="step_recovered"):
    """The process died within the step: it may run again from its checkpoint; an unfinished action's outcome stays
    unknown.
    """

    step: str
    unknown: str


class StepInvalidated(Event, frozen=True, tag="step_invalidated"):
    """The controller, and nobody else, withdraws a completed step (R20); ``checkpoint`` is the tree to go back to,
    ``refuted`` are the digests of the source files that it had changed."""

    step: str
    reason: str
    evidence: tuple[str, ...]
    checkpoint: str
    refuted: tuple[str, ...] = ()


class ReplanTriggered(Event, frozen=True, tag="replan_triggered"):
    """The plan and the world disagree: the root, what hangs on it, and why."""

    trigger: str
    failure: Failure
    root: str
    affected: tuple[str, ...]


class ForbiddenEntered(Event, frozen=True, tag="forbidden_entered"):
    """An action led into a forbidden state; it was undone (R4)."""

    step: str
    action: str
    paths: tuple[str, ...]


class GateStarted(Event, frozen=True, tag="gate_started"):
    """The final gate: every required check runs again on a clean tree."""

    snapshot: str


class CheckJudged(Event, frozen=True, tag="check_judged"):
    """A required check at the gate."""

    check: str
    evidence: Evidence


class RunEnded(Event, frozen=True, tag="run_ended"):
    """The run ends: succeeded, blocked or failed, with the report of R21."""

    status: str
    reason: str
    message: str
    questions: tuple[str, ...] = ()
    report: dict[str, Any] = {}
    patch: str = ""
    environment: bool = False


class ModelCalled(Event, frozen=True, tag="model_called"):
    """A model was asked: for what, which one, in which step (empty while planning), and what it took.

    ``question`` and ``answer`` are artifacts, without secrets. ``problem`` says why the answer holds no usable object;
    ``cost`` is in US dollars, None where no price is known.
    """

    purpose: str
    model: str
    step: str
    question: str
    answer: str
    usage: Usage
    seconds: float
    cost: float | None = None
    problem: str = ""


class LimitRaised(Event, frozen=True, tag="limit_raised"):
    """A person gives a run that ended at ``limit`` (its key in the contract) more of it, and the run goes on."""

    limit: str
    value: float


class RunInterrupted(Event, frozen=True, tag="run_interrupted"):
    """A signal stopped the process in good order."""

    signal: str


class RunResumed(Event, frozen=True, tag="run_resumed"):
    """Another process takes the run up, with this version of planexec."""

    planexec: str


class ApplyIntended(Event, frozen=True, tag="apply_intended"):
    """The user's tree is about to change: artifact ``changes`` holds every file before and after. ``reverse`` says
    that the patch is taken back.
    """

    changes: str
    root: str
    reverse: bool = False


class ApplyEnded(Event, frozen=True, tag="apply_ended"):
    """The user's tree is what was intended (``finished``) or as it was (``undone``)."""

    outcome: str


class BranchIntended(Event, frozen=True, tag="branch_intended"):
    """The patch is a commit in the repository, to which a new branch is about to point."""

    branch: str
    commit: str


class BranchEnded(Event, frozen=True, tag="branch_ended"):
    """The branch points to the commit (``finished``), or was not made (``undone``)."""

    outcome: str


AnyEvent = (
    RunStarted
    | ProposalRefused
    | PlanAccepted
    | StepStarted
    | ActionStarted
    | ObservationRecorded
    | FactCommitted
    | ClaimRejected
    | RegressionFrozen
    | StepCompleted
    | StepFailed
    | StepRetried
    | StepRecovered
    | StepInvalidated
    | ReplanTriggered
    | ForbiddenEntered
    | GateStarted
    | CheckJudged
    | RunEnded
    | ModelCalled
    | LimitRaised
    | RunInterrupted
    | RunResumed
    | BaseMeasured
    | ApplyIntended
    | ApplyEnded
    | BranchIntended
    | BranchEnded
)


def encode(event: AnyEvent) -> bytes:
    """An event as JSON."""
    return wire.encode(event)


def decode(data: bytes) -> AnyEvent:
    """JSON as an event. Raises msgspec.DecodeError."""
    event: AnyEvent = wire.decode(data, AnyEvent)
    return event
