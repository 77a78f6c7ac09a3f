"""A4: the user's tree is the same after a dry-run, a blocked run, and kills at random moments and at every event.

``PLANEXEC_KILLS`` sets how many random moments are tried (20 for a release; a few by default).
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from planexec.core.state import RunState
from planexec.journal.journal import Journal
from planexec.journal.runlog import RunLog, events_of, resolve

from .conftest import (
    FAILING,
    FAULTY,
    FIXED,
    CommandLine,
    Print,
    command_line,
    contents,
    differences,
    fingerprint,
    furnished,
    git,
)
from .kills import alive, killed

pytestmark = pytest.mark.slow  # dozens of real runs, killed at every point

KILLS = int(os.environ.get("PLANEXEC_KILLS", "4"))
SEED = int(os.environ.get("PLANEXEC_SEED", "0")) or random.SystemRandom().randrange(1, 1_000_000)
FEW_STEPS = f"""
goal: Totals count the shipping
success:
  works: {{verifier: verify_named_tests, tests: [{FAILING}], step: patch}}
limits: {{repair_seconds: 60, repair_candidates: 3}}
"""
WITH_EXAMPLE = """
goal: Totals count the shipping
success:
  reproduction:
    runs: 1
    example:
      file: tests/test_written.py
      imports: from shop.basket import total
      actual: total([2, 3], 4)
      expected: 9
      shows: 1
limits: {repair_seconds: 60}
"""
OUT_OF_REACH = f"""
goal: Totals are written in words
success:
  reproduction: {{tests: [{FAILING}], runs: 1}}
limits: {{repair_seconds: 3, replan_budget: 1}}
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return furnished(tmp_path / "work")


def test_the_picture_of_a_tree_sees_what_may_not_happen(tree: Path) -> None:
    """So that the other tests can fail: a touched file, a mode, a link, a new or missing file, a refreshed index."""
    before = fingerprint(tree)
    assert fingerprint(tree) == before
    spoilt: dict[str, Callable[[], object]] = {
        "shop/words.py": (tree / "shop/words.py").touch,
        "run.sh": lambda: (tree / "run.sh").chmod(0o755),
        "build/empty": (tree / "build/empty").rmdir,
        "yesterday.log": (tree / "yesterday.log").unlink,
        "elsewhere": lambda: (tree / "elsewhere").symlink_to("nowhere"),
        ".git/index": lambda: git(tree, "update-index", "--refresh"),
    }
    for path, spoil in spoilt.items():
        before = fingerprint(tree)
        spoil()
        assert path in differences(before, fingerprint(tree))


def test_a_dry_run_leaves_the_tree_as_it_was(planexec: CommandLine, tree: Path) -> None:
    before = fingerprint(tree)
    done = planexec("fix", FAILING, "--dry-run", "--json", cwd=tree)
    assert done.code == 0, done.err
    assert FIXED in done.document["diff"]["patch"]
    assert differences(before, fingerprint(tree)) == []
    planexec("apply", cwd=tree).refused(2, "dry-run")
    assert planexec("status", cwd=tree).code == 0
    assert differences(before, fingerprint(tree)) == []


def test_a_blocked_run_leaves_the_tree_as_it_was(planexec: CommandLine, tree: Path, tmp_path: Path) -> None:
    (tmp_path / "contract.yaml").write_text(OUT_OF_REACH)
    test = tree / "tests" / "test_basket.py"
    test.write_text(test.read_text().replace("total([2, 3], 4) == 9", 'total([2, 3], 4) == ["nine", 9.5]'))
    git(tree, "commit", "--quiet", "--all", "--message", "another wish")
    before = fingerprint(tree)
    done = planexec("run", tmp_path / "contract.yaml", "--json", cwd=tree)
    assert (done.code, done.document["status"]) == (3, "blocked"), done.err
    assert differences(before, fingerprint(tree)) == []
    planexec("apply", cwd=tree).refused(2, "no proven patch")
    assert differences(before, fingerprint(tree)) == []


def test_a_tree_with_uncommitted_work_is_refused_and_left_alone(planexec: CommandLine, tree: Path) -> None:
    (tree / "shop" / "words.py").write_text("def plural(word, count):\n    return word\n")
    (tree / "draft.py").write_text("half = ")
    before = fingerprint(tree)
    planexec("fix", FAILING, cwd=tree).refused(3, "draft.py", "shop/words.py", "uncommitted")
    assert differences(before, fingerprint(tree)) == []


# Kills. The whole process group dies at once, as with a closed terminal or the out-of-memory killer.


@dataclass(frozen=True)
class Undisturbed:
    """The names of a run's events, in order, and how long it took."""

    events: list[str]
    seconds: float


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    folder = tmp_path_factory.mktemp("undisturbed")
    planexec, tree = command_line(folder), furnished(folder / "work")
    began = time.monotonic()
    done = planexec("run", _contract(folder), "--events", cwd=tree)
    seconds = time.monotonic() - began
    assert done.code == 0, done.err
    assert _fixed(tree)
    return Undisturbed([json.loads(line)["event"] for line in done.out.splitlines()], seconds)


@pytest.mark.parametrize("number", range(KILLS))
def test_killed_at_a_random_moment(undisturbed: Undisturbed, tmp_path: Path, number: int) -> None:
    dice = random.Random(f"{SEED}/{number}")
    planexec, tree = command_line(tmp_path), furnished(tmp_path / "work")
    before, whole = fingerprint(tree), contents(tree)
    with killed(planexec, tree, "run", _contract(tmp_path), "--no-apply", "--events"):
        time.sleep(dice.uniform(0, undisturbed.seconds))
    assert differences(before, fingerprint(tree)) == [], f"PLANEXEC_SEED={SEED}"
    _settled(planexec, tree, whole)


def test_killed_at_every_event(undisturbed: Undisturbed, tmp_path: Path) -> None:
    """One undisturbed run says how many events there are; then one run is killed at each of them."""
    names = undisturbed.events
    assert names[0] == "run_started"
    assert names[-3:] == ["run_ended", "apply_intended", "apply_ended"]
    places = [(tmp_path / f"at-{number}", number, name) for number, name in enumerate(names, 1)]
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        problems = [*pool.map(lambda place: _kill_at(*place), places)]
    assert [problem for problem in problems if problem] == []


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_asked_to_stop_it_stops_in_good_order(tmp_path: Path, name: str, code: int) -> None:
    planexec, tree = command_line(tmp_path), furnished(tmp_path / "work")
    before = fingerprint(tree)
    process = planexec.started("run", _contract(tmp_path), "--events", cwd=tree)
    assert process.stdout is not None
    while json.loads(process.stdout.readline()).get("tool") != "repair":
        pass
    process.send_signal(signal.Signals[name])
    last = [json.loads(line) for line in process.stdout][-1]
    assert process.wait(60) == code
    process.stdout.close()
    assert last["event"] == "run_interrupted"
    assert alive(planexec) == []
    assert [*(planexec.cache / "planexec" / "runs").iterdir()] == [], "its copies are still there"
    assert planexec("status", "--json", cwd=tree).document["status"] == "interrupted"
    assert differences(before, fingerprint(tree)) == []


def _kill_at(folder: Path, number: int, name: str) -> str:
    """Kill a run when its event ``number`` arrives; what is wrong afterwards, or nothing."""
    planexec, tree = command_line(folder), furnished(folder / "work")
    before, whole = fingerprint(tree), contents(tree)
    with killed(planexec, tree, "run", _contract(folder), "--events") as told:
        for _ in range(number):
            line = told.readline()
    if json.loads(line)["event"] != name:
        return f"event {number} was {line!r}, not {name}"
    state, stored = _journalled(tree)
    if stored < number:
        return f"event {number} ({name}) was told and is not in the journal"
    if name in ("run_ended", "apply_intended", "apply_ended"):  # from here on the patch may be on its way
        return _problem_after_apply(planexec, tree, whole)
    touched = differences(before, fingerprint(tree))
    return f"killed at event {number} ({name}): {touched} changed" if touched or state.apply else ""


def _contract(folder: Path) -> Path:
    path = folder / "contract.yaml"
    path.write_text(FEW_STEPS)
    return path


def _journalled(tree: Path) -> tuple[RunState, int]:
    """The state of the latest run and the number of its events, read from what the kill left on the disk."""
    with Journal.open(tree / ".git" / "planexec", create=False) as journal:
        run_id = resolve(journal)
        return RunLog(journal, run_id).state, len(events_of(journal, run_id))


def _settled(planexec: CommandLine, tree: Path, whole: Print) -> None:
    """The next command works, says the truth about the killed run, and changes nothing."""
    said = planexec("status", "--json", cwd=tree)
    if said.code == 2 and "no run in this repository yet" in said.err:
        pass  # it died before the first event
    else:
        assert said.code == 0, said.err
        assert said.document["status"] in ("interrupted", "succeeded")
        assert said.document["applied"] == ""
    assert differences(whole, contents(tree)) == []


# Kills within the applying itself.


def _problem_after_apply(planexec: CommandLine, tree: Path, whole: Print) -> str:
    """Whatever was under way, the next command leaves the tree exactly as before or exactly as after."""
    said = planexec("status", "--json", cwd=tree)
    if said.code != 0:
        return f"status after the kill: exit {said.code}, {said.err}"
    touched, applied = differences(whole, contents(tree)), said.document["applied"]
    if applied in ("", "undone"):
        return f"applied is '{applied}', but {touched} changed" if touched else ""
    if applied != "finished":
        return f"applied is still '{applied}'"
    return "" if touched == ["shop/basket.py"] and _fixed(tree) else f"applied, and {touched} changed"


def _fixed(tree: Path) -> bool:
    text = (tree / "shop" / "basket.py").read_text()
    return FIXED in text and FAULTY not in text


APPLYING = textwrap.dedent("""
    import os, signal, sys
    from pathlib import Path

    from planexec.controller.applying import apply_patch
    from planexec.journal.artifacts import ArtifactStore
    from planexec.journal.journal import Journal
    from planexec.journal.runlog import RunLock, RunLog

    folder, run_id, die_at = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    moments = 0

    def step(word):
        global moments
        moments += 1
        if moments == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    lock = RunLock(folder, run_id)
    assert lock.acquire()
    with Journal.open(folder, create=False) as journal:
        log = RunLog(journal, run_id)
        log.listeners.append(lambda stored, event: step(type(event).__name__))
        apply_patch(log, ArtifactStore(folder / "artifacts"), step=step)
    print(moments)
""")


@dataclass(frozen=True)
class Proved:
    """A proved run whose patch changes one file and brings another; it is put back for each kill, at the same place."""

    planexec: CommandLine
    tree: Path
    kept: Path
    run_id: str
    before: Print
    after: Print

    def put_back(self) -> Print:
        """The tree, the index and the journal as they were before the patch was applied; returns their picture."""
        shutil.rmtree(self.tree)
        shutil.copytree(self.kept, self.tree, symlinks=True)
        return fingerprint(self.tree)

    def apply(self, die_at: int) -> subprocess.CompletedProcess[str]:
        """Apply in a process that kills itself at its moment ``die_at``."""
        command = [sys.executable, "-c", APPLYING, str(self.tree / ".git" / "planexec"), self.run_id, str(die_at)]
        return subprocess.run(command, env=self.planexec.environment, capture_output=True, text=True, check=False)


TOUCHED = ["shop/basket.py", "tests/test_written.py"]
MOMENTS = 8
"""Of applying: the intent, then before, written and after for both files, then the end."""


@pytest.fixture(scope="module")
def proved(tmp_path_factory: pytest.TempPathFactory) -> Proved:
    folder = tmp_path_factory.mktemp("proved")
    planexec, tree = command_line(folder), furnished(folder / "work")
    (folder / "contract.yaml").write_text(WITH_EXAMPLE)
    done = planexec("run", folder / "contract.yaml", "--no-apply", "--json", cwd=tree)
    assert done.code == 0, done.err
    assert done.document["diff"]["files"] == TOUCHED
    shutil.copytree(tree, folder / "kept", symlinks=True)
    before = contents(tree)
    assert planexec("apply", cwd=tree).code == 0
    return Proved(planexec, tree, folder / "kept", done.document["run_id"], before, contents(tree))


def test_an_undisturbed_apply_changes_the_files_of_the_patch_alone(proved: Proved) -> None:
    picture = proved.put_back()
    ended = proved.apply(0)
    assert (ended.returncode, ended.stdout) == (0, f"{MOMENTS}\n"), ended.stderr
    assert differences(proved.before, proved.after) == TOUCHED
    assert differences(proved.after, contents(proved.tree)) == []
    assert set(differences(picture, fingerprint(proved.tree))) <= {*TOUCHED, "shop", "tests"}


@pytest.mark.parametrize("moment", range(1, MOMENTS + 1))
def test_killed_within_applying_it_is_finished_or_undone(proved: Proved, moment: int) -> None:
    picture = proved.put_back()
    ended = proved.apply(moment)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    said = proved.planexec("status", "--json", cwd=proved.tree)
    assert said.code == 0, said.err
    expected = {"finished": proved.after, "undone": proved.before}[said.document["applied"]]
    assert differences(expected, contents(proved.tree)) == []
    assert set(differences(picture, fingerprint(proved.tree))) <= {*TOUCHED, "shop", "tests"}
    again = proved.planexec("status", "--json", cwd=proved.tree)
    assert (again.err, again.document) == ("", said.document)


@pytest.mark.parametrize("moment", range(1, MOMENTS + 1))
def test_killed_within_applying_later_work_of_the_person_is_kept(proved: Proved, moment: int) -> None:
    """Somebody writes into a touched file before the next command: it stays, and the rest is one or the other."""
    proved.put_back()
    assert proved.apply(moment).returncode == -signal.SIGKILL
    theirs = proved.tree / "shop" / "basket.py"
    theirs.write_text("total = sum  # shorter\n")
    said = proved.planexec("status", "--json", cwd=proved.tree)
    assert said.code == 0, said.err
    assert theirs.read_text() == "total = sum  # shorter\n"
    expected = {"finished": proved.after, "undone": proved.before}[said.document["applied"]]
    assert differences(expected, contents(proved.tree)) == ["shop/basket.py"]
    if said.document["applied"] == "undone":
        proved.planexec("apply", cwd=proved.tree).refused(3, "shop/basket.py")
        assert theirs.read_text() == "total = sum  # shorter\n"


def test_killed_before_the_intent_is_written_nothing_is_mended(proved: Proved) -> None:
    picture = proved.put_back()
    marker = proved.tree / ".git" / "planexec" / "applying" / proved.run_id
    marker.parent.mkdir(exist_ok=True)
    marker.touch()
    said = proved.planexec("status", "--json", cwd=proved.tree)
    assert (said.code, said.err, said.document["applied"]) == (0, "", "")
    assert differences(picture, fingerprint(proved.tree)) == []
    assert not marker.exists()
