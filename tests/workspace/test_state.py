from __future__ import annotations

from pathlib import Path

import pytest

from planexec.core.errors import EnvironmentFailure
from planexec.workspace.state import locate, repository_root, state_folder

from .building import git, make


def test_from_the_root_and_from_below(tmp_path: Path) -> None:
    root = make(tmp_path / "r", {"a/b/c.py": "x"})
    for start in (root, root / "a", root / "a/b", root / "a/b/c.py"):
        assert repository_root(start) == root
        assert state_folder(start) == root / ".git/planexec"


def test_a_linked_work_tree_shares_the_state(tmp_path: Path) -> None:
    root = make(tmp_path / "r", {"a": "x"})
    git(root, "worktree", "add", "-q", "../linked")
    place = locate(tmp_path / "linked")
    assert place.root == (tmp_path / "linked").resolve()
    assert place.git_dir == root / ".git/worktrees/linked"
    assert place.common_dir == root / ".git"
    assert state_folder(tmp_path / "linked") == state_folder(root)


def test_a_submodule_is_a_repository_of_its_own(tmp_path: Path) -> None:
    part = make(tmp_path / "part", {"p": "x"})
    root = make(tmp_path / "r", {"a": "x"})
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(part), "sub")
    place = locate(root / "sub")
    assert place.root == root / "sub"
    assert place.git_dir == place.common_dir == root / ".git/modules/sub"


def test_a_git_folder_elsewhere_and_a_link_to_one(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    git(tmp_path / "r", "init", "-q", "--separate-git-dir", "../store.git")
    assert locate(tmp_path / "r").git_dir == (tmp_path / "store.git").resolve()
    (tmp_path / "linking").mkdir()
    (tmp_path / "linking/.git").symlink_to(tmp_path / "store.git")
    assert locate(tmp_path / "linking").git_dir == (tmp_path / "store.git").resolve()


def test_an_empty_git_folder_is_none(tmp_path: Path) -> None:
    root = make(tmp_path / "r", {"a/x": "x"})
    (root / "a/.git").mkdir()
    assert repository_root(root / "a") == root


@pytest.mark.parametrize("inside", ["", "objects"])
def test_a_bare_repository_is_one_line(tmp_path: Path, inside: str) -> None:
    git(tmp_path, "init", "-q", "--bare", "b.git")
    with pytest.raises(EnvironmentFailure, match="bare repository") as caught:
        locate(tmp_path / "b.git" / inside)
    assert "\n" not in caught.value.message
    assert "worktree" in caught.value.hint


def test_no_repository_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match="not in a git repository") as caught:
        locate(tmp_path)
    assert "git init" in caught.value.hint


def test_a_missing_folder_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match="No such file"):
        locate(tmp_path / "gone")


def test_a_broken_pointer_is_one_line(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("nonsense")
    with pytest.raises(EnvironmentFailure, match="neither a git folder nor points to one"):
        locate(tmp_path)
    (tmp_path / ".git").write_text("gitdir: /gone/away\n")
    with pytest.raises(EnvironmentFailure, match="which is not a git folder") as caught:
        locate(tmp_path)
    assert "worktree repair" in caught.value.hint
