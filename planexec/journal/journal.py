"""The journal: the append-only log of events of all runs in one repository, the only truth about a run.

Only `forget` takes anything away, and only a whole run.

Payloads are opaque bytes here; what they mean is known to the floor above. After a kill or a loss of power
every committed event is there, and nothing of one that was not.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from planexec.core.errors import JournalError
from planexec.journal.artifacts import sync_folder
from planexec.journal.chain import ROOT, Stored, first_broken, link
from planexec.journal.schema import connect, explained, transaction

FILE_NAME = "journal.db"
_COLUMNS = "seq, at, digest, previous, payload"

Observer = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run of the list: when its first event was written (UTC, ISO 8601), the number of its last one."""

    run_id: str
    created_at: str
    last_seq: int


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A state that was folded up to and including event ``seq``, whose digest is ``digest``."""

    seq: int
    digest: str
    state: bytes


def utc_now() -> datetime:
    """The clock of a journal that is given no other."""
    return datetime.now(UTC)


class Journal:
    """An open journal. Use it as a context manager; threads may share it, processes open their own."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        clock: Callable[[], datetime],
        before_commit: Observer | None,
        after_commit: Observer | None,
    ) -> None:
        self.path = path
        self._connection = connection
        self._clock = clock
        self._before_commit = before_commit
        self._after_commit = after_commit
        self._lock = threading.Lock()

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        create: bool = True,
        clock: Callable[[], datetime] = utc_now,
        before_commit: Observer | None = None,
        after_commit: Observer | None = None,
    ) -> Journal:
        """Open ``folder/journal.db``; without ``create`` a missing one is a JournalError.

        ``before_commit`` and ``after_commit`` are called with the number of the last event of each append, when
        it is written but not committed, and when it is committed. They exist for crash tests and for progress;
        an error raised before the commit undoes the append.
        """
        path = folder / FILE_NAME
        if not create and not path.is_file():
            raise JournalError(f"there is no journal in {folder}", "No run was started here yet.")
        with explained(path):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            fresh = not path.exists()
        connection = connect(path)
        if fresh:
            with explained(path):
                sync_folder(folder)
        return cls(connection, path, clock, before_commit, after_commit)

    def append(self, run_id: str, events: Sequence[bytes], *, expected: int) -> list[Stored]:
        """Write ``events`` in one transaction and return them as stored.

        ``expected`` is the number of the last event that the caller has seen, 0 for a new run. If there is
        another one by now, somebody else works on this run: JournalError, nothing is written.
        """
        if not run_id:
            raise ValueError("a run needs an id")
        stored: list[Stored] = []
        with self._guarded():
            with transaction(self._connection):
                seq, digest = self._last(run_id)
                if seq != expected:
                    raise JournalError(
                        f"run {run_id}: expected event {expected} to be the last one, but it is {seq}",
                        "Another process works on this run; wait for it, or look with `planexec status`.",
                    )
                for payload in events:
                    stored.append(link(digest, run_id, seq + 1, self._stamp(), payload))
                    seq, digest = stored[-1].seq, stored[-1].digest
                self._insert(run_id, stored)
                if self._before_commit is not None:
                    self._before_commit(seq)
            if self._after_commit is not None:
                self._after_commit(seq)
        return stored

    def read(self, run_id: str, after: int = 0) -> list[Stored]:
        """All events of a run with a number above ``after``, in order; empty for an unknown run."""
        query = f"SELECT {_COLUMNS} FROM events WHERE run_id = ? AND seq > ? ORDER BY seq"
        with self._guarded():
            return [Stored(*row) for row in self._connection.execute(query, (run_id, after)).fetchall()]

    def runs(self) -> list[RunRow]:
        """Every run, the newest first: as they were written, whatever the clock said."""
        query = """SELECT run_id, at, (SELECT max(seq) FROM events AS last WHERE last.run_id = first.run_id)
                   FROM events AS first WHERE seq = 1 ORDER BY rowid DESC"""
        with self._guarded():
            return [RunRow(*row) for row in self._connection.execute(query).fetchall()]

    def latest(self) -> str | None:
        """The id of the run that was started last."""
        query = "SELECT run_id FROM events WHERE seq = 1 ORDER BY rowid DESC LIMIT 1"
        with self._guarded():
            row = self._connection.execute(query).fetchone()
        return None if row is None else str(row[0])

    def verify(self, run_id: str) -> int | None:
        """The first event at which the chain of hashes is broken, None if it is whole.

        Events cut off at the end are noticed as far as a checkpoint knows of them.
        """
        events = self.read(run_id)
        broken = first_broken(run_id, events)
        if broken is not None:
            return broken
        with self._guarded():
            row = self._connection.execute("SELECT seq, digest FROM checkpoints WHERE run_id = ?", (run_id,)).fetchone()
        if row is None:
            return None
        if row[0] > len(events):
            return len(events) + 1
        return None if events[row[0] - 1].digest == row[1] else int(row[0])

    def save_checkpoint(self, run_id: str, seq: int, digest: str, state: bytes) -> None:
        """Keep ``state``, folded up to event ``seq``; replaces an older one. The event must be in the log."""
        with self._guarded(), transaction(self._connection):
            if not self._is_event(run_id, seq, digest):
                raise JournalError(f"run {run_id}: a checkpoint names event {seq}, which is not in the journal")
            self._connection.execute(
                """INSERT INTO checkpoints (run_id, seq, digest, seal, state) VALUES (?, ?, ?, ?, ?)
                   ON CONFLICT (run_id) DO UPDATE SET seq = excluded.seq, digest = excluded.digest,
                   seal = excluded.seal, state = excluded.state WHERE excluded.seq >= checkpoints.seq""",
                (run_id, seq, digest, _seal(digest, state), state),
            )

    def load_checkpoint(self, run_id: str) -> Checkpoint | None:
        """The last checkpoint, if the event that it is bound to is there and the state was not altered."""
        query = "SELECT seq, digest, state, seal FROM checkpoints WHERE run_id = ?"
        with self._guarded():
            row = self._connection.execute(query, (run_id,)).fetchone()
            if row is None or not self._is_event(run_id, row[0], row[1]):
                return None
        seq, digest, state, seal = row
        return Checkpoint(seq, digest, state) if seal == _seal(digest, state) else None

    def forget(self, run_id: str) -> None:
        """Remove a run as a whole, at a person's wish; of a run that stays nothing can be removed."""
        with self._guarded(), transaction(self._connection):
            for table in ("events", "checkpoints"):
                self._connection.execute(f"DELETE FROM {table} WHERE run_id = ?", (run_id,))

    def close(self) -> None:
        """Close the file. Idempotent."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        with self._lock, explained(self.path):
            yield

    def _last(self, run_id: str) -> tuple[int, str]:
        query = "SELECT seq, digest FROM events WHERE run_id = ? ORDER BY seq DESC LIMIT 1"
        row = self._connection.execute(query, (run_id,)).fetchone()
        return (0, ROOT) if row is None else (int(row[0]), str(row[1]))

    def _insert(self, run_id: str, stored: Sequence[Stored]) -> None:
        self._connection.executemany(
            f"INSERT INTO events (run_id, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)",
            [(run_id, event.seq, event.at, event.digest, event.previous, event.payload) for event in stored],
        )

    def _is_event(self, run_id: str, seq: int, digest: str) -> bool:
        query = "SELECT 1 FROM events WHERE run_id = ? AND seq = ? AND digest = ?"
        return self._connection.execute(query, (run_id, seq, digest)).fetchone() is not None

    def _stamp(self) -> str:
        return self._clock().astimezone(UTC).isoformat(timespec="microseconds")


def _seal(digest: str, state: bytes) -> str:
    return hashlib.sha256(digest.encode() + b"\0" + state).hexdigest()
