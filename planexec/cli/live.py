"""What is told while a run goes on: a line an event on standard error, and a spinner on a terminal; or events as
JSON lines.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from planexec.cli.text import clean
from planexec.core import events as e
from planexec.core import wire
from planexec.core.durations import told as duration
from planexec.core.state import BUDGET, HELD_BACK, SEARCH
from planexec.journal.chain import Stored


class Narrator:
    """Hears events. ``events`` streams them as JSON on standard output; ``quiet`` says nothing else than that."""

    def __init__(self, *, events: bool, quiet: bool) -> None:
        self.events = events
        self.quiet = quiet and not sys.stderr.isatty()
        self.run_id = ""
        self.budget = ""
        self._status: Any = None

    def __enter__(self) -> Narrator:
        if sys.stderr.isatty():
            from planexec.cli.richpage import console

            self._status = console(sys.stderr).status("starting")
            self._status.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Take the spinner away. Idempotent."""
        if self._status is not None:
            self._status.stop()
            self._status = None

    def progress(self, text: str) -> None:
        """What is being done at this moment: shown on a terminal only."""
        if self._status is not None:
            from rich.text import Text

            self._status.update(Text(clean(text)[:200]))

    def begin(self, run_id: str, settings: Mapping[str, str]) -> None:
        """Whose events are told from here on."""
        self.run_id = run_id
        self.budget = duration(float(settings[BUDGET])) if BUDGET in settings else ""

    def hear(self, stored: Stored, event: e.AnyEvent) -> None:
        """One committed event."""
        if isinstance(event, e.RunStarted):
            self.begin(event.run_id, event.settings)
        if self.events:
            record = {"run_id": self.run_id, "seq": stored.seq, "at": stored.at, **msgspec.to_builtins(event)}
            sys.stdout.buffer.write(wire.encode(record) + b"\n")
            sys.stdout.buffer.flush()
        if not self.quiet and (line := told(event, self.budget)):
            if self._status is not None:
                from rich.text import Text

                self._status.console.print(Text(clean(line)))
            else:
                sys.stderr.write(clean(line) + "\n")


def told(event: e.AnyEvent, budget: str = "") -> str:
    """An event as a line for people; empty for those that say nothing new. ``budget`` is the time for searching."""
    match event:
        case e.RunStarted():
            held_back = event.settings.get(HELD_BACK, "")
            more = f"; left out, because the model's key stands in it: {held_back}" if held_back else ""
            return (
                f"run {event.run_id} on {event.base['commit'][:12]}{_tests(event)}; {event.settings['sandbox']}{more}"
            )
        case e.BaseMeasured():
            return f"base: {measured(event.outcomes, event.seconds, event.flaky, event.problem)}"
        case e.RunResumed():
            return "resumed"
        case e.PlanAccepted():
            live = [step.id for step in event.steps if step.status.value != "superseded"]
            return f"plan {event.revision}: {' -> '.join(live)}  ({event.reason})"
        case e.ProposalRefused():
            return f"proposal refused: {'; '.join(event.findings)}"
        case e.StepStarted():
            return f"[{event.step}] started" + (f", attempt {event.attempt}" if event.attempt > 1 else "")
        case e.ActionStarted(tool=tool) if tool == SEARCH and budget:
            return f"[{event.step}] searching for a patch; all searches together may take {budget}"
        case e.ObservationRecorded():
            return f"[{event.step}] {event.observation}: {event.summary}"
        case e.FactCommitted():
            return f"[{event.fact.step}] {event.fact.id} verified: {event.fact.claim}"
        case e.ClaimRejected():
            return f"[{event.step}] claim not confirmed: {event.text} ({event.reason})"
        case e.StepCompleted():
            return f"[{event.step}] completed: {'; '.join(each.summary for each in event.evidence)}"
        case e.StepFailed():
            return f"[{event.failure.step}] failed ({event.failure.code}): {event.failure.message}"
        case e.ReplanTriggered():
            return f"replan: {event.failure.message}; affected: {', '.join(event.affected)}"
        case e.StepInvalidated():
            return f"[{event.step}] withdrawn: {event.reason}"
        case e.ForbiddenEntered():
            return f"[{event.step}] forbidden state undone: {', '.join(event.paths)}"
        case e.ModelCalled():
            return asked(event)
        case e.LimitRaised():
            return f"limits.{event.limit} is now {event.value:g}"
        case e.CheckJudged():
            return f"gate: {event.check} {event.evidence.status}: {event.evidence.summary}"
        case e.RunEnded():
            return f"{event.status}: {event.message}"
        case _:
            return ""


def asked(event: e.ModelCalled) -> str:
    """A question to a model: what for, what it took, and what was wrong with the answer."""
    taken = event.usage
    counts = "tokens not told"
    if taken.sent is not None and taken.received is not None:
        cached = f" ({taken.cached:,} cached)" if taken.cached else ""
        counts = f"{taken.sent:,} tokens{cached} in, {taken.received:,} out"
    again = f", {taken.requests} requests" if taken.requests > 1 else ""
    cost = f", ${event.cost:.4f}" if event.cost is not None else ""
    wrong = f"; not usable: {event.problem}" if event.problem else ""
    return f"[{event.step or 'planning'}] {event.model} asked to {event.purpose}: {counts}{again}{cost}{wrong}"


def _tests(event: e.RunStarted) -> str:
    """What will be run, where and with what."""
    if "tests" not in event.settings:
        return ""
    chosen = event.settings
    where = chosen["project"] or "the repository's root"
    return f"; {chosen['tests']} tests in {where}, Python {chosen['python']}: {chosen['interpreter']}"


def measured(outcomes: Mapping[str, int], seconds: float, flaky: Sequence[str], problem: str) -> str:
    """How the suite does on the base."""
    counts = ", ".join(f"{count} {status}" for status, count in outcomes.items()) or "no test ran"
    named = f"; flaky, and not counted: {', '.join(flaky[:5])}" if flaky else ""
    more = f" and {len(flaky) - 5} more" if len(flaky) > 5 else ""
    why = f"; {problem}" if problem else ""
    return f"{counts} in {seconds:.1f} s{named}{more}{why}"
