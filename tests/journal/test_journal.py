from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planexec.core.errors import JournalError
from planexec.journal.journal import Journal
from planexec.sandbox.bubblewrap import BubblewrapSandbox
from planexec.sandbox.interface import Command, Mount

from .child import PROJECT, run, start


class Clock:
    """A clock that is told what time it is; each reading is a second later."""

    def __init__(self) -> None:
        self.now = datetime(2024, 5, 1, 12, 0, 0, 123456, timezone(timedelta(hours=2)))

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def alter(folder: Path, statement: str, *values: object) -> None:
    with sqlite3.connect(folder / "journal.db") as connection:
        assert connection.execute(statement, values).rowcount == 1


def test_events_come_back_in_order_and_chained(tmp_path: Path) -> None:
    with Journal.open(tmp_path, clock=Clock()) as journal:
        first = journal.append("r", [b"a", b"b"], expected=0)
        second = journal.append("r", [b"c"], expected=2)
        events = journal.read("r")
    assert events == [*first, *second]
    assert [(event.seq, event.payload) for event in events] == [(1, b"a"), (2, b"b"), (3, b"c")]
    assert [event.previous for event in events[1:]] == [event.digest for event in events[:-1]]
    assert events[0].previous == ""
    assert events[0].at == "2024-05-01T10:00:01.123456+00:00"


def test_reading_on_from_a_number(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        journal.append("r", [b"a", b"b", b"c"], expected=0)
        assert [event.payload for event in journal.read("r", after=1)] == [b"b", b"c"]
        assert journal.read("r", after=3) == []
        assert journal.read("unknown") == []


def test_appending_nothing_changes_nothing(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        assert journal.append("r", [], expected=0) == []
        assert journal.runs() == []


def test_the_default_clock_is_utc_now(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        (event,) = journal.append("r", [b"a"], expected=0)
    assert abs(datetime.fromisoformat(event.at) - datetime.now(UTC)) < timedelta(seconds=30)


def test_the_second_of_two_writers_is_refused(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as one, Journal.open(tmp_path) as two:
        one.append("r", [b"a"], expected=0)
        with pytest.raises(JournalError, match="expected event 0 to be the last one, but it is 1") as caught:
            two.append("r", [b"A"], expected=0)
        assert "status" in caught.value.hint
        two.append("r", [b"b"], expected=1)
        assert [event.payload for event in one.read("r")] == [b"a", b"b"]
        assert one.verify("r") is None


def test_a_gap_is_refused(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal, pytest.raises(JournalError):
        journal.append("r", [b"a"], expected=5)


def test_a_run_needs_an_id(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal, pytest.raises(ValueError, match="needs an id"):
        journal.append("", [b"a"], expected=0)


def test_runs_are_listed_newest_first(tmp_path: Path) -> None:
    with Journal.open(tmp_path, clock=Clock()) as journal:
        assert journal.latest() is None
        journal.append("one", [b"a"], expected=0)
        journal.append("two", [b"a", b"b"], expected=0)
        journal.append("one", [b"c"], expected=1)
        assert [(row.run_id, row.last_seq) for row in journal.runs()] == [("two", 2), ("one", 2)]
        assert journal.runs()[1].created_at == journal.read("one")[0].at
        assert journal.latest() == "two"


def test_without_create_a_missing_journal_is_one_line_and_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="there is no journal"):
        Journal.open(tmp_path / "state", create=False)
    assert not (tmp_path / "state").exists()
    Journal.open(tmp_path / "state").close()
    Journal.open(tmp_path / "state", create=False).close()


def test_the_folder_is_private(tmp_path: Path) -> None:
    Journal.open(tmp_path / "a" / "b").close()
    assert (tmp_path / "a" / "b").stat().st_mode & 0o077 == 0


def test_a_folder_that_is_a_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("")
    with pytest.raises(JournalError, match="journal") as caught:
        Journal.open(tmp_path / "f" / "state")
    assert "--state-dir" in caught.value.hint


def test_a_closed_journal_says_so(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path)
    journal.close()
    journal.close()
    with pytest.raises(JournalError, match="closed"):
        journal.read("r")


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        ("UPDATE events SET payload = ? WHERE seq = 2", (b"B",)),
        ("UPDATE events SET at = ? WHERE seq = 2", ("2020-01-01T00:00:00.000000+00:00",)),
        ("UPDATE events SET digest = ? WHERE seq = 2", ("0" * 64,)),
        ("UPDATE events SET previous = ? WHERE seq = 2", ("0" * 64,)),
        ("DELETE FROM events WHERE seq = 2", ()),
    ],
)
def test_an_edited_log_is_noticed(tmp_path: Path, statement: str, values: tuple[object, ...]) -> None:
    with Journal.open(tmp_path) as journal:
        journal.append("r", [b"a", b"b", b"c"], expected=0)
        assert journal.verify("r") is None
    alter(tmp_path, statement, *values)
    with Journal.open(tmp_path) as journal:
        assert journal.verify("r") == 2


def test_a_log_that_was_cut_is_noticed_by_its_checkpoint(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        events = journal.append("r", [b"a", b"b"], expected=0)
        journal.save_checkpoint("r", 2, events[1].digest, b"state")
        assert journal.verify("r") is None
    alter(tmp_path, "DELETE FROM events WHERE seq = 2")
    with Journal.open(tmp_path) as journal:
        assert journal.verify("r") == 2
        assert journal.load_checkpoint("r") is None
        journal.append("r", [b"B"], expected=1)
        assert journal.verify("r") == 2


def test_a_checkpoint_is_bound_to_its_event(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        events = journal.append("r", [b"a", b"b"], expected=0)
        assert journal.load_checkpoint("r") is None
        journal.save_checkpoint("r", 1, events[0].digest, b"one")
        journal.save_checkpoint("r", 2, events[1].digest, b"two")
        journal.save_checkpoint("r", 1, events[0].digest, b"late")  # a slower thread: the newer one stays
        found = journal.load_checkpoint("r")
        assert found is not None
        assert (found.seq, found.digest, found.state) == (2, events[1].digest, b"two")
        with pytest.raises(JournalError, match="not in the journal"):
            journal.save_checkpoint("r", 2, "0" * 64, b"forged")


def test_an_edited_checkpoint_is_not_used(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        events = journal.append("r", [b"a"], expected=0)
        journal.save_checkpoint("r", 1, events[0].digest, b"failed")
    alter(tmp_path, "UPDATE checkpoints SET state = ?", b"succeeded")
    with Journal.open(tmp_path) as journal:
        assert journal.load_checkpoint("r") is None


def test_observers_see_the_last_number_and_may_undo(tmp_path: Path) -> None:
    seen: list[tuple[str, int]] = []

    def before(seq: int) -> None:
        seen.append(("before", seq))
        if seq == 3:
            raise KeyboardInterrupt

    with Journal.open(tmp_path, before_commit=before, after_commit=lambda seq: seen.append(("after", seq))) as journal:
        journal.append("r", [b"a", b"b"], expected=0)
        with pytest.raises(KeyboardInterrupt):
            journal.append("r", [b"c"], expected=2)
        assert [event.payload for event in journal.read("r")] == [b"a", b"b"]
    assert seen == [("before", 2), ("after", 2), ("before", 3)]


CRASH = """
import os, signal, sys
from pathlib import Path
from planexec.journal.journal import Journal
folder, where, at = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
def die(seq):
    if seq == at: os.kill(os.getpid(), signal.SIGKILL)
hooks = {"within": {"before_commit": die}, "after": {"after_commit": die}}.get(where, {})
with Journal.open(folder, **hooks) as journal:
    seq = len(journal.read("r"))
    while seq < 6:
        if where == "before": die(seq + 2)
        journal.append("r", [b"%d" % (seq + 1), b"%d" % (seq + 2)], expected=seq)
        seq += 2
"""


@pytest.mark.parametrize("at", [2, 4, 6])
@pytest.mark.parametrize(("where", "kept"), [("before", -2), ("within", -2), ("after", 0)])
def test_killed_around_a_commit_exactly_the_committed_events_are_there(
    tmp_path: Path, where: str, kept: int, at: int
) -> None:
    assert run(CRASH, str(tmp_path), where, str(at))[0] == -signal.SIGKILL
    with Journal.open(tmp_path) as journal:
        assert [event.payload for event in journal.read("r")] == [b"%d" % n for n in range(1, at + kept + 1)]
        assert journal.verify("r") is None
    code, _, errors = run(CRASH, str(tmp_path), "never", "0")
    assert (code, errors) == (0, "")
    with Journal.open(tmp_path) as journal:
        assert [event.payload for event in journal.read("r")] == [b"%d" % n for n in range(1, 7)]
        assert journal.verify("r") is None


ENDLESS = """
import sys
from pathlib import Path
from planexec.journal.journal import Journal
with Journal.open(Path(sys.argv[1])) as journal:
    seq = len(journal.read("r"))
    while True:
        journal.append("r", [b"x" * 300] * 3, expected=seq)
        seq += 3
        print(seq, flush=True)
"""


def test_killed_at_any_moment_what_was_acknowledged_is_there(tmp_path: Path) -> None:
    chance = random.Random(7)
    for _ in range(4):
        child = start(ENDLESS, str(tmp_path))
        assert child.stdout is not None
        acknowledged = int(child.stdout.readline())
        time.sleep(chance.uniform(0.005, 0.08))
        child.kill()
        acknowledged = max([acknowledged, *(int(line) for line in child.communicate()[0].split())])
        assert child.returncode == -signal.SIGKILL
        with Journal.open(tmp_path) as journal:
            events = journal.read("r")
            assert len(events) in (acknowledged, acknowledged + 3)
            assert journal.verify("r") is None


@settings(max_examples=25, deadline=None)
@given(st.floats(0, 1))
def test_a_torn_log_file_is_a_whole_prefix(torn: Path, share: float) -> None:
    """What a loss of power leaves: the write-ahead file cut anywhere."""
    copy = torn.parent / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(torn, copy)
    wal = copy / "journal.db-wal"
    os.truncate(wal, int(wal.stat().st_size * share))
    with Journal.open(copy) as journal:
        events = journal.read("r")
        assert [event.payload for event in events] == [b"%d" % (n % 10) * 500 for n in range(len(events))]
        assert len(events) % 2 == 0
        assert journal.verify("r") is None


@pytest.fixture(scope="module")
def torn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("torn")
    with Journal.open(folder / "live") as journal:
        for n in range(0, 20, 2):
            journal.append("r", [b"%d" % (m % 10) * 500 for m in (n, n + 1)], expected=n)
        shutil.copytree(folder / "live", folder / "state")  # before closing folds the log into the database
    (folder / "state" / "journal.db-shm").unlink()
    return folder / "state"


WRITER = """
import sys
from pathlib import Path
from planexec.journal.journal import Journal
with Journal.open(Path(sys.argv[1])) as journal:
    for seq in range(25):
        assert len(journal.read(sys.argv[2])) == seq
        journal.append(sys.argv[2], [b"x"], expected=seq)
"""


def test_eight_processes_write_their_runs_at_once(tmp_path: Path) -> None:
    # The folder does not exist yet: they also race for creating the file and its schema.
    children = [start(WRITER, str(tmp_path / "state"), f"run-{number}") for number in range(8)]
    errors = [child.communicate(timeout=60)[1] for child in children]
    assert errors == [""] * 8
    with Journal.open(tmp_path / "state") as journal:
        assert {(row.run_id, row.last_seq) for row in journal.runs()} == {(f"run-{n}", 25) for n in range(8)}
        assert all(journal.verify(row.run_id) is None for row in journal.runs())


def test_threads_share_one_journal(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:

        def write(run_id: str) -> None:
            for seq in range(10):
                journal.append(run_id, [b"x"], expected=seq)

        threads = [threading.Thread(target=write, args=(f"r{n}",)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(row.last_seq for row in journal.runs()) == [10] * 4


OPEN = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from planexec.core.errors import JournalError
from planexec.journal.journal import Journal
try:
    Journal.open(Path(sys.argv[1])).append("r", [b"x"], expected=0)
except JournalError as error:
    print(error.message, "|", error.hint)
"""


@pytest.mark.parametrize("exists", [True, False])
def test_a_read_only_file_system_is_one_line(tmp_path: Path, exists: bool) -> None:
    folder = tmp_path.resolve() / "state"
    folder.mkdir()
    if exists:
        Journal.open(folder).close()
    mounts = [Mount(path, path) for path in python_folders()]
    command = Command(
        (sys.executable, "-I", "-c", OPEN, str(folder), str(PROJECT)), Path("/tmp"), [*mounts, Mount(folder, folder)]
    )
    result = BubblewrapSandbox.find().run(command)
    assert (result.exit_code, result.stderr) == (0, b"")
    lines = result.stdout.decode().splitlines()
    assert len(lines) == 1
    assert "cannot be written to" in lines[0]
    assert "--state-dir" in lines[0]


def python_folders() -> list[Path]:
    """What Python and planexec need inside a sandbox."""
    return [Path(sys.base_prefix), Path(sys.prefix), PROJECT / "planexec"]


def test_reading_the_journal_needs_no_git() -> None:
    program = (
        "import sys, planexec.journal.journal, planexec.journal.artifacts, planexec.workspace.state\n"
        "print([name for name in sys.modules if name == 'git' or name.startswith(('git.', 'pytest', 'typer'))])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(PROJECT), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_the_latest_run_is_the_one_that_was_written_last(tmp_path: Path) -> None:
    """Whatever the clock says: it may have been in the future when the first run began."""
    for name, year in (("first", 2099), ("second", 2026)):
        with Journal.open(tmp_path, clock=lambda year=year: datetime(year, 1, 1, tzinfo=UTC)) as journal:
            journal.append(name, [b"{}"], expected=0)
    with Journal.open(tmp_path) as journal:
        assert journal.latest() == "second"
        assert [row.run_id for row in journal.runs()] == ["second", "first"]
