"""The user's repository, read and never written: base commit, history, and whether the tree is dirty."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from planexec.core.errors import EnvironmentFailure
from planexec.workspace.conversion import ATTRIBUTES, stored_forms
from planexec.workspace.gitcommand import Answer, git
from planexec.workspace.gitdir import GitDir, private_git_dir, settings
from planexec.workspace.ignored import ENVIRONMENT_MARK
from planexec.workspace.state import Place, locate

_LINK = 0o120000
_SUBMODULE = 0o160000


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One commit of the history: ``at`` is the committer's time in seconds since 1970."""

    commit: str
    at: int
    author: str
    subject: str


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One file of the index: its mode, blob id, path, and whether git was told to look at it at all."""

    mode: int
    blob: str
    path: str
    watched: bool


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository with a work tree and at least one commit. Paths in answers are relative to ``root``, posix."""

    place: Place
    head: str
    object_format: str
    settings: dict[str, str] = field(repr=False)

    @classmethod
    def open(cls, path: Path) -> Repository:
        """The repository that holds ``path``. Raises EnvironmentFailure: none, bare, no commit yet, no git."""
        place = locate(path)
        carried = settings(place)
        answer = _read(place, "rev-parse", "--verify", "--quiet", "HEAD^{commit}", allowed=(0, 1, 128))
        head = answer.stdout.decode("ascii", "replace").strip()
        if answer.exit_code == 128 and answer.stderr.strip():
            reason = answer.stderr.strip().splitlines()[-1].removeprefix("fatal: ")
            raise EnvironmentFailure(f"git cannot read {place.root}: {reason}", "Check it with: git fsck.")
        if answer.exit_code != 0 or not head:
            raise EnvironmentFailure(
                f"the repository {place.root} has no commit yet", "Commit the files first: git commit."
            )
        return cls(place, head, carried.get("extensions.objectformat", "sha1").lower(), carried)

    @property
    def root(self) -> Path:
        """The top folder of the work tree."""
        return self.place.root

    @property
    def git_dir(self) -> Path:
        """The git folder of this work tree."""
        return self.place.git_dir

    @property
    def common_dir(self) -> Path:
        """The git folder that linked work trees share."""
        return self.place.common_dir

    @property
    def objects(self) -> Path:
        """The folder of the object database."""
        return self.place.common_dir / "objects"

    @property
    def index(self) -> Path:
        """The index file of this work tree (it may be missing)."""
        return self.place.git_dir / "index"

    @contextlib.contextmanager
    def private(self, *, writing: bool = False) -> Iterator[GitDir]:
        """A private git folder onto this repository, for plumbing that must not see its configuration.

        With ``writing`` new objects go to the repository itself.
        """
        with private_git_dir(self.place, self.head, self.settings, writing=writing) as private:
            yield private

    def tracked(self) -> list[str]:
        """Every path in the index."""
        with self.private() as private:
            return sorted(set(private.records("ls-files", "-z")))

    def ignored(self) -> list[str]:
        """What the exclude rules leave out; a folder that is ignored as a whole is one entry that ends in a slash."""
        rules = ("--others", "--ignored", "--exclude-standard", "--directory")
        with self.private() as private:
            return private.records("ls-files", *rules, "-z")

    def excluded(self, paths: Iterable[str]) -> set[str]:
        """Those of ``paths`` that the exclude rules match and the index does not hold."""
        named = _lines(f"./{path}" for path in paths)  # so that no name reads as pathspec magic
        with self.private() as private:
            found = private.records("check-ignore", "-z", "--stdin", stdin=named, allowed=(0, 1))
        return {path.removeprefix("./") for path in found}

    def filtered(self, paths: Iterable[str]) -> set[str]:
        """Those of ``paths`` that have a ``filter`` attribute, whose bytes in the tree are not the bytes in git."""
        with self.private() as private:
            records = private.records("check-attr", "-z", "--stdin", "filter", stdin=_lines(paths))
        found = zip(records[0::3], records[2::3], strict=True)
        return {path for path, value in found if value not in ("unspecified", "unset")}

    def log(self, path: str = "", n: int = 20) -> list[LogEntry]:
        """The last ``n`` commits that touched ``path`` (all, if it is empty), the newest first."""
        arguments = ["rev-list", f"--max-count={n}", "--format=%H%x00%ct%x00%an%x00%s", self.head, "--"]
        with self.private() as private:
            output = private.git(*arguments, *([path] if path else [])).stdout
        fields = [line.split("\0") for line in output.decode("utf-8", "replace").split("\n") if "\0" in line]
        return [LogEntry(commit, int(at), author, subject) for commit, at, author, subject in fields]

    def tags(self) -> dict[str, str]:
        """Full name (``refs/tags/...``) to object id of every tag."""
        output = _read(self.place, "for-each-ref", "--format=%(objectname) %(refname)", "refs/tags").stdout
        pairs = (os.fsdecode(line).partition(" ") for line in output.splitlines())
        return {name: found for found, _, name in pairs}

    def dirty(self) -> list[str]:
        """Paths that differ from the index, from HEAD, or are not known to git; empty for a clean tree.

        A file counts as unchanged when its size and times are those in the index, as for git, so that line
        ending conversion, LFS and sparse checkouts are clean; else when its bytes, or what git's own conversions
        make of them, are those in the index. No filter is run. A folder that is new as a whole ends in a slash. A
        virtual environment that no rule ignores is nobody's work: it does not count.
        """
        with self.private() as private:
            entries = _entries(private)
            found = _staged(private, self.head)
            found |= self._changed(private, entries)
            others = ("--others", "--exclude-standard", "--directory", "--no-empty-directory")
            found |= {path for path in private.records("ls-files", *others, "-z") if not self._is_environment(path)}
        return sorted(found)

    def _is_environment(self, path: str) -> bool:
        return path.endswith("/") and (self.root / path / ENVIRONMENT_MARK).is_file()

    def _changed(self, private: GitDir, entries: dict[str, IndexEntry]) -> set[str]:
        """Work tree against index. What git's plumbing calls modified is looked at again by content."""
        raw = _raw(private.records("diff-files", "-z", "--raw", "--no-renames", "--ignore-submodules=dirty"))
        changed, doubtful = set(), set(self._racy(entries))
        for path, (before, after, status) in raw.items():
            if status == "M" and before == after and before != _SUBMODULE and path in entries:
                doubtful.add(path)
            else:
                changed.add(path)
        converted = _attributes(private, doubtful - changed)
        return changed | {path for path in doubtful - changed if self._differs(entries[path], converted[path])}

    def _racy(self, entries: dict[str, IndexEntry]) -> Iterator[str]:
        """Files as young as the index: they may have changed after it was written without a trace in their times."""
        try:
            written = self.index.stat().st_mtime_ns
        except OSError:
            return
        for entry in entries.values():
            if entry.watched and entry.mode != _SUBMODULE:
                with contextlib.suppress(OSError):
                    if (self.root / entry.path).lstat().st_mtime_ns >= written:
                        yield entry.path

    def _differs(self, entry: IndexEntry, attributes: dict[str, str]) -> bool:
        path = self.root / entry.path
        try:
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                data = os.fsencode(path.readlink())
            elif stat.S_ISREG(mode):
                data = path.read_bytes()
            else:
                return True
        except OSError:
            return True
        if stat.S_ISLNK(mode) != (entry.mode == _LINK) and self.settings.get("core.symlinks") != "false":
            return True
        if stat.S_ISLNK(mode):
            return entry.blob != self._blob_id(data)
        return all(entry.blob != self._blob_id(form) for form in stored_forms(data, attributes))

    def _blob_id(self, data: bytes) -> str:
        return hashlib.new(self.object_format, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _read(place: Place, *arguments: str, allowed: Sequence[int] = (0,)) -> Answer:
    """Ask about references, which only the repository itself can be asked about."""
    variables = {"GIT_DIR": str(place.git_dir), "GIT_WORK_TREE": str(place.root)}
    return git(arguments, place.root, variables=variables, allowed=allowed)


def _lines(paths: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def _entries(private: GitDir) -> dict[str, IndexEntry]:
    """The merged entries of the index. Each record: tag, mode, blob, stage, TAB, path."""
    found = {}
    for record in private.records("ls-files", "-z", "-s", "-v"):
        about, _, path = record.partition("\t")
        tag, mode, blob, stage = about.split(" ")
        if stage == "0":
            found[path] = IndexEntry(int(mode, 8), blob, path, tag == "H")
    return found


def _staged(private: GitDir, head: str) -> set[str]:
    arguments = ("diff-index", "--cached", "-z", "--raw", "--no-renames", "--ignore-submodules=dirty", head, "--")
    return set(_raw(private.records(*arguments)))


def _attributes(private: GitDir, paths: Iterable[str]) -> dict[str, dict[str, str]]:
    """Path to the attributes that change what git stores for a file."""
    found: dict[str, dict[str, str]] = {path: {} for path in paths}
    if found:
        records = private.records("check-attr", "-z", "--stdin", *ATTRIBUTES, stdin=_lines(found))
        for path, name, value in zip(records[0::3], records[1::3], records[2::3], strict=True):
            found[path][name] = value
    return found


def _raw(records: list[str]) -> dict[str, tuple[int, int, str]]:
    """Path to (mode before, mode after, status letter), from ``diff-* --raw -z``."""
    found = {}
    for about, path in zip(records[0::2], records[1::2], strict=True):
        before, after, _, _, status = about.removeprefix(":").split(" ")
        found[path] = (int(before, 8), int(after, 8), status[0])
    return found
