"""The controller: ask ``decide`` what comes next, do it, write down what happened, ask again.

Reading this file explains the product. A planner proposes and ``rules`` judge the proposal; an executor acts step by
step; the host's verifiers alone complete a step; when an observation breaks an assumption, only what hung on it is
replaced, within the budget; in the end every required check runs again on a clean tree, and nothing else makes a run
succeed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from planexec.controller.ending import report
from planexec.controller.steps import StepRunner
from planexec.core import decide as d
from planexec.core import events as e
from planexec.core import state as s
from planexec.core import wire
from planexec.core.contract import Contract
from planexec.core.decide import decide
from planexec.core.errors import EnvironmentFailure, LimitReached
from planexec.core.interrupts import Interrupted
from planexec.core.plan import Proposal, Status
from planexec.core.roles import Planner, Unreadable
from planexec.core.rules import validate_plan, validate_replan
from planexec.core.usage import OPTIONS
from planexec.journal.runlog import RunLog, events_of
from planexec.prompts.data import visible
from planexec.verifiers.interface import Candidate, Request
from planexec.workspace.gitview import render


@dataclass
class Controller:
    """Drives one run to its end."""

    contract: Contract
    log: RunLog
    planner: Planner
    steps: StepRunner
    progress: Callable[[str], None]
    sleep: Callable[[float], None] = time.sleep
    proposed: Callable[[Proposal], None] = field(default=lambda proposal: None)

    def run(self) -> s.RunState:
        """Until nothing is left to do. A signal leaves the run resumable; an environment error ends it."""
        try:
            while not isinstance(decision := decide(self.log.state), d.Stop):
                if self.steps.seconds() <= 0 and not isinstance(decision, d.Conclude):
                    decision = d.Conclude(s.BLOCKED, "time", "the time of the run is used up (limits.seconds)")
                self.perform(decision)
        except LimitReached as error:
            self._conclude(d.Conclude(s.BLOCKED, error.limit, error.message))
        except EnvironmentFailure as error:
            self._conclude(d.Conclude(s.BLOCKED, "environment", error.told, environment=True))
        except KeyboardInterrupt as error:
            if self.log.state.status == s.RUNNING:
                self.log.record(e.RunInterrupted(error.name if isinstance(error, Interrupted) else "SIGINT"))
            raise
        finally:
            self.log.checkpoint()
        return self.log.state

    def perform(self, decision: d.Decision) -> None:
        """One decision."""
        match decision:
            case d.Propose(trigger):
                self._propose(trigger)
            case d.Execute(step):
                self.steps.execute(step)
            case d.Recover(step):
                record = self.log.state.record(step.id)
                self.steps.restore(record.checkpoint)
                self.log.record(e.StepRecovered(step.id, record.open_action))
            case d.Retry(step, delay):
                self.sleep(delay)
                self.log.record(e.StepRetried(step.id, self.log.state.record(step.id).attempt + 1, delay))
            case d.Replan(trigger, invalidated):
                self._withdraw(trigger, invalidated)
            case d.Gate():
                self._gate()
            case d.Conclude():
                self._conclude(decision)
            case d.Stop():
                pass

    def _propose(self, trigger: e.ReplanTriggered | None) -> None:
        """Ask the planner, judge the proposal by the rules, accept or refuse it."""
        state = self.log.state
        self.progress("planning" if trigger is None else f"replanning: {trigger.failure.message}")
        ask = (
            self.planner.propose(self.contract, state)
            if trigger is None
            else self.planner.replan(self.contract, state, trigger)
        )
        if ask is None:
            failure = trigger.failure if trigger else None
            message = (
                f"no other way is left: {failure.message}"
                if failure
                else "the planner has no plan for this contract; add a reproduction, or a check that names tests"
            )
            questions = (failure.question,) if failure and failure.question else ()
            self._conclude(d.Conclude(s.BLOCKED, failure.code.lower() if failure else "no_plan", message, questions))
            return
        state, store, tools = self.log.state, self.steps.bench.store, self.steps.toolbox.names
        if isinstance(ask, Unreadable):
            self.log.record(e.ProposalRefused(store.put(ask.text.encode("utf-8", "backslashreplace")), ask.findings))
            return
        if trigger is None:
            findings = validate_plan(ask, state.scope, state.required_checks, tools)
        else:
            findings = validate_replan(state, ask, tools)
        if findings:
            told = tuple(visible(finding) for finding in findings)  # they quote what was proposed
            self.log.record(e.ProposalRefused(store.put(wire.encode(ask)), told))
            return
        self.log.record(accepted(state, ask, trigger, self.planner))

    def _withdraw(self, trigger: e.ReplanTriggered, invalidated: tuple[str, ...]) -> None:
        """Completed steps that rest on the root are withdrawn by the controller, with the evidence, and the tree
        goes back (R20).
        """
        state = self.log.state
        events: list[e.AnyEvent] = []
        if invalidated:
            checkpoint = state.record(invalidated[0]).checkpoint
            self.steps.restore(checkpoint)
            why = trigger.failure.message
            evidence = trigger.failure.evidence or (trigger.root,)
            refuted = self._changed_source(state)
            for name in reversed(invalidated):
                events.append(
                    e.StepInvalidated(name, why, evidence, checkpoint, refuted if name == trigger.root else ())
                )
        self.log.record(*events, trigger)

    def _changed_source(self, state: s.RunState) -> tuple[str, ...]:
        candidate = self._candidate(state)
        return tuple(change.after.digest for change in candidate.source if change.after is not None)

    def _candidate(self, state: s.RunState) -> Candidate:
        return Candidate.of(self.steps.bench.workspace.base, self.steps.manifest(state.snapshot), state.frozen)

    def _gate(self) -> None:
        """Every required check once more, on a clean tree, whatever the plan says that it covers (R25)."""
        if self.log.state.gate != self.log.state.snapshot:
            self.log.record(e.GateStarted(self.log.state.snapshot))
        candidate = self._candidate(self.log.state)
        pending = [name for name, check in self.log.state.checks.items() if check.status == "pending"]
        requests = [Request(self.contract, self.contract.checks[name], candidate, self.steps.bench) for name in pending]
        self.progress(f"gate: {', '.join(pending)}")
        for name, evidence in zip(pending, self.steps.registry.judge_all(requests), strict=True):
            self.log.record(e.CheckJudged(name, evidence))

    def _observed(self) -> list[e.ObservationRecorded]:
        history = events_of(self.log.journal, self.log.run_id)
        return [event for _, event in history if isinstance(event, e.ObservationRecorded)]

    def _conclude(self, decision: d.Conclude) -> None:
        """End the run. A success needs a patch; everything else needs the report of R21."""
        state, patch = self.log.state, ""
        if decision.status == s.SUCCEEDED:
            candidate = self._candidate(state)
            if not candidate.source:
                decision = d.Conclude(s.BLOCKED, "no_patch", "every check passes, but nothing was changed")
            else:
                bench = self.steps.bench
                text = render(candidate.changes, bench.store, bench.harness.sandbox).patch
                patch = bench.store.put(text.encode("utf-8", "surrogateescape"))
        if decision.status == s.BLOCKED and decision.reason in OPTIONS:
            more = f"More of it? planexec resume {state.run_id} {OPTIONS[decision.reason]} N goes on from here."
            decision = replace(decision, questions=(*decision.questions, more))
        told = report(self.contract, state, decision, self.steps.bench.store, self._observed())
        self.log.record(
            e.RunEnded(
                decision.status, decision.reason, decision.message, decision.questions, told, patch,
                decision.environment,
            )
        )  # fmt: skip


def accepted(
    state: s.RunState, proposal: Proposal, trigger: e.ReplanTriggered | None, planner: Planner
) -> e.PlanAccepted:
    """The event that makes a proposal the plan, with its lineage (R22)."""
    before = {step.id: step for step in state.live()}
    superseded = {step.id for step in proposal.steps if step.status is Status.SUPERSEDED and step.id in before}
    replaced = {step.id for step in proposal.steps if step.id in before and step != before[step.id]}
    gone = before.keys() - {step.id for step in proposal.steps}
    failure = trigger.failure if trigger else None
    return e.PlanAccepted(
        revision=state.revision + 1,
        parent=state.revision,
        reason=failure.message if failure else planner.reason,
        evidence=failure.evidence if failure else (),
        steps=proposal.steps,
        preserved=tuple(step.id for step in proposal.steps if before.get(step.id) == step),
        superseded=tuple(name for name in before if name in superseded | replaced | gone),
        new=tuple(step.id for step in proposal.steps if step.status is Status.PENDING and before.get(step.id) != step),
        spends_budget=trigger is not None,
        planner=planner.name,
        mechanism=planner.mechanism,
    )
