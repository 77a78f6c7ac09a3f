"""The database file: how it is opened, what it must promise, and how an older one is brought up to date."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from planexec.core.errors import JournalError
from planexec.core.interrupts import uninterrupted

APPLICATION_ID = 0x504C4558  # "PLEX": tells our file from any other SQLite database
BUSY_SECONDS = 30.0

# One entry a schema version; entry n brings version n to n + 1. Never edit a released entry: append one.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE events (
            run_id TEXT NOT NULL, seq INTEGER NOT NULL CHECK (seq > 0), at TEXT NOT NULL,
            digest TEXT NOT NULL, previous TEXT NOT NULL, payload BLOB NOT NULL,
            UNIQUE (run_id, seq))""",
        "CREATE INDEX first_events ON events (at) WHERE seq = 1",
        """CREATE TABLE checkpoints (
            run_id TEXT PRIMARY KEY, seq INTEGER NOT NULL, digest TEXT NOT NULL,
            seal TEXT NOT NULL, state BLOB NOT NULL)""",
    ),
)


def connect(
    path: Path, migrations: Sequence[Sequence[str]] = MIGRATIONS, *, busy_seconds: float = BUSY_SECONDS
) -> sqlite3.Connection:
    """Open the existing or new file ``path`` in WAL mode with full synchronisation and the newest schema.

    Several processes may do so at once, also for the first time. Raises JournalError with one line.
    """
    deadline = time.monotonic() + busy_seconds
    while True:
        connection = None
        try:
            with explained(path):
                connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, check_same_thread=False)
                _prepare(connection, path, migrations)
                return connection
        except BaseException as error:
            if connection is not None:
                connection.close()
            # Switching a new file to WAL fails at once, whatever the time-out, if another does the same.
            if not (isinstance(error.__cause__, sqlite3.Error) and is_busy(error.__cause__)):
                raise
            if time.monotonic() > deadline:
                raise
        time.sleep(0.02)


def _prepare(connection: sqlite3.Connection, path: Path, migrations: Sequence[Sequence[str]]) -> None:
    with transaction(connection, "DEFERRED"):  # one picture, while another process makes the same file
        _refuse_foreign(connection, path, len(migrations))
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    connection.execute("PRAGMA synchronous = FULL")
    (synchronous,) = connection.execute("PRAGMA synchronous").fetchone()
    if str(mode).lower() != "wal" or synchronous != 2:
        raise JournalError(
            f"the file system of {path} cannot keep a journal (mode {mode}, synchronous {synchronous})",
            "Choose a folder on a local disk with --state-dir.",
        )
    migrate(connection, path, migrations)


def _refuse_foreign(connection: sqlite3.Connection, path: Path, newest: int) -> None:
    """Look before anything is written: a file of somebody else, or of a newer planexec, stays as it is."""
    application = _number(connection, "application_id")
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != APPLICATION_ID and (application != 0 or tables):
        raise JournalError(f"{path} is a database of another program", "Move it away, or choose another --state-dir.")
    version = _number(connection, "user_version")
    if version > newest:
        raise JournalError(
            f"{path} was written by a newer planexec (schema {version}, this one knows {newest})",
            "Upgrade planexec, or choose another --state-dir.",
        )


def migrate(connection: sqlite3.Connection, path: Path, migrations: Sequence[Sequence[str]]) -> None:
    """Bring the schema up to date in one exclusive transaction; nothing happens if it already is."""
    if _number(connection, "user_version") == len(migrations):
        return
    with transaction(connection, "EXCLUSIVE"):
        _refuse_foreign(connection, path, len(migrations))  # another process may have migrated meanwhile
        for statements in migrations[_number(connection, "user_version") :]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(migrations)}")


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    """All or nothing. IMMEDIATE, because reading first and locking later fails among several writers."""
    with uninterrupted():
        connection.execute(f"BEGIN {kind}")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def is_busy(error: sqlite3.Error) -> bool:
    """Whether somebody else holds the lock."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of the file system into a JournalError of one line."""
    try:
        yield
    except sqlite3.Error as error:
        raise JournalError(f"journal {path}: {_reason(error, path)}", _hint(error)) from error
    except OSError as error:
        raise JournalError(f"journal {path}: {error.strerror}", "Choose another --state-dir.") from error


def _reason(error: sqlite3.Error, path: Path) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if is_busy(error):
        return "another process holds it"
    if code == sqlite3.SQLITE_NOTADB:
        return "the file is damaged or not a database"
    if code == sqlite3.SQLITE_CORRUPT:
        return "the file is damaged"
    if code == sqlite3.SQLITE_READONLY or (code == sqlite3.SQLITE_CANTOPEN and not os.access(path.parent, os.W_OK)):
        return "the folder cannot be written to"
    if code == sqlite3.SQLITE_FULL:
        return "the disk is full"
    return " ".join(str(error).split())


def _hint(error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if is_busy(error):
        return "Wait until the other planexec has finished."
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return "Move the file away; its runs are lost, new ones will work."
    return "Free some space, or choose another folder with --state-dir."
