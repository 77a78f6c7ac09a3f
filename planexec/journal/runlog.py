"""One run's log: events go through ``reduce`` before they are written, so that no illegal event is ever committed
(L4, R13).
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from planexec.core import wire
from planexec.core.errors import JournalError, UsageError
from planexec.core.events import AnyEvent, RunResumed, decode, encode
from planexec.core.interrupts import uninterrupted
from planexec.core.reduce import reduce
from planexec.core.state import RunState
from planexec.journal.chain import Stored
from planexec.journal.journal import Journal
from planexec.journal.schema import explained

Listener = Callable[[Stored, AnyEvent], None]
CHECKPOINT_EVERY = 500


class RunLog:
    """The state of a run and the way to change it. ``listeners`` hear each event after it is committed."""

    def __init__(self, journal: Journal, run_id: str) -> None:
        self.journal, self.run_id = journal, run_id
        self.listeners: list[Listener] = []
        self.state, self._seq, self._digest = load(journal, run_id)
        self._saved = self._seq

    def record(self, *events: AnyEvent) -> RunState:
        """Commit events in one transaction and return the new state. Raises IllegalEventError before anything is
        written.
        """
        state = self.state
        for event in events:
            state = reduce(state, event)
        with uninterrupted():
            stored = self.journal.append(self.run_id, [encode(event) for event in events], expected=self._seq)
            self.state = state
            if stored:
                self._seq, self._digest = stored[-1].seq, stored[-1].digest
        for row, event in zip(stored, events, strict=True):
            for listener in self.listeners:
                listener(row, event)
        if self._seq - self._saved >= CHECKPOINT_EVERY:
            self.checkpoint()
        return state

    def checkpoint(self) -> None:
        """Keep the state, so that ``status`` need not read the log from the start."""
        self.journal.save_checkpoint(self.run_id, self._seq, self._digest, wire.encode(self.state))
        self._saved = self._seq


def load(journal: Journal, run_id: str) -> tuple[RunState, int, str]:
    """The state of a run, the number and the digest of its last event; an unknown run is an empty state."""
    state, seq, digest = RunState(), 0, ""
    checkpoint = journal.load_checkpoint(run_id)
    if checkpoint is not None:
        try:
            state, seq, digest = wire.decode(checkpoint.state, RunState), checkpoint.seq, checkpoint.digest
        except msgspec.MsgspecError:
            state, seq, digest = RunState(), 0, ""  # written by another version: the log itself is the truth
    for stored in journal.read(run_id, after=seq):
        try:
            state = reduce(state, decode(stored.payload))
        except (msgspec.MsgspecError, ValueError) as error:
            raise JournalError(
                f"event {stored.seq} of run '{run_id}' cannot be read: {error}", "the journal is kept as it is"
            ) from None
        seq, digest = stored.seq, stored.digest
    return state, seq, digest


def events_of(journal: Journal, run_id: str) -> list[tuple[Stored, AnyEvent]]:
    """Every event of a run, in order."""
    return [(stored, decode(stored.payload)) for stored in journal.read(run_id)]


def seconds_worked(history: Sequence[tuple[Stored, AnyEvent]]) -> float:
    """How long processes have worked on a run, from its first event or a resumption to the last event after it."""
    total, last = 0.0, None
    for stored, event in history:
        at = datetime.fromisoformat(stored.at)
        if last is not None and not isinstance(event, RunResumed):
            total += max(0.0, (at - last).total_seconds())  # a clock that was set back costs one interval at most
        last = at
    return total


def resolve(journal: Journal, name: str = "") -> str:
    """The run that a name or an unambiguous beginning of it stands for; the latest without one. Raises UsageError."""
    if not name:
        latest = journal.latest()
        if latest is None:
            raise UsageError("there is no run in this repository yet", "start one: planexec run CONTRACT")
        return latest
    ids = [row.run_id for row in journal.runs()]
    found = [each for each in ids if each == name] or [each for each in ids if each.startswith(name)]
    if len(found) != 1:
        what = f"'{name}' fits {len(found)} runs" if found else f"there is no run '{name}'"
        raise UsageError(what, "planexec status --all lists the runs")
    return found[0]


class StateLock:
    """Shared by all processes that work on runs of one state folder; who holds it alone may remove artifacts."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "in-use"
        self._descriptor = -1

    def acquire_shared(self) -> None:
        """Take it beside others; waits while somebody holds it alone."""
        self._take(fcntl.LOCK_SH)

    def acquire_alone(self) -> bool:
        """Take it alone; False when anybody holds it."""
        try:
            self._take(fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def release(self) -> None:
        """Let go. Idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _take(self, operation: int) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, operation)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor


class RunLock:
    """Held by the process that works on a run; it vanishes with the process, so a run without one was interrupted.

    With it goes a share of the state folder, so that no artifact vanishes that the run counts on.
    """

    def __init__(self, folder: Path, run_id: str) -> None:
        self.path = folder / "locks" / run_id
        self._descriptor = -1
        self._state = StateLock(folder)

    def acquire(self) -> bool:
        """Take the lock; False when another process holds it. Raises JournalError where there can be none."""
        with explained(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        try:
            self._state.acquire_shared()
        except BaseException:
            self.release()
            raise
        return True

    def release(self) -> None:
        """Let go. Idempotent."""
        self._state.release()
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def held(self) -> bool:
        """Whether some process holds it at this moment."""
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(descriptor)
        return False
