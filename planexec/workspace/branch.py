"""A proven patch as a commit on a new branch, by plumbing: the work tree, the user's index and HEAD stay as they are.

The commit is built in a private git folder (see `gitdir.py`) with an index of our own; only the objects and, in the
end, the reference are written to the user's repository. No hook and no filter runs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planexec.core.errors import ConflictError, EnvironmentFailure, UsageError
from planexec.journal.artifacts import ArtifactStore
from planexec.workspace.entries import EXECUTABLE, REGULAR, Change, Entry, check_path
from planexec.workspace.gitcommand import Answer, git, user_setting
from planexec.workspace.gitdir import GitDir
from planexec.workspace.repository import Repository

_HEADS = "refs/heads/"
_GONE = "0"
Tracked = Mapping[str, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a commit is by."""

    name: str
    email: str

    @classmethod
    def of(cls, repository: Repository) -> Identity:
        """The user's: of the environment, the repository's configuration, the user's own. Raises UsageError."""
        found = {
            key: os.environ.get(f"GIT_AUTHOR_{key.upper()}")
            or repository.settings.get(f"user.{key}")
            or user_setting(f"user.{key}")
            for key in ("name", "email")
        }
        if not (name := found["name"]) or not (email := found["email"]):
            missing = " and ".join(f"user.{key}" for key, value in found.items() if not value)
            raise UsageError(
                f"git does not know who the commit is by: there is no {missing}", "git config --global sets them"
            )
        return cls(name, email)

    def variables(self) -> dict[str, str]:
        """The environment in which git takes this person for author and committer."""
        return {
            f"GIT_{role}_{key}": value
            for role in ("AUTHOR", "COMMITTER")
            for key, value in (("NAME", self.name), ("EMAIL", self.email))
        }


def check_branch(repository: Repository, name: str) -> None:
    """Whether a branch ``name`` can be made. Raises UsageError for a bad name, ConflictError for one that is taken."""
    checked = _ask(repository, "check-ref-format", _HEADS + name, allowed=(0, 1))
    if checked.exit_code != 0 or name.startswith("-") or name == "HEAD":
        raise UsageError(f"'{name}' cannot be the name of a branch", "git check-ref-format says what can")
    listed = _ask(repository, "for-each-ref", "--format=%(refname)", _HEADS).stdout
    taken = [os.fsdecode(line).removeprefix(_HEADS) for line in listed.splitlines()]
    for each in taken:
        if each == name or each.startswith(f"{name}/") or name.startswith(f"{each}/"):
            why = "exists already" if each == name else f"cannot stand beside the branch '{each}'"
            raise ConflictError(f"the branch '{name}' {why}", "choose another name; planexec only makes new branches")


def commit_changes(
    repository: Repository, base: str, changes: Sequence[Change], store: ArtifactStore, message: str, by: Identity
) -> str:
    """Write a commit of ``changes`` on top of the commit ``base``; returns its id. Nothing points to it yet.

    Raises ConflictError for files whose bytes in git are not those of the work tree, but for line endings.
    """
    for change in changes:
        check_path(change.path)
    paths = [change.path for change in changes]
    if filtered := sorted(repository.filtered(paths)):
        raise ConflictError(
            f"a filter of git stands between the tree and a commit of {filtered[0]!r}", "apply the patch to the tree"
        )
    with repository.private(writing=True) as private:
        (private.folder / "index").unlink(missing_ok=True)
        private.git("read-tree", base)
        held = _held(private)
        lines = [_line(private, change, held, store, repository.settings) for change in _deletions_first(changes)]
        private.git("update-index", "-z", "--index-info", stdin=b"".join(lines))
        tree = private.git("write-tree").stdout.decode().strip()
        arguments = ("commit-tree", tree, "-p", base, "-F", "-")
        commit = private.git(*arguments, stdin=message.encode("utf-8", "replace"), variables=by.variables())
    return commit.stdout.decode().strip()


def create_branch(repository: Repository, name: str, commit: str, by: Identity) -> None:
    """Make the branch, or leave one that points there already. Raises ConflictError where it points elsewhere."""
    if points_to(repository, name) == commit:
        return
    nothing = _GONE * len(commit)
    reason = "planexec: a proven patch"
    done = _ask(
        repository, "update-ref", "--create-reflog", "-m", reason, _HEADS + name, commit, nothing,
        variables=by.variables(), allowed=(0, 1, 128),
    )  # fmt: skip
    if done.exit_code == 0:
        return
    check_branch(repository, name)
    lines = done.stderr.strip().splitlines() or ["git update-ref failed"]
    raise EnvironmentFailure(f"the branch '{name}' cannot be made: {lines[-1]}", "check that .git can be written to")


def points_to(repository: Repository, name: str) -> str:
    """The commit of a branch; empty where there is no such branch."""
    return _ask(repository, "rev-parse", "--verify", "--quiet", _HEADS + name, allowed=(0, 1)).stdout.decode().strip()


def _ask(
    repository: Repository, *arguments: str, variables: Mapping[str, str] | None = None, allowed: Sequence[int] = (0,)
) -> Answer:
    """References are the repository's own matter; its hooks stay off (`gitcommand`)."""
    place = repository.place
    own = {"GIT_DIR": str(place.git_dir), "GIT_WORK_TREE": str(place.root)}
    return git(arguments, place.root, variables={**own, **(variables or {})}, allowed=allowed)


def _held(private: GitDir) -> Tracked:
    """Path to (mode, blob) of the base."""
    found = {}
    for record in private.records("ls-files", "-z", "-s"):
        about, _, path = record.partition("\t")
        mode, blob, _ = about.split(" ")
        found[path] = (mode, blob)
    return found


def _deletions_first(changes: Sequence[Change]) -> list[Change]:
    return sorted(changes, key=lambda change: (change.after is not None, change.path))


def _line(private: GitDir, change: Change, held: Tracked, store: ArtifactStore, settings: Mapping[str, str]) -> bytes:
    """One line of ``update-index --index-info``: mode, blob, path; mode 0 removes."""
    path = os.fsencode(change.path)
    if change.before is not None and change.path not in held:
        raise ConflictError(f"{change.path!r} is not in git, so no commit can change it", "apply the patch to the tree")
    if change.after is None:
        return f"0 {_GONE * len(held[change.path][1])}\t".encode() + path + b"\0"
    data = store.get(change.after.digest)
    if change.before is not None:
        data = _as_in_git(private, change.path, held[change.path][1], store.get(change.before.digest), data)
        blob = private.git("hash-object", "-w", "--no-filters", "--stdin", stdin=data)
    else:
        blob = private.git("hash-object", "-w", f"--path={change.path}", "--stdin", stdin=data)
    mode = _mode(change.before, change.after, held.get(change.path), settings)
    return f"{mode} {blob.stdout.decode().strip()}\t".encode() + path + b"\0"


def _as_in_git(private: GitDir, path: str, blob: str, before: bytes, after: bytes) -> bytes:
    """``after`` as git keeps it, seen from how git keeps ``before``: as it is, or with line feeds only."""
    kept = private.git("cat-file", "blob", blob).stdout
    if kept == before:
        return after
    if kept == before.replace(b"\r\n", b"\n"):
        return after.replace(b"\r\n", b"\n")
    raise ConflictError(
        f"{path!r} is kept in git in other bytes than in the tree, or was changed", "apply the patch to the tree"
    )


def _mode(before: Entry | None, after: Entry, held: tuple[str, str] | None, settings: Mapping[str, str]) -> str:
    """A mode that did not change stays what git has: the tree's need not mean anything (``core.fileMode=false``)."""
    if held is not None and before is not None and before.mode == after.mode:
        return held[0]
    executable = after.mode == EXECUTABLE and settings.get("core.filemode") != "false"
    return f"{EXECUTABLE if executable else REGULAR:o}"
