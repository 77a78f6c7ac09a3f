from __future__ import annotations

from pathlib import Path

import pytest

from planexec.core.errors import EnvironmentFailure, UsageError
from planexec.workspace.where import OWNER, Where

from .building import git, make


def test_without_a_choice_it_is_the_git_folder_that_linked_work_trees_share(tmp_path: Path) -> None:
    root = make(tmp_path / "r", {"a": "1"})
    git(root, "worktree", "add", "-q", str(tmp_path / "linked"))
    for repo in (root, tmp_path / "linked"):
        assert Where(repo).folder() == Where(repo).claim() == root / ".git" / "planexec"
    assert not (root / ".git" / "planexec").exists()


def test_a_chosen_folder_belongs_to_one_repository_until_that_is_gone(tmp_path: Path) -> None:
    first, second = make(tmp_path / "1", {"a": "1"}), make(tmp_path / "2", {"a": "1"})
    chosen = tmp_path / "deep" / "state"
    assert Where(first, chosen).folder() == chosen.resolve()
    assert not chosen.exists()
    assert Where(first, chosen).claim() == chosen.resolve()
    assert (chosen / OWNER).read_text() == str(first / ".git")
    with pytest.raises(UsageError, match="runs of another repository"):
        Where(second, chosen).claim()
    first.rename(tmp_path / "gone")
    assert Where(second, chosen).claim() == chosen.resolve()


@pytest.mark.parametrize("inside", ["", "seen", "ignored/../seen", "a"])
def test_inside_the_work_tree_it_would_show(tmp_path: Path, inside: str) -> None:
    root = make(tmp_path / "r", {"a": "1", ".gitignore": "/ignored/\n"})
    with pytest.raises(UsageError, match=r"lies inside the work tree|is not a folder"):
        Where(root, root / inside).folder()
    assert Where(root, root / "ignored" / "state").folder() == root / "ignored" / "state"
    (tmp_path / "link").symlink_to(root)
    with pytest.raises(UsageError, match="lies inside the work tree"):
        Where(root, tmp_path / "link" / "seen").folder()


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    root = make(tmp_path / "r", {"a": "1"})
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentFailure, match="cannot be written to"):
        Where(root, tmp_path / "file" / "state").claim()


def test_a_command_repeats_what_was_given() -> None:
    assert Where().command("resume", "r-1") == "planexec resume r-1"
    where = Where(Path("a b"), Path("/s"))
    assert where.command("resume", "r-1") == "planexec resume r-1 --repo 'a b' --state-dir /s"
