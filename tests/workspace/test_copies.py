from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from planexec.core.errors import EnvironmentFailure, JournalError, SafetyViolation, UsageError
from planexec.journal.artifacts import ArtifactStore
from planexec.sandbox.bubblewrap import BubblewrapSandbox
from planexec.sandbox.interface import Command, Mount
from planexec.workspace.copies import Workspace, owner_of
from planexec.workspace.entries import Change
from planexec.workspace.ignored import LARGE_BYTES
from planexec.workspace.manifest import changes, scan
from planexec.workspace.repository import Repository

from .building import contents, entry_of, fingerprint, git, make, paths, run, write


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = make(tmp_path / "r", {"a.py": "one\n", "d/b.py": "two\n", ".gitignore": "/venv/\n/gen.py\n/big/\n"})
    write(root, {"gen.py": "generated", "venv/pyvenv.cfg": "x", "venv/lib": "x", "__pycache__/a.pyc": "x"})
    return root


def create(root: Path, tmp_path: Path, store: ArtifactStore, run_id: str = "run-1") -> Workspace:
    return Workspace.create(Repository.open(root), tmp_path / "cache", run_id, store)


def test_our_own_state_in_an_ignored_folder_is_neither_copied_nor_mounted(root: Path, tmp_path: Path) -> None:
    write(root, {"big/state/journal.db": "secret", "big/other": "needed"})
    with (root / "big" / "filler").open("wb") as filler:
        filler.truncate(LARGE_BYTES + 1)  # a folder of this size would be mounted as it is
    workspace = create(root, tmp_path, ArtifactStore(root / "big" / "state" / "artifacts"))
    assert [mount.target.name for mount in workspace.mounts] == ["venv"]
    for tree in (workspace.pristine, workspace.scratch):
        assert (tree / "big" / "other").read_text() == "needed"
        assert not (tree / "big" / "state").exists()


def test_copies_say_whose_they_are(root: Path, tmp_path: Path, store: ArtifactStore) -> None:
    workspace = create(root, tmp_path, store)
    assert owner_of(workspace.folder) == store.folder.parent.resolve()
    again = Workspace.rebuild(tmp_path / "cache", "run-1", store, workspace.key)
    assert owner_of(again.folder) == store.folder.parent.resolve()
    assert owner_of(Workspace.reopen(tmp_path / "cache", "run-1", store).folder) == store.folder.parent.resolve()
    assert owner_of(tmp_path) is None


def test_the_copies_hold_what_tests_need_and_nothing_else(root: Path, tmp_path: Path, store: ArtifactStore) -> None:
    workspace = create(root, tmp_path, store)
    expected = {key: value for key, value in contents(root).items() if not key.startswith(("venv", "__pycache__"))}
    assert "gen.py" in expected
    for tree in (workspace.pristine, workspace.scratch):
        assert contents(tree) == expected
        assert list((tree / "venv").iterdir()) == []
        assert list((tree / ".git").iterdir()) == []
        assert tree.stat().st_uid == os.getuid()
    assert workspace.mounts == (Mount(root / "venv", root / "venv"),)
    assert sorted(workspace.base.entries) == sorted(expected)
    assert (workspace.base.folders, workspace.base.left_out) == (["venv"], [])
    assert workspace.folder.stat().st_mode & 0o077 == 0


def test_making_and_discarding_leaves_the_users_tree_alone(root: Path, tmp_path: Path, store: ArtifactStore) -> None:
    before = fingerprint(root)
    workspace = create(root, tmp_path, store)
    with workspace.clean_tree([Change("a.py", workspace.base.entries["a.py"], None)]):
        pass
    (workspace.scratch / "a.py").write_text("changed")
    workspace.discard()
    workspace.discard()
    assert fingerprint(root) == before
    assert not workspace.folder.exists()


def test_a_submodule_is_copied_as_plain_files(root: Path, tmp_path: Path, store: ArtifactStore) -> None:
    part = make(tmp_path / "part", {"p": "x"})
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(part), "sub")
    git(root, "commit", "-qm", "sub")
    workspace = create(root, tmp_path, store)
    assert (workspace.scratch / "sub/p").read_text() == "x"
    assert not (workspace.scratch / "sub/.git").exists()


def test_a_large_ignored_file_is_mounted_over_an_empty_one(root: Path, tmp_path: Path, store: ArtifactStore) -> None:
    write(root, {".gitignore": "/data.bin\n"})
    with (root / "data.bin").open("wb") as stream:
        stream.truncate(33 * 1024 * 1024)
    workspace = create(root, tmp_path, store)
    assert workspace.mounts[0].target == root / "data.bin"
    assert (workspace.scratch / "data.bin").read_bytes() == b""


def test_the_mounts_work_in_the_sandbox(root: Path, tmp_path: Path, store: ArtifactStore) -> None:
    workspace = create(root, tmp_path, store)
    program = "cat a.py venv/lib gen.py; echo x > a.py; echo x > venv/lib; true"
    mounts = [Mount(workspace.scratch, root, writable=True), *workspace.mounts]
    result = BubblewrapSandbox.find().run(Command(("/bin/sh", "-c", program), root, mounts))
    assert result.stdout == b"one\nxgenerated"
    assert b"Read-only" in result.stderr
    assert (root / "venv/lib").read_text() == "x"
    after = scan(workspace.scratch, store)
    assert paths(changes(workspace.base, after)) == ["a.py"]
    assert after.left_out == []


def test_a_clean_tree_is_the_pristine_tree_with_the_changes(root: Path, tmp_path: Path, store: ArtifactStore) -> None:
    workspace = create(root, tmp_path, store)
    base = workspace.base.entries
    write(workspace.scratch, {"a.py": "scratch work that is not part of it", "junk": "x"})
    store.put(b"new")
    wanted = [
        Change("a.py", base["a.py"], entry_of(b"new")),
        Change("d/b.py", base["d/b.py"], None),
        Change("d", None, entry_of(b"new", 0o100755)),  # a file where the folder was
        Change("new/deep/x", None, entry_of(b"new")),
    ]
    with workspace.clean_tree(wanted) as tree, workspace.clean_tree(wanted) as other:
        assert tree != other
        assert {**contents(tree)} == {
            ".gitignore": contents(root)[".gitignore"],
            "a.py": b"new",
            "d": b"new",
            "gen.py": b"generated",
            "new/deep/x": b"new",
        }
        assert (tree / "d").stat().st_mode & 0o111
        assert list((tree / ".git").iterdir()) == []
        assert {(tree / name).stat().st_ino for name in base if (tree / name).is_file()}.isdisjoint(
            (workspace.pristine / name).stat().st_ino for name in base
        )
        write(tree, {"a.py": "written by the tests", "__pycache__/x.pyc": "x"})
    assert not tree.exists()
    assert scan(workspace.pristine, store) == workspace.base


def test_a_clean_tree_goes_also_when_judging_fails(root: Path, tmp_path: Path, store: ArtifactStore) -> None:
    workspace = create(root, tmp_path, store)
    with pytest.raises(RuntimeError), workspace.clean_tree() as tree:
        (tree / "d").chmod(0)
        raise RuntimeError
    assert sorted(path.name for path in workspace.folder.iterdir()) == [
        "owner",
        "pristine",
        "scratch",
        "workspace.json",
    ]


@pytest.mark.parametrize("path", [".git/hooks/x", "../x", "sub/.GIT/config", "/etc/x"])
def test_changes_that_leave_the_tree_are_refused(root: Path, tmp_path: Path, store: ArtifactStore, path: str) -> None:
    workspace = create(root, tmp_path, store)
    store.put(b"x")
    with pytest.raises(SafetyViolation), workspace.clean_tree([Change(path, None, entry_of(b"x"))]):
        pass
    assert not (tmp_path / "x").exists()


def test_a_change_below_a_link_is_refused(root: Path, tmp_path: Path, store: ArtifactStore) -> None:
    (root / "out").symlink_to(tmp_path)
    workspace = create(root, tmp_path, store)
    store.put(b"x")
    wanted = [Change("out/x", None, entry_of(b"x"))]
    with pytest.raises(SafetyViolation, match="through the link"), workspace.clean_tree(wanted):
        pass
    assert not (tmp_path / "x").exists()


def test_a_later_process_finds_it(root: Path, tmp_path: Path, store: ArtifactStore) -> None:
    workspace = create(root, tmp_path, store)
    write(workspace.scratch, {"a.py": "work"})
    again = Workspace.reopen(tmp_path / "cache", "run-1", store)
    assert again == workspace
    assert (again.scratch / "a.py").read_text() == "work"


def test_a_discarded_workspace_is_one_line_and_can_be_rebuilt(root: Path, tmp_path: Path, store: ArtifactStore) -> None:
    (root / "d/b.py").chmod(0o755)
    workspace = create(root, tmp_path, store)
    workspace.discard()
    with pytest.raises(EnvironmentFailure, match="run-1 is not in") as caught:
        Workspace.reopen(tmp_path / "cache", "run-1", store)
    assert "\n" not in caught.value.message
    (root / "a.py").write_text("the user goes on working")
    again = Workspace.rebuild(tmp_path / "cache", "run-1", store, workspace.key)
    assert again == workspace == Workspace.reopen(tmp_path / "cache", "run-1", store)
    assert scan(again.pristine, store) == scan(again.scratch, store) == workspace.base
    assert (again.pristine / "a.py").read_text() == "one\n"


def test_an_artifact_that_is_no_workspace_is_one_line(tmp_path: Path, store: ArtifactStore) -> None:
    with pytest.raises(JournalError, match="does not describe"):
        Workspace.rebuild(tmp_path / "cache", "run-1", store, store.put(b"{}"))


@pytest.mark.parametrize("run_id", ["", "..", "../x", "a/b", ".hidden", "x" * 129])
def test_a_run_id_is_no_path(root: Path, tmp_path: Path, store: ArtifactStore, run_id: str) -> None:
    with pytest.raises(UsageError):
        create(root, tmp_path, store, run_id)


def test_our_own_folders_inside_the_users_tree_are_not_copied(root: Path, store: ArtifactStore) -> None:
    """A repository in the home folder holds the cache; a state folder may be anywhere."""
    write(root, {".gitignore": ".cache/\nstate/\n", ".cache/other": "x"})
    inside = ArtifactStore(root / "state/artifacts")
    inside.put(b"x")
    workspace = Workspace.create(Repository.open(root), root / ".cache/planexec", "run-1", inside)
    assert ".cache/other" in contents(workspace.scratch)
    assert not [name for name in contents(workspace.scratch) if name.startswith((".cache/planexec", "state/art"))]


def test_what_cannot_be_written_is_one_line(root: Path, tmp_path: Path, store: ArtifactStore) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(EnvironmentFailure, match="cannot make the working copy") as caught:
        create(root, tmp_path, store)
    assert "\n" not in caught.value.message
    assert "XDG_CACHE_HOME" in caught.value.hint


CREATE = """
import os, signal, sys
from pathlib import Path
from planexec.journal.artifacts import ArtifactStore
from planexec.workspace.copies import Workspace
from planexec.workspace.repository import Repository
class Dying(ArtifactStore):
    def put(self, data): os.kill(os.getpid(), signal.SIGKILL)
Workspace.create(Repository.open(Path(sys.argv[1])), Path(sys.argv[2]), "run-1", Dying(Path(sys.argv[3])))
"""


def test_killed_while_it_is_made_it_is_not_taken_for_whole(root: Path, tmp_path: Path, store: ArtifactStore) -> None:
    code, _, _ = run(CREATE, str(root), str(tmp_path / "cache"), str(store.folder))
    assert code == -signal.SIGKILL
    assert (tmp_path / "cache/runs/run-1/scratch").is_dir()
    with pytest.raises(EnvironmentFailure):
        Workspace.reopen(tmp_path / "cache", "run-1", store)
    workspace = create(root, tmp_path, store)
    assert scan(workspace.scratch, store) == workspace.base
