"""A private git folder: the user's objects and a copy of the index, without the user's configuration.

Plumbing that is pointed at it sees the same commits, files and exclude rules, but no hook, filter, monitor or
transport of the repository, and whatever git writes while reading (it freshens shared indexes, for one) is
written to the copy. The settings that change what "unchanged" means are carried over by name; all else is not.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planexec.workspace.gitcommand import Answer, git, global_excludes
from planexec.workspace.state import Place

_CARRIED = (
    "core.filemode",
    "core.symlinks",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.trustctime",
    "core.checkstat",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "index.sparse",
    "core.excludesfile",
    "core.autocrlf",
    "core.eol",
    "extensions.objectformat",
    "user.name",
    "user.email",
)


@dataclass(frozen=True, slots=True)
class GitDir:
    """A private git folder ``folder`` for the work tree ``root``, reading the objects in ``objects``.

    What is written goes there only if ``writing``: git also writes while it reads (trees, when it expands a sparse
    index), and that stays in the private folder.
    """

    folder: Path
    root: Path
    objects: Path
    writing: bool = False

    def git(
        self,
        *arguments: str,
        stdin: bytes | None = None,
        allowed: Sequence[int] = (0,),
        variables: Mapping[str, str] | None = None,
    ) -> Answer:
        """Run a plumbing command here."""
        variables = {
            **(variables or {}),
            "GIT_DIR": str(self.folder),
            "GIT_WORK_TREE": str(self.root),
        }
        if self.writing:
            variables["GIT_OBJECT_DIRECTORY"] = str(self.objects)
        else:
            variables["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = _quoted_path(str(self.objects))
        if arguments[0] == "check-ignore":  # the one command that refuses to take paths literally
            variables["GIT_LITERAL_PATHSPECS"] = "0"
        return git(arguments, self.root, variables=variables, stdin=stdin, allowed=allowed)

    def records(self, *arguments: str, stdin: bytes | None = None, allowed: Sequence[int] = (0,)) -> list[str]:
        """The NUL-terminated records that a command prints, with undecodable bytes as surrogates."""
        output = self.git(*arguments, stdin=stdin, allowed=allowed).stdout
        return [os.fsdecode(record) for record in output.split(b"\0")[:-1]]


def settings(place: Place) -> dict[str, str]:
    """The carried settings of the repository (lower-case names), read as plain text: includes are not followed."""
    found: dict[str, str] = {}
    for path in (place.common_dir / "config", place.git_dir / "config.worktree"):
        if not path.is_file():
            continue
        answer = git(["config", "--file", str(path), "--no-includes", "--list", "-z"], place.root)
        for record in answer.stdout.split(b"\0")[:-1]:
            name, _, value = os.fsdecode(record).partition("\n")
            if name.lower() in _CARRIED:
                found[name.lower()] = value if "\n" in os.fsdecode(record) else "true"
    if "core.excludesfile" not in found and (excludes := global_excludes()):
        found["core.excludesfile"] = excludes
    return found


@contextlib.contextmanager
def private_git_dir(place: Place, head: str, carried: Mapping[str, str], *, writing: bool = False) -> Iterator[GitDir]:
    """A git folder that lives as long as the context."""
    with tempfile.TemporaryDirectory(prefix="planexec-git-") as folder:
        private = Path(folder) / "git"
        fill(private, place, head, carried)
        yield GitDir(private, place.root, place.common_dir / "objects", writing)


def fill(folder: Path, place: Place, head: str, carried: Mapping[str, str]) -> None:
    """Write a git folder with a detached ``head``, a copy of the index and the exclude rules; no objects yet."""
    for name in ("refs/heads", "refs/tags", "objects/pack", "objects/info", "info"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text(head + "\n")
    (folder / "config").write_bytes(os.fsencode(config_text(carried)))
    copies = [(place.git_dir / "index", "index"), (place.common_dir / "shallow", "shallow")]
    copies += [(path, path.name) for path in place.git_dir.glob("sharedindex.*")]
    copies += [(place.common_dir / "info" / name, f"info/{name}") for name in ("exclude", "attributes")]
    copies += [(place.git_dir / "info" / "sparse-checkout", "info/sparse-checkout")]
    for source, name in copies:
        if source.is_file():
            shutil.copyfile(source, folder / name)
            # An index without a time is never "racy". Git compares the contents of files that are as young as
            # the index, and runs their filters for it; `Repository.dirty` compares those by itself instead.
            os.utime(folder / name, (0, 0))


def _quoted_path(path: str) -> str:
    """One entry of a list with colons, as git reads it: a quoted one may hold anything."""
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'


def config_text(carried: Mapping[str, str]) -> str:
    """A configuration file with the carried settings and nothing else."""
    version = 1 if "extensions.objectformat" in carried else 0
    lines = ["[core]", f"\trepositoryformatversion = {version}", "\tbare = false", "\tlogAllRefUpdates = false"]
    for name, value in carried.items():
        if name.startswith("user."):
            continue  # who the user is concerns no plumbing and no executed code
        section, _, key = name.partition(".")
        lines += [f"[{section}]", f"\t{key} = {_quoted(value)}"]
    return "\n".join(lines) + "\n"


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'
