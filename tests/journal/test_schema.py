from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from planexec.core.errors import JournalError
from planexec.journal.journal import Journal
from planexec.journal.schema import APPLICATION_ID, MIGRATIONS, connect, transaction

NEXT = (*MIGRATIONS, ("ALTER TABLE events ADD COLUMN note TEXT NOT NULL DEFAULT ''",))


def pragma(path: Path, name: str) -> object:
    with sqlite3.connect(path) as connection:
        return connection.execute(f"PRAGMA {name}").fetchone()[0]


def test_a_new_file_has_the_promised_settings(tmp_path: Path) -> None:
    connection = connect(tmp_path / "j.db")
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    connection.close()
    assert pragma(tmp_path / "j.db", "user_version") == len(MIGRATIONS)
    assert pragma(tmp_path / "j.db", "application_id") == APPLICATION_ID


def test_a_journal_of_the_schema_before_is_brought_up_to_date_with_its_events(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        stored = journal.append("r", [b"old"], expected=0)
    connection = connect(tmp_path / "journal.db", NEXT)
    assert connection.execute("SELECT payload, digest, note FROM events").fetchall() == [(b"old", stored[0].digest, "")]
    connection.close()


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    connect(path).close()
    with pytest.raises(JournalError, match="syntax error") as caught:
        connect(path, (*NEXT, ("BROKEN",)))
    assert "\n" not in caught.value.message
    assert pragma(path, "user_version") == len(MIGRATIONS)
    connection = connect(path)
    assert "note" not in [row[1] for row in connection.execute("PRAGMA table_info(events)")]
    connection.close()


def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    connect(tmp_path / "journal.db", NEXT).close()
    before = (tmp_path / "journal.db").read_bytes()
    with pytest.raises(JournalError, match="newer planexec") as caught:
        Journal.open(tmp_path)
    assert "Upgrade" in caught.value.hint
    assert (tmp_path / "journal.db").read_bytes() == before


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "journal.db") as connection:
        connection.execute("CREATE TABLE notes (text)")
    before = (tmp_path / "journal.db").read_bytes()
    with pytest.raises(JournalError, match="another program"):
        Journal.open(tmp_path)
    assert (tmp_path / "journal.db").read_bytes() == before


def test_text_in_place_of_a_database_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "journal.db").write_text("not a database\n" * 200)
    with pytest.raises(JournalError, match="damaged or not a database") as caught:
        Journal.open(tmp_path)
    assert "\n" not in caught.value.message
    assert caught.value.hint


def test_a_damaged_page_is_one_line(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        for seq in range(40):
            journal.append("r", [b"x" * 1000], expected=seq)
    path = tmp_path / "journal.db"
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(JournalError, match="damaged"), Journal.open(tmp_path) as journal:
        journal.read("r")


def test_a_held_lock_is_waited_for_and_then_named(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    connect(path).close()
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("PRAGMA user_version = 0")  # so that opening has to write
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(JournalError, match="another process holds it"):
        connect(path, busy_seconds=0.1)
    holder.close()


def test_a_file_system_without_wal_is_refused() -> None:
    with pytest.raises(JournalError, match="cannot keep a journal"):
        connect(Path(":memory:"))  # SQLite keeps a database in memory, which has no WAL


def test_a_transaction_is_undone_by_an_error() -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("CREATE TABLE t (x)")
    with pytest.raises(KeyError), transaction(connection):
        connection.execute("INSERT INTO t VALUES (1)")
        raise KeyError
    assert connection.execute("SELECT count(*) FROM t").fetchone() == (0,)
    connection.close()
