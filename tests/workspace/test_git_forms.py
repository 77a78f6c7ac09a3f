"""Every form of a repository: it opens, is as dirty as git says, is copied, and a patch reaches it byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from planexec.journal.artifacts import ArtifactStore
from planexec.sandbox.choose import choose
from planexec.workspace.apply import perform, reverse
from planexec.workspace.copies import Workspace
from planexec.workspace.gitview import render, synthesise
from planexec.workspace.manifest import changes, scan
from planexec.workspace.repository import Repository

from .building import fingerprint, git, paths
from .forms import FORMS, ODD_NAMES, odd_names


def dirty_for_git(root: Path) -> list[str]:
    """The paths that an ordinary status names, as `Repository.dirty` writes them: both sides of a rename."""
    records = git(root, "status", "--porcelain", "-z", "--no-renames", "--untracked-files=normal").split("\0")[:-1]
    return sorted({record[3:] for record in records})


def _print(root: Path, form: str) -> dict[str, tuple[int, ...]]:
    """Everything about the tree and its git folder. To expand a sparse index, git freshens the times of trees."""
    return {
        path: what[:3] if form == "sparse, index" and "/.git/objects/" in path else what
        for path, what in fingerprint(root).items()
    }


@pytest.mark.parametrize("form", FORMS)
def test_a_patch_reaches_a_repository_of_any_form(form: str, tmp_path: Path, store: ArtifactStore) -> None:
    root = FORMS[form](tmp_path)
    before = _print(root, form)
    repository = Repository.open(root)
    dirty = repository.dirty()
    workspace = Workspace.create(repository, tmp_path / "cache", "run", store)
    synthesise(repository, tmp_path / "git")
    assert _print(root, form) == before, "reading left a trace"
    assert dirty == dirty_for_git(root)

    edited = "a.py"
    old = (root / edited).read_bytes()
    end = b"\r\n" if b"\r\n" in old else b"\n"
    new = old + b"changed = True" + end
    assert (workspace.scratch / edited).read_bytes() == old
    (workspace.scratch / edited).write_bytes(new)
    wanted = changes(workspace.base, scan(workspace.scratch, store))
    assert paths(wanted) == [edited]
    view = render(wanted, store, choose("bubblewrap"), object_format=repository.object_format)
    assert (view.files, view.check_ok, view.added, view.removed) == ([edited], True, 1, 0)
    others = [path for path in workspace.base.entries if path != edited and (root / path).is_file()]
    rest = {path: (root / path).read_bytes() for path in others}
    perform(repository.root, wanted, store)
    assert (root / edited).read_bytes() == new
    assert {path: (root / path).read_bytes() for path in rest} == rest
    assert Repository.open(root).dirty() == dirty_for_git(root) == sorted({*dirty, edited})
    perform(repository.root, reverse(wanted), store)
    assert (root / edited).read_bytes() == old
    assert Repository.open(root).dirty() == dirty


def test_a_patch_reaches_files_of_any_name(tmp_path: Path, store: ArtifactStore) -> None:
    repository = Repository.open(odd_names(tmp_path))
    workspace = Workspace.create(repository, tmp_path / "cache", "run", store)
    for name in ODD_NAMES:
        (workspace.scratch / name).write_bytes(b"odd = 2\n")
    wanted = changes(workspace.base, scan(workspace.scratch, store))
    view = render(wanted, store, choose("bubblewrap"))
    assert sorted(view.files) == sorted(ODD_NAMES)
    perform(repository.root, wanted, store)
    assert [(repository.root / name).read_bytes() for name in ODD_NAMES] == [b"odd = 2\n"] * len(ODD_NAMES)
    assert Repository.open(repository.root).dirty() == dirty_for_git(repository.root) == sorted(ODD_NAMES)
