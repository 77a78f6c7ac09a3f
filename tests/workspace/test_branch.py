from __future__ import annotations

from pathlib import Path

import pytest

from planexec.core.errors import ConflictError, UsageError
from planexec.journal.artifacts import ArtifactStore
from planexec.workspace.branch import Identity, check_branch, commit_changes, create_branch, points_to
from planexec.workspace.entries import EXECUTABLE, Change, Entry
from planexec.workspace.repository import Repository

from .building import git, make

ME = Identity("Ada", "ada@example.org")
ODD = b'a "b"\n\xff.py'


def entry(store: ArtifactStore, data: bytes, mode: int = 0o100644) -> Entry:
    return Entry(mode, store.put(data), len(data))


def change(store: ArtifactStore, path: str, old: bytes | None, new: bytes | None, mode: int = 0o100644) -> Change:
    before, after = (None if data is None else entry(store, data, mode) for data in (old, new))
    return Change(path, before, after)


def committed(repository: Repository, store: ArtifactStore, *changes: Change, name: str = "mend") -> str:
    commit = commit_changes(repository, repository.head, changes, store, "message\n", ME)
    create_branch(repository, name, commit, ME)
    return commit


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_changed_new_removed_and_odd_names(tmp_path: Path, store: ArtifactStore, object_format: str) -> None:
    odd = ODD.decode("utf-8", "surrogateescape")
    files: dict[str, str | bytes] = {"a": "1", "gone": "g", "folder/x": "x", odd: "o", "flat": "f"}
    root = make(tmp_path / "r", files, f"--object-format={object_format}")
    repository = Repository.open(root)
    changes = [
        change(store, "a", b"1", b"2"), change(store, "gone", b"g", None), change(store, odd, b"o", b"O"),
        change(store, "folder/x", b"x", None), change(store, "folder", None, b"now a file"),
        change(store, "flat", b"f", None), change(store, "flat/in", None, b"in", EXECUTABLE),
    ]  # fmt: skip
    commit = committed(repository, store, *changes)
    assert points_to(repository, "mend") == commit
    listed = git(root, "ls-tree", "-r", "-z", commit).split("\0")[:-1]
    found = {line.partition("\t")[2]: line[:6] for line in listed}
    assert found == {"a": "100644", odd: "100644", "folder": "100644", "flat/in": "100755"}
    assert git(root, "cat-file", "blob", f"{commit}:a") == "2"
    git(root, "fsck", "--strict")
    assert git(root, "status", "--porcelain") == ""


def test_the_patch_goes_on_top_of_the_base_and_not_of_what_is_staged(tmp_path: Path, store: ArtifactStore) -> None:
    root = make(tmp_path / "r", {"a": "1", "b": "1"})
    (root / "b").write_text("staged")
    git(root, "add", "b")
    commit = committed(Repository.open(root), store, change(store, "a", b"1", b"2"))
    assert git(root, "diff", "--name-only", "HEAD", commit) == "a\n"
    assert git(root, "diff", "--cached", "--name-only") == "b\n"


def test_in_a_linked_work_tree(tmp_path: Path, store: ArtifactStore) -> None:
    root = make(tmp_path / "r", {"a": "1"})
    git(root, "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    commit = committed(Repository.open(tmp_path / "linked"), store, change(store, "a", b"1", b"2"))
    assert git(root, "rev-parse", "mend").strip() == commit
    assert git(tmp_path / "linked", "symbolic-ref", "HEAD") == "refs/heads/side\n"


def test_line_endings_and_modes_are_as_git_keeps_them(tmp_path: Path, store: ArtifactStore) -> None:
    root = make(tmp_path / "r", {"a": "1\n2\n", "kept": "1\r\n2\r\n"})
    for name, value in (("core.autocrlf", "true"), ("core.fileMode", "false")):
        git(root, "config", name, value)
    changes = [
        change(store, "a", b"1\r\n2\r\n", b"1\r\n3\r\n", EXECUTABLE),
        change(store, "kept", b"1\r\n2\r\n", b"1\r\n3\r\n"),
        change(store, "new", None, b"n\r\n", EXECUTABLE),
    ]
    commit = committed(Repository.open(root), store, *changes)
    assert git(root, "cat-file", "blob", f"{commit}:a") == "1\n3\n"
    assert git(root, "cat-file", "blob", f"{commit}:kept") == "1\r\n3\r\n"
    assert git(root, "cat-file", "blob", f"{commit}:new") == "n\n"
    assert {line[:6] for line in git(root, "ls-tree", commit).splitlines()} == {"100644"}


def test_what_is_not_in_git_in_these_bytes_is_no_commit(tmp_path: Path, store: ArtifactStore) -> None:
    root = make(tmp_path / "r", {"a": "1", "big": "b", ".gitattributes": "big filter=lfs\n"})
    repository = Repository.open(root)
    for wrong, words in (
        (change(store, "a", b"other", b"2"), "other bytes"),
        (change(store, "big", b"b", b"B"), "a filter of git"),
        (change(store, "ignored", b"b", b"B"), "not in git"),
    ):
        with pytest.raises(ConflictError, match=words):
            commit_changes(repository, repository.head, [wrong], store, "m", ME)


def test_no_hook_and_no_filter_runs(tmp_path: Path, store: ArtifactStore) -> None:
    root = make(tmp_path / "r", {"a": "1"})
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("reference-transaction", "pre-commit", "post-commit", "commit-msg", "post-index-change"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        (hooks / name).chmod(0o755)
    git(root, "config", "core.hooksPath", str(hooks))
    git(root, "config", "core.fsmonitor", str(hooks / "pre-commit"))
    committed(Repository.open(root), store, change(store, "a", b"1", b"2"))
    assert not (tmp_path / "ran").exists()
    git(root, "branch", "other")
    assert (tmp_path / "ran").exists()  # so it would have been seen


@pytest.mark.parametrize("name", ["", "a..b", "-x", "HEAD", "x.lock", "sp ace", "a//b", "@{-1}", "a\nb", "~"])
def test_a_bad_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name of a branch"):
        check_branch(Repository.open(make(tmp_path / "r", {"a": "1"})), name)


@pytest.mark.parametrize("name", ["main", "main/deeper", "fixes"])
def test_a_name_that_is_taken(tmp_path: Path, name: str) -> None:
    root = make(tmp_path / "r", {"a": "1"}, "--initial-branch=main")
    git(root, "branch", "fixes/one")
    repository = Repository.open(root)
    check_branch(repository, "fixes/two")
    with pytest.raises(ConflictError, match=f"'{name}'"):
        check_branch(repository, name)
    before = git(root, "for-each-ref")
    commit = git(root, "commit-tree", "HEAD^{tree}", "-m", "other").strip()
    with pytest.raises(ConflictError, match=f"'{name}'"):
        create_branch(repository, name, commit, ME)
    assert git(root, "for-each-ref") == before


def test_the_identity_is_the_repositorys_before_the_users(tmp_path: Path) -> None:
    root = make(tmp_path / "r", {"a": "1"})
    git(root, "config", "user.name", "Grace")
    git(root, "config", "user.email", "grace@example.org")
    assert Identity.of(Repository.open(root)) == Identity("Grace", "grace@example.org")
