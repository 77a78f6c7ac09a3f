"""show, clean, --state-dir and the options that are refused: on runs that stand in the journal, none is run here."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from planexec.journal.artifacts import ArtifactStore
from planexec.journal.journal import Journal
from planexec.journal.runlog import RunLock
from tests.controller.proved import NEW, OLD, proved

from .conftest import CommandLine, commit, contents, differences, fingerprint, git, shop

DAY = 86400


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    (root / "a.py").write_bytes(OLD)
    (root / ".gitignore").write_text("/ours/\n")
    return commit(root).resolve()


@pytest.fixture
def state(tree: Path) -> Path:
    """The state folder with a proved run in it."""
    return proved_in(tree, tree / ".git" / "planexec")


def proved_in(tree: Path, folder: Path, **start: object) -> Path:
    proved(folder, tree, git(tree, "rev-parse", "HEAD").strip(), **start).journal.close()
    return folder


# show


def test_without_an_id_there_is_a_list(planexec: CommandLine, tree: Path, state: Path) -> None:
    said = planexec("show", cwd=tree)
    assert (said.code, said.err) == (0, "")
    things = planexec("show", "run-1", "--json", cwd=tree).document["things"]
    kinds = {each["id"]: each["kind"] for each in things}
    assert {"plan-1": "revision", "inspect": "step", "tests": "check", "ev-1": "evidence"}.items() <= kinds.items()
    assert all(each["id"] in said.out for each in things)


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("patch", "step", "Bring about what patch stands for"), ("tests", "check", "verify_related_tests"),
        ("plan-1", "revision", "because"), ("1", "revision", "because"), ("ev-tests", "evidence", "it passed"),
    ],
)  # fmt: skip
def test_one_thing_is_shown(planexec: CommandLine, tree: Path, state: Path, name: str, kind: str, words: str) -> None:
    said = planexec("show", "run-1", name, cwd=tree)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"{kind} ") and words in said.out
    document = planexec("show", "run-1", name, "--json", cwd=tree).document
    assert (document["kind"], document["run_id"]) == (kind, "run-1")


def test_an_artifact_is_found_by_its_first_digits_and_cannot_steer_the_terminal(
    planexec: CommandLine, tree: Path, state: Path
) -> None:
    digest = ArtifactStore(state / "artifacts").put(b"a\x1b[2Jb\n\xff\n")
    said = planexec("show", "run-1", digest[:12], cwd=tree)
    assert (said.code, said.err) == (0, "")
    assert "\x1b" not in said.out
    assert "a\\u001b[2Jb" in said.out and "\\xff" in said.out
    document = planexec("show", "run-1", digest[:12], "--json", cwd=tree).document
    assert (document["id"], document["size"]) == (digest, 9)


def test_what_is_not_there_is_said_with_what_is_near(planexec: CommandLine, tree: Path, state: Path) -> None:
    planexec("show", "run-1", "inspct", cwd=tree).refused(2, "nothing called 'inspct'", "did you mean 'inspect'")
    planexec("show", "run-1", "zzzzzzz", cwd=tree).refused(2, "nothing called 'zzzzzzz'", "planexec show RUN")
    planexec("show", "run-2", cwd=tree).refused(2, "no run 'run-2'")
    ((state / "artifacts") / ("abcd" + "0" * 60)).write_bytes(b"")
    ((state / "artifacts") / ("abcd" + "1" * 60)).write_bytes(b"")
    planexec("show", "run-1", "abcd", cwd=tree).refused(2, "2 artifacts", "more of its digits")


# apply --reverse and --branch, as commands


def test_apply_and_reverse_and_branch(planexec: CommandLine, tree: Path, state: Path) -> None:
    before = contents(tree)
    assert planexec("apply", cwd=tree).code == 0
    assert (tree / "a.py").read_bytes() == NEW
    done = planexec("apply", "--reverse", "--json", cwd=tree)
    assert done.document == {"run_id": "run-1", "applied": False, "files": ["a.py", "test_a.py"]}
    assert differences(before, contents(tree)) == []
    assert "the patch was applied and taken back" in planexec("status", cwd=tree).out
    planexec("apply", "--reverse", cwd=tree).refused(2, "not in the tree")
    planexec("apply", "--reverse", "--branch", "x", cwd=tree).refused(2, "--reverse does not go with --branch")
    nobody = {key: value for key, value in planexec.environment.items() if not key.startswith("GIT_")}
    planexec.environment = {**nobody, "HOME": str(tree.parent), "XDG_CONFIG_HOME": str(tree.parent)}
    planexec("apply", "--branch", "mend", cwd=tree).refused(2, "no user.name and user.email")
    (tree.parent / "included").write_text("[user]\nname = Ada\n")
    (tree.parent / ".gitconfig").write_text("[include]\npath = included\n[user]\nemail = ada@example.org\n")
    done = planexec("apply", "--branch", "mend", "--json", cwd=tree)
    assert done.document["commit"] == git(tree, "rev-parse", "mend").strip()
    assert git(tree, "log", "-1", "--format=%an %ce", "mend") == "Ada ada@example.org\n"
    assert differences(before, contents(tree)) == []
    planexec("apply", "--branch", "mend", cwd=tree).refused(3, "'mend' exists already")


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--branch", "x", "--dry-run"], 2, "--branch does not go with --dry-run"),
        (["--branch", "x", "--no-apply"], 2, "--branch does not go with --no-apply"),
        (["--branch", "x", "--include-dirty"], 2, "--branch does not go with --include-dirty"),
        (["--branch", "a..b"], 2, "cannot be the name of a branch"),
        (["--branch", "main"], 3, "'main' exists already"),
        (["--budget", "0"], 2, "--budget '0' is not a time above zero"),
        (["--budget=-5"], 2, "is not a time above zero"),
        (["--budget", "soon"], 2, "give seconds"),
        (["--state-dir", "."], 2, "lies inside the work tree"),
        (["--state-dir", "seen"], 2, "lies inside the work tree"),
        (["--state-dir", "a.py"], 2, "is not a folder"),
    ],
)
def test_options_that_do_not_fit_are_refused_before_anything_runs(
    planexec: CommandLine, tree: Path, options: list[str], code: int, words: str
) -> None:
    before = fingerprint(tree)
    planexec("fix", "test_a.py", *options, cwd=tree).refused(code, words)
    assert differences(before, fingerprint(tree)) == []
    assert not (tree / ".git" / "planexec").exists()


def test_a_dirty_tree_is_refused_with_the_way_out(planexec: CommandLine, tree: Path) -> None:
    (tree / "a.py").write_text("x = 3\n")
    planexec("fix", "test_a.py", cwd=tree).refused(3, "uncommitted changes: a.py", "--include-dirty")


# --state-dir


def test_state_may_lie_elsewhere(planexec: CommandLine, tree: Path, tmp_path: Path) -> None:
    folder = proved_in(tree, tmp_path / "state")
    planexec("status", cwd=tree).refused(2, "no run in this repository yet")
    assert "run-1" in planexec("status", "--state-dir", "../state", cwd=tree).out
    planexec.environment["PLANEXEC_STATE_DIR"] = str(folder)
    assert planexec("status", "--json", cwd=tree).document["run_id"] == "run-1"
    assert planexec("apply", cwd=tree).code == 0
    assert (tree / "a.py").read_bytes() == NEW
    assert not (tree / ".git" / "planexec").exists()


@pytest.mark.parametrize("folder", ["ours/state", ".git/mine"])
def test_state_may_lie_where_git_does_not_look(planexec: CommandLine, tree: Path, folder: str) -> None:
    proved_in(tree, tree / folder)
    assert planexec("status", "--state-dir", folder, "--json", cwd=tree).document["run_id"] == "run-1"


def test_a_state_folder_of_another_repository_is_refused(planexec: CommandLine, tree: Path, tmp_path: Path) -> None:
    other = shop(tmp_path / "other")
    folder = proved_in(tree, tmp_path / "state")
    (folder / "repository").write_text(str(tree / ".git"))
    planexec("status", "--state-dir", folder, cwd=other).refused(2, "runs of another repository")
    assert planexec("status", "--state-dir", folder, cwd=tree).code == 0
    (folder / "repository").write_text(str(tmp_path / "gone" / ".git"))
    assert planexec("status", "--state-dir", folder, cwd=other).code == 0


# clean


def kinds(planexec: CommandLine, tree: Path, *options: str) -> list[str]:
    done = planexec("clean", "--json", *options, cwd=tree)
    assert (done.code, done.err) == (0, "")
    return sorted(each["kind"] for each in done.document["freed"])


@pytest.fixture
def temporary(planexec: CommandLine, tmp_path: Path) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    planexec.environment["TMPDIR"] = str(folder)
    return folder


def copy(planexec: CommandLine, name: str, owner: Path) -> Path:
    folder = planexec.cache / "planexec" / "runs" / name
    (folder / "scratch").mkdir(parents=True)
    (folder / "scratch" / "file").write_bytes(b"12345")
    (folder / "owner").write_text(str(owner))
    return folder


@pytest.fixture
def held(state: Path) -> Iterator[RunLock]:
    lock = RunLock(state, "live")
    assert lock.acquire()
    yield lock
    lock.release()


def test_copies_of_killed_runs_and_of_repositories_that_are_gone_are_freed(
    planexec: CommandLine, tree: Path, state: Path, temporary: Path, held: RunLock
) -> None:
    killed, live = copy(planexec, "killed", state), copy(planexec, "live", state)
    other = shop(tree.parent / "other") / ".git" / "planexec"
    other.mkdir()
    (other / "journal.db").touch()
    theirs, gone = copy(planexec, "theirs", other), copy(planexec, "gone", tree.parent / "nowhere")
    unknown = planexec.cache / "planexec" / "runs" / "unknown"
    unknown.mkdir()
    assert kinds(planexec, tree, "--dry-run") == ["copy", "copy"]
    assert killed.exists() and gone.exists()
    said = planexec("clean", cwd=tree)
    assert said.out.startswith("freed ")
    assert "kept: copy live: a process works on it" in said.out
    assert "a run of this repository is going on" in said.out
    assert [each.exists() for each in (killed, gone, live, theirs, unknown)] == [False, False, True, True, True]


def test_temporary_folders_that_no_process_holds_are_freed(
    planexec: CommandLine, tree: Path, state: Path, temporary: Path
) -> None:
    old = time.time() - 2 * DAY
    for name in ("planexec-tests-left", "planexec-tests-held", "planexec-view-old", "planexec-view-new", "mine"):
        (temporary / name).mkdir()
        if name != "planexec-view-new":
            os.utime(temporary / name, (old, old))
    (temporary / "planexec-tests-young").mkdir()
    descriptor = os.open(temporary / "planexec-tests-held", os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        assert kinds(planexec, tree) == ["temporary", "temporary"]
    finally:
        os.close(descriptor)
    left = sorted(path.name for path in temporary.iterdir() if not path.name.startswith("planexec-git"))
    assert left == ["mine", "planexec-tests-held", "planexec-tests-young", "planexec-view-new"]


def test_throwaway_repositories_are_freed_but_those_in_which_a_run_goes_on_or_was_interrupted(
    planexec: CommandLine, tree: Path, state: Path, temporary: Path
) -> None:
    made = {}
    for name in ("done", "interrupted", "live", "beginning"):
        made[name] = shop(planexec.cache / "planexec" / "fixtures" / name)
        if name != "beginning":
            proved_in(made[name], made[name] / ".git" / "planexec")
    with Journal.open(made["interrupted"] / ".git" / "planexec") as journal:
        journal.append("run-2", [journal.read("run-1")[0].payload.replace(b"run-1", b"run-2")], expected=0)
    lock = RunLock(made["live"] / ".git" / "planexec", "run-9")
    assert lock.acquire()
    try:
        assert kinds(planexec, tree) == ["throwaway"]
        assert [name for name, path in made.items() if path.exists()] == ["interrupted", "live", "beginning"]
        assert kinds(planexec, made["interrupted"], "run-2") == ["run"]
    finally:
        lock.release()
    assert kinds(planexec, tree) == ["throwaway", "throwaway"]


def test_only_artifacts_that_no_run_refers_to_are_freed(
    planexec: CommandLine, tree: Path, state: Path, temporary: Path
) -> None:
    store = ArtifactStore(state / "artifacts")
    before = {path.name for path in store.folder.iterdir()}
    lost = store.put(b"nobody refers to this")
    (store.folder / ".1-2-aa.tmp").write_bytes(b"half")
    lock = RunLock(state, "run-2")
    assert lock.acquire()
    assert kinds(planexec, tree) == []  # a live run may be about to refer to it
    assert store.has(lost)
    lock.release()
    assert kinds(planexec, tree, "--older-than", "1") == []
    assert kinds(planexec, tree) == ["artifacts"]
    assert {path.name for path in store.folder.iterdir()} == before
    assert planexec("apply", cwd=tree).code == 0


def test_runs_are_forgotten_when_that_is_asked_for(
    planexec: CommandLine, tree: Path, state: Path, temporary: Path
) -> None:
    proved_in(tree, state, run_id="run-2")
    with Journal.open(state) as journal:
        journal.append("stopped", [journal.read("run-1")[0].payload.replace(b"run-1", b"stopped")], expected=0)
    assert kinds(planexec, tree, "--runs", "--older-than", "3") == []
    assert kinds(planexec, tree, "run-1") == ["run"]
    planexec("status", "run-1", cwd=tree).refused(2, "no run 'run-1'")
    assert planexec("diff", "run-2", cwd=tree).code == 0, "equal artifacts of another run stay"
    assert kinds(planexec, tree, "--runs") == ["artifacts", "run"]
    rows = planexec("status", "--all", "--json", cwd=tree).document["runs"]
    assert [row["run_id"] for row in rows] == ["stopped"], "what was interrupted stays until it is named"
    assert kinds(planexec, tree, "stopped") == ["artifacts", "run"]
    assert [*(state / "artifacts").iterdir()] == []
    planexec("clean", "run-1", cwd=tree).refused(2, "no run 'run-1'")


def test_where_nothing_was_run_there_is_nothing_to_forget(planexec: CommandLine, tree: Path, temporary: Path) -> None:
    assert kinds(planexec, tree) == []
    planexec("clean", "run-1", cwd=tree).refused(2, "no run in this repository yet")
    assert not (tree / ".git" / "planexec").exists()
