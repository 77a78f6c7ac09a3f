"""Running one step: Action, Observation, facts, and in the end the host's verdict (R12, R13).

The executor is asked for moves; everything that counts happens here: what an action did is recorded before it is
believed, claims become facts only through the observation verifier, and the step is completed only when every
predicate holds on a clean tree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from planexec.controller.failures import classify
from planexec.core import events as e
from planexec.core import wire
from planexec.core.contract import Contract
from planexec.core.example import default_file, regression_id
from planexec.core.paths import matches
from planexec.core.plan import RegressionRed, Step
from planexec.core.roles import Action, Executor, Finish, GiveUp, Observation, StepVerdict
from planexec.core.state import PASSED, Frozen
from planexec.journal.chain import Stored
from planexec.journal.runlog import RunLog, events_of
from planexec.testing.bench import Bench
from planexec.tools.budget import given_up, seconds_searched
from planexec.tools.interface import ToolResult, Workbench
from planexec.tools.toolbox import Toolbox
from planexec.verifiers.interface import Candidate
from planexec.verifiers.observation import ObservationVerifier
from planexec.verifiers.predicates import Situation, evaluate
from planexec.verifiers.registry import Registry
from planexec.workspace.manifest import Manifest, ScanCache, restore, scan


@dataclass
class StepRunner:
    """Runs steps of one run, one at a time, in the scratch tree."""

    contract: Contract
    log: RunLog
    executor: Executor
    toolbox: Toolbox
    bench: Bench
    registry: Registry
    seconds: Callable[[], float]
    progress: Callable[[str], None]
    cache: ScanCache = field(default_factory=ScanCache)

    def execute(self, step: Step) -> None:
        """One attempt at ``step``: it ends completed, or failed with the tree put back to its checkpoint."""
        attempt = self.log.state.record(step.id).attempt + 1
        self.log.record(e.StepStarted(step.id, attempt, self.snapshot()))
        work = self.executor.work(self.contract, self.log.state, step)
        reply: Observation | StepVerdict | None = None
        last: ToolResult | None = None
        evidence: tuple[e.Evidence, ...] = ()
        reason = ""
        try:
            while True:
                move = work.send(reply)
                if isinstance(move, GiveUp):
                    reason = move.reason
                    break
                if isinstance(move, Finish):
                    reply = self._verify(step)
                    evidence = reply.evidence
                    if reply.holds:
                        return
                    continue
                if reason := self._limit(step):
                    break
                reply, last = self._act(step, move)
                if last.environment or self.log.state.breaches >= 2:
                    break
        except StopIteration:
            pass
        finally:
            work.close()
        self._fail(step, attempt, evidence, reason, last)

    def snapshot(self) -> str:
        """Store the scratch tree's manifest and return its digest."""
        return self.bench.store.put(scan(self.bench.workspace.scratch, self.bench.store, self.cache).encode())

    def restore(self, snapshot: str) -> None:
        """Put the scratch tree back to a snapshot."""
        restore(self.bench.workspace.scratch, self.manifest(snapshot), self.bench.store, self.cache)

    def manifest(self, snapshot: str) -> Manifest:
        """The manifest that a digest stands for."""
        return Manifest.decode(self.bench.store.get(snapshot))

    def _limit(self, step: Step) -> str:
        done = self.log.state.record(step.id).actions
        if done >= self.log.state.actions_per_step:
            return f"step '{step.id}' used all its {done} actions"
        return "" if self.seconds() > 0 else "the time of the run is used up"

    def _act(self, step: Step, action: Action) -> tuple[Observation, ToolResult]:
        number = self.log.state.record(step.id).actions + 1
        name, observation = f"act-{step.id}-{number}", f"obs-{step.id}-{number}"
        arguments = dict(action.arguments)
        self.log.record(e.ActionStarted(step.id, name, action.tool, arguments, self.toolbox.idempotent(action.tool)))
        workbench = self._workbench(step, observation)
        result = self.toolbox.run(action.tool, arguments, workbench)
        record: dict[str, Any] = {
            "step": step.id,
            "action": name,
            "tool": action.tool,
            "arguments": arguments,
            "ok": result.ok,
        }
        record |= {"code": result.code, "summary": result.summary, "data": result.data, "claims": result.claims}
        artifact = self.bench.store.put(wire.encode(record))
        self.log.record(
            e.ObservationRecorded(step.id, name, observation, result.summary, artifact, len(result.claims), result.ok)
        )
        self._watch(step, name, workbench)
        verified, rejected = self._believe(step, observation, artifact, result)
        told = Observation(observation, result.ok, result.summary, result.data, result.claims, verified, rejected)
        return told, result

    def _workbench(self, step: Step, observation: str) -> Workbench:
        return Workbench(
            self.contract, self.log.state, step, self.bench, self.cache, self.seconds, self.progress, observation,
            lambda: seconds_searched(self._history(), self.bench.store), self._observed,
            lambda: given_up(self._history()),
        )  # fmt: skip

    def _history(self) -> list[tuple[Stored, e.AnyEvent]]:
        return events_of(self.log.journal, self.log.run_id)

    def _observed(self, name: str) -> str:
        """The artifact of an observation; empty when there is none."""
        history = (event for _, event in self._history())
        named = (o for o in history if isinstance(o, e.ObservationRecorded) and o.observation == name)
        return next((o.artifact for o in named), "")

    def _watch(self, step: Step, action: str, workbench: Workbench) -> None:
        """Forbidden states are looked for after every action, undone and recorded (R4)."""
        if not self.contract.forbidden:
            return
        changed = [
            change.path for change in workbench.candidate().changes if matches(change.path, self.contract.forbidden)
        ]
        if changed:
            self.restore(self.log.state.record(step.id).checkpoint)
            self.log.record(e.ForbiddenEntered(step.id, action, tuple(changed)))

    def _believe(
        self, step: Step, observation: str, artifact: str, result: ToolResult
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Claims go through the observation verifier, one by one: what became a fact, what did not and why."""
        verified: list[str] = []
        rejected: list[str] = []
        if not result.claims:
            return (), ()
        snapshot = scan(self.bench.workspace.scratch, self.bench.store, self.cache)
        verifier = ObservationVerifier(self.contract, self.bench, snapshot, {observation: artifact}, result.claims)
        for claim in result.claims:
            known = self.log.state.fact(claim.subject)
            if known is not None and known.value == claim.value:
                continue
            self.progress(f"checking: {claim.text}")
            if objection := verifier.objection(claim):
                self.log.record(e.ClaimRejected(step.id, observation, claim.text, objection))
                rejected.append(f"{claim.text}: {objection}")
                continue
            name = f"fact-{len(self.log.state.facts) + 1}"
            corrects = known.id if known is not None else ""
            fact = e.Fact(name, claim.text, observation, claim.subject, claim.value, claim.supports, step.id, corrects)
            self.log.record(e.FactCommitted(fact))
            verified.append(claim.text)
        return tuple(verified), tuple(rejected)

    def _verify(self, step: Step) -> StepVerdict:
        """Evaluate the predicates in order, up to the first that does not hold; complete the step when all do."""
        snapshot = self.snapshot()
        candidate = Candidate.of(self.bench.workspace.base, self.manifest(snapshot), self.log.state.frozen)
        freezing = self._freezing(step, candidate)
        candidate = Candidate(candidate.base, candidate.changes, freezing or candidate.frozen)
        state = self.log.state
        situation = Situation(self.contract, candidate, state.facts, state.artifacts, self.bench, self.registry)
        evidence: list[e.Evidence] = []
        for predicate in step.predicates:
            self.progress(f"verifying: {step.done_when}")
            evidence.append(evaluate(predicate, situation))
            if evidence[-1].status != PASSED:
                return StepVerdict(False, tuple(evidence), evidence[-1].status == "error")
        artifacts = dict.fromkeys(step.artifacts, snapshot)
        frozen = (e.RegressionFrozen(step.id, freezing.files, freezing.ids),) if freezing else ()
        self.log.record(*frozen, e.StepCompleted(step.id, tuple(evidence), snapshot, artifacts))
        return StepVerdict(True, tuple(evidence))

    def _freezing(self, step: Step, candidate: Candidate) -> Frozen | None:
        """What is to be frozen with this step: the tests as they are now, and the ids that must turn green (R24)."""
        if not any(isinstance(predicate, RegressionRed) for predicate in step.predicates):
            return None
        check = self.contract.reproduction
        if check is None:
            return None
        files = {change.path: change.after.digest for change in candidate.tests if change.after is not None}
        ids = check.arguments.tests
        if check.arguments.example is not None:
            file = default_file(check, candidate.base.entries, self.bench.project)
            ids = (regression_id(check, file),)
        return Frozen(files, ids, step.id)

    def _fail(
        self, step: Step, attempt: int, evidence: tuple[e.Evidence, ...], reason: str, last: ToolResult | None
    ) -> None:
        """Put the tree back first: a process that dies here finds the step still running and does the same."""
        record = self.log.state.record(step.id)
        self.restore(record.checkpoint)
        failure = classify(step, attempt, evidence, reason, last, record.last_observation)
        self.log.record(e.StepFailed(failure, evidence))
