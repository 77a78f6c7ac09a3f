from __future__ import annotations

from pathlib import Path

import pytest

from planexec.controller.applying import apply_patch, branch_patch, commit_message, recover_apply, reverse_patch
from planexec.core.errors import ConflictError, UsageError
from planexec.core.state import CheckState, RunState
from planexec.journal.artifacts import ArtifactStore
from planexec.journal.journal import Journal
from planexec.journal.runlog import RunLog

from ..workspace.building import contents, fingerprint, git, make, run
from .proved import BORN, KILLED, NEW, OLD, proved

MOMENTS = {"reverse": 7, "mend": 5}
BEFORE, AFTER = {"a.py": OLD}, {"a.py": NEW, "test_a.py": BORN}
ME = {"user.name": "Ada", "user.email": "ada@example.org"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = make(tmp_path / "r", {"a.py": OLD})
    for name, value in ME.items():
        git(root, "config", name, value)
    return root


@pytest.fixture
def log(tmp_path: Path, root: Path) -> RunLog:
    return proved(tmp_path / "state", root, git(root, "rev-parse", "HEAD").strip())


@pytest.fixture
def store(tmp_path: Path, log: RunLog) -> ArtifactStore:
    return ArtifactStore(tmp_path / "state" / "artifacts")


def reopened(tmp_path: Path) -> RunLog:
    return RunLog(Journal.open(tmp_path / "state", create=False), "run-1")


def test_what_was_applied_is_taken_back_and_applied_again(root: Path, log: RunLog, store: ArtifactStore) -> None:
    with pytest.raises(UsageError, match="not in the tree"):
        reverse_patch(log, store)
    for _ in range(2):
        assert apply_patch(log, store) == ["a.py", "test_a.py"]
        assert contents(root) == AFTER
        assert reverse_patch(log, store) == ["a.py", "test_a.py"]
        assert (contents(root), log.state.apply) == (BEFORE, "reversed")


def test_what_the_person_changed_since_is_not_taken_back(root: Path, log: RunLog, store: ArtifactStore) -> None:
    apply_patch(log, store)
    (root / "a.py").write_bytes(NEW + b"# mine\n")
    before = fingerprint(root)
    with pytest.raises(ConflictError, match=r"a\.py"):
        reverse_patch(log, store)
    assert fingerprint(root) == before
    assert log.state.apply == "finished"


@pytest.mark.parametrize("moment", range(1, MOMENTS["reverse"] + 1))
def test_killed_while_it_is_taken_back(
    tmp_path: Path, root: Path, log: RunLog, store: ArtifactStore, moment: int
) -> None:
    apply_patch(log, store)
    code, _, _ = run(KILLED, str(tmp_path / "state"), "reverse", str(moment))
    assert code == -9
    again = reopened(tmp_path)
    told = recover_apply(again, store)
    assert again.state.apply in {"reversed", "finished"}
    assert contents(root) == (BEFORE if again.state.apply == "reversed" else AFTER)
    if told:
        assert told.startswith("apply --reverse of run run-1 was ")
    assert recover_apply(again, store) == ""


def test_killed_while_it_is_taken_back_later_work_is_kept(
    tmp_path: Path, root: Path, log: RunLog, store: ArtifactStore
) -> None:
    apply_patch(log, store)
    assert run(KILLED, str(tmp_path / "state"), "reverse", "3")[0] == -9
    (root / "a.py").write_bytes(b"mine\n")
    again = reopened(tmp_path)
    assert recover_apply(again, store) == "apply --reverse of run run-1 was undone"
    assert (contents(root), again.state.apply) == ({"a.py": b"mine\n", "test_a.py": BORN}, "finished")


def test_all_moments_are_known(tmp_path: Path, log: RunLog, store: ArtifactStore) -> None:
    apply_patch(log, store)
    for what, moments in MOMENTS.items():
        code, out, err = run(KILLED, str(tmp_path / "state"), what, "0")
        assert (code, out) == (0, f"{moments}\n"), err


def test_a_branch_has_the_patch_and_nothing_else_changes(root: Path, log: RunLog, store: ArtifactStore) -> None:
    before, index = fingerprint_of_the_users(root), (root / ".git" / "index").read_bytes()
    commit = branch_patch(log, store, "fixes/mend")
    assert fingerprint_of_the_users(root) == before
    assert (root / ".git" / "index").read_bytes() == index
    assert git(root, "rev-parse", "fixes/mend", "fixes/mend^", "HEAD").split() == [
        commit,
        *[log.state.base["commit"]] * 2,
    ]
    assert git(root, "diff-tree", "-r", "--name-status", "HEAD", "fixes/mend") == "M\ta.py\nA\ttest_a.py\n"
    assert git(root, "show", "fixes/mend:a.py") == NEW.decode()
    assert git(root, "log", "-1", "--format=%an|%ae|%cn|%ce", commit) == "Ada|ada@example.org|Ada|ada@example.org\n"
    assert (log.state.branch, log.state.branch_commit, log.state.branch_made) == ("fixes/mend", commit, "finished")
    with pytest.raises(ConflictError, match="'fixes/mend' exists already"):
        branch_patch(log, store, "fixes/mend")


def fingerprint_of_the_users(root: Path) -> dict[str, tuple[int, ...]]:
    """The work tree, HEAD and configuration, without folders of git."""
    kept = {str(root / ".git" / name) for name in ("HEAD", "config", "index")}
    return {path: value for path, value in fingerprint(root).items() if f"{root}/.git" not in path or path in kept}


@pytest.mark.parametrize("moment", range(1, MOMENTS["mend"] + 1))
def test_killed_while_a_branch_is_made(
    tmp_path: Path, root: Path, log: RunLog, store: ArtifactStore, moment: int
) -> None:
    assert run(KILLED, str(tmp_path / "state"), "mend", str(moment))[0] == -9
    again = reopened(tmp_path)
    told = recover_apply(again, store)
    made = git(root, "branch", "--list", "--format=%(objectname)", "mend").strip()
    assert made == (again.state.branch_commit if again.state.branch_made else "")
    if moment > 1:
        assert (again.state.branch_made, git(root, "show", "mend:a.py")) == ("finished", NEW.decode())
        assert told in ("", "branch 'mend' of run run-1 was finished")
    assert contents(root) == BEFORE
    assert recover_apply(again, store) == ""


def test_killed_and_then_the_name_is_taken(tmp_path: Path, root: Path, log: RunLog, store: ArtifactStore) -> None:
    assert run(KILLED, str(tmp_path / "state"), "mend", "3")[0] == -9
    git(root, "branch", "mend")
    again = reopened(tmp_path)
    assert recover_apply(again, store) == "branch 'mend' of run run-1 was undone"
    assert git(root, "rev-parse", "mend") == git(root, "rev-parse", "HEAD")
    assert branch_patch(again, store, "other")


def test_no_commit_on_top_of_what_is_uncommitted(tmp_path: Path, root: Path) -> None:
    log = proved(tmp_path / "dirty", root, git(root, "rev-parse", "HEAD").strip(), dirty=("mine.py",))
    with pytest.raises(UsageError, match="uncommitted"):
        branch_patch(log, ArtifactStore(tmp_path / "dirty" / "artifacts"), "mend")


def test_the_message_is_the_goal_the_run_and_the_checks() -> None:
    state = RunState(
        run_id="r-1", goal="Mend\x1b[31m  it\n\nwell", checks={"tests": CheckState("verify_related_tests")}
    )
    assert commit_message(state) == (
        "Mend[31m it well\n\nplanexec run r-1; checks that passed:\n  tests: verify_related_tests\n"
    )
    lines = commit_message(RunState(run_id="r-1", goal="word " * 40)).splitlines()
    assert len(lines[0]) <= 72 and lines[0].endswith("...")
    assert lines[2] == ("word " * 40).strip()
