from __future__ import annotations

from pathlib import Path

from planexec.workspace.forms import forms
from planexec.workspace.repository import Repository

from ..projects import git, make_repository


def found(folder: Path) -> list[str]:
    return forms(Repository.open(folder))


def test_an_ordinary_clone_is_nothing_special(tmp_path: Path) -> None:
    assert found(make_repository(tmp_path / "repo")) == []


def test_each_form_is_named(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "repo")
    git(repo, "commit", "-q", "--allow-empty", "-m", "second")
    git(repo, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    assert found(tmp_path / "linked") == ["linked work tree", "detached head"]
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repo}", "shallow")
    assert found(tmp_path / "shallow") == ["shallow clone"]
    git(tmp_path, "clone", "-q", "--shared", "--separate-git-dir", str(tmp_path / "apart"), str(repo), "borrowing")
    assert found(tmp_path / "borrowing") == ["git folder elsewhere, as submodules have", "borrowed objects"]
    git(tmp_path, "init", "-q", "--object-format=sha256", "long")
    git(tmp_path / "long", "commit", "-q", "--allow-empty", "-m", "first")
    assert found(tmp_path / "long") == ["sha256 object names"]
    git(repo, "update-index", "--split-index")
    git(repo, "sparse-checkout", "set", "shop")
    (repo / ".gitmodules").write_text("")
    (repo / ".git" / "MERGE_HEAD").write_text(git(repo, "rev-parse", "HEAD"))
    assert found(repo) == ["sparse checkout", "split index", "submodules", "a merge in progress"]
