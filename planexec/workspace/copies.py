"""The copies that are worked on: the pristine tree S0, the scratch tree beside it, and clean trees for judging.

The user's tree is read once and never written. Copies lie in the user's cache folder and belong to the running
user; they never share a file with each other or with the user's tree.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from planexec.core.errors import EnvironmentFailure, JournalError, UsageError
from planexec.journal.artifacts import ArtifactStore, sync_folder
from planexec.sandbox.interface import Layered, Mount
from planexec.workspace.copying import Copied, copy_tree
from planexec.workspace.entries import (
    GIT_FOLDER,
    REGULAR,
    Change,
    is_git_name,
    opened,
    parent_of,
    prune,
    put_file,
    remove,
)
from planexec.workspace.ignored import find_mounts
from planexec.workspace.kept import MEMORY, OWNER, PRISTINE, SCRATCH, give_back, take
from planexec.workspace.layers import Files, make_layer
from planexec.workspace.manifest import Manifest, restore, scan
from planexec.workspace.repository import Repository

_RECORD = "workspace.json"
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class _Record(msgspec.Struct, frozen=True):
    """What a later process needs to know; ``mounts`` are paths relative to the repository's root."""

    root: str
    base: str
    mounts: list[str]


@dataclass(frozen=True)
class Workspace:
    """The copies of one run.

    ``mounts`` are the large ignored folders and virtual environments that were not copied: they are to be mounted
    read-only at their place under ``root``, over empty folders that stand there in every copy. ``base`` is the
    manifest of ``pristine``; ``key`` names the artifact from which `rebuild` makes lost copies again.
    """

    root: Path
    folder: Path
    store: ArtifactStore
    mounts: tuple[Mount, ...]
    base: Manifest
    key: str

    @property
    def pristine(self) -> Path:
        """The tree as it was when the run began. Nothing is ever executed in it."""
        return self.folder / PRISTINE

    @property
    def scratch(self) -> Path:
        """The tree that tools work on."""
        return self.folder / SCRATCH

    @classmethod
    def create(
        cls, repository: Repository, cache: Path, run_id: str, store: ArtifactStore, hidden: Collection[str] = ()
    ) -> Workspace:
        """Copy the user's tree. ``cache`` is the user's cache folder; an unfinished copy of the run is replaced.

        ``hidden`` are paths that no copy shall hold: the contract and its tests, where they lie in the repository.

        Raises EnvironmentFailure where the copy cannot be made (no space, no permission).
        """
        folder = _run_folder(cache, run_id)
        with _explained(folder):
            discard_folder(folder)
            memory = take(cache, repository.root, folder)
            folder.mkdir(parents=True, mode=0o700, exist_ok=True)
            _own(folder, store)
            mounts = find_mounts(repository.root, repository.ignored(), repository.tracked())
            own = set(_inside(repository.root, (cache, store.folder, store.folder.parent)))
            mounts = [path for path in mounts if not _meets(path, own)]
            skip = {*mounts, *own, *hidden}
            pristine, scratch = folder / PRISTINE, folder / SCRATCH
            first = copy_tree(repository.root, pristine, skip, memory)
            for path in mounts:
                _mount_point(pristine, path, (repository.root / path).is_dir())
            # Flushes: before there is more to flush.
            base = _with_left_out(scan(pristine, store, memory.copies), first)
            (pristine / GIT_FOLDER).mkdir()
            if scratch.is_dir():  # kept, and written by a former run
                restore(scratch, base, store)
            else:
                copy_tree(pristine, scratch, ())
                (scratch / GIT_FOLDER).mkdir()
            memory.write(folder, base.entries)
            return cls._record(folder, store, repository.root, base, mounts)

    @classmethod
    def reopen(cls, cache: Path, run_id: str, store: ArtifactStore) -> Workspace:
        """The workspace that an earlier process created, without the trees that it judged in.

        EnvironmentFailure when it is gone or was not finished.
        """
        folder = _run_folder(cache, run_id)
        try:
            key = (folder / _RECORD).read_text("ascii").strip()
        except (OSError, ValueError) as error:
            raise EnvironmentFailure(
                f"the working copy of run {run_id} is not in {folder} any more", "Start the task again."
            ) from error
        with _explained(folder):
            for entry in sorted(folder.iterdir()):
                if entry.name not in (PRISTINE, SCRATCH, _RECORD, OWNER, MEMORY):
                    discard_folder(entry)
        return cls._from_record(folder, store, key)

    @classmethod
    def rebuild(cls, cache: Path, run_id: str, store: ArtifactStore, key: str) -> Workspace:
        """Make the copies of a run again from the artifact ``key`` (its `Workspace.key`), after they were lost.

        Bytes and the executable bit are as they were; other permissions and times are not.
        """
        folder = _run_folder(cache, run_id)
        with _explained(folder):
            discard_folder(folder)
            for tree in (PRISTINE, SCRATCH):
                (folder / tree / GIT_FOLDER).mkdir(parents=True)
            _own(folder, store)
            workspace = cls._from_record(folder, store, key)
            restore(workspace.pristine, workspace.base, store)
            for mount in workspace.mounts:
                path = str(mount.target.relative_to(workspace.root))
                _mount_point(workspace.pristine, path, mount.source.is_dir())
            restore(workspace.scratch, workspace.base, store)
            (folder / _RECORD).write_text(key, "ascii")
            return workspace

    @contextlib.contextmanager
    def clean_tree(self, changes: Sequence[Change] = ()) -> Iterator[Path]:
        """A fresh folder, the pristine tree with ``changes`` made to it; it is removed at the end."""
        with _explained(self.folder):
            place = Path(tempfile.mkdtemp(prefix="clean-", dir=self.folder))
        try:
            with _explained(self.folder):
                copy_tree(self.pristine, place / "tree", ())
                (place / "tree" / GIT_FOLDER).mkdir()
                write_changes(place / "tree", changes, self.store)
            yield place / "tree"
        finally:
            discard_folder(place)

    @contextlib.contextmanager
    def layer(self, changes: Sequence[Change] = (), extra: Files | None = None) -> Iterator[Layered]:
        """The same as a layer over the pristine tree, with ``extra`` files laid in; it is removed at the end.

        Raises ConflictError when an extra file exists already.
        """
        with _explained(self.folder):
            place = Path(tempfile.mkdtemp(prefix="clean-", dir=self.folder))
        try:
            with _explained(self.folder):
                tree = make_layer(place / "tree", self.pristine, changes, self.store, extra or {})
            yield tree
        finally:
            discard_folder(place)

    def discard(self, *, keep: bool = False) -> None:
        """Remove all copies of this run. Idempotent.

        With ``keep`` those of a large repository are kept for the next run. Only where nothing that was executed can
        have written to the pristine copy.
        """
        if keep and self.folder.is_dir():
            with _explained(self.folder):
                give_back(self.folder, self.folder.parent.parent, self.root)
        discard_folder(self.folder)

    @classmethod
    def _record(
        cls, folder: Path, store: ArtifactStore, root: Path, base: Manifest, mounts: Sequence[str]
    ) -> Workspace:
        record = _Record(str(root), store.put(base.encode()), list(mounts))
        key = store.put(json.dumps(msgspec.to_builtins(record), sort_keys=True).encode("ascii"))
        # Written last, in one step: a folder with this file is a complete workspace.
        temporary = folder / f"{_RECORD}.tmp"
        temporary.write_text(key, "ascii")
        temporary.replace(folder / _RECORD)
        sync_folder(folder)
        return cls._from_record(folder, store, key)

    @classmethod
    def _from_record(cls, folder: Path, store: ArtifactStore, key: str) -> Workspace:
        try:
            record = msgspec.convert(json.loads(store.get(key)), _Record)
            base = Manifest.decode(store.get(record.base))
        except ValueError as error:
            raise JournalError(f"artifact {key[:12]} does not describe a working copy") from error
        root = Path(record.root)
        mounts = tuple(Mount(root / path, root / path) for path in record.mounts)
        return cls(root, folder, store, mounts, base, key)


def write_changes(tree: Path, changes: Sequence[Change], store: ArtifactStore) -> None:
    """Make ``changes`` to a tree of ours: deletions first, so that a file may take the place of a folder."""
    with opened(tree) as root:
        for change in changes:
            if change.after is None:
                with contextlib.suppress(FileNotFoundError), parent_of(root, change.path) as (folder, name):
                    remove(folder, name)
                prune(root, change.path)
        for change in changes:
            if change.after is not None:
                with parent_of(root, change.path, create=True) as (folder, name):
                    put_file(folder, name, store.get(change.after.digest), change.after.mode)


def discard_folder(folder: Path) -> None:
    """Remove a folder of ours with all in it, whatever executed code left there."""
    if folder.parent.is_dir():
        with opened(folder.parent) as parent:
            remove(parent, folder.name)


def owner_of(folder: Path) -> Path | None:
    """The state folder of the run whose copies lie in ``folder``; None where nothing says so."""
    try:
        return Path(os.fsdecode((folder / OWNER).read_bytes()))
    except OSError:
        return None


def _own(folder: Path, store: ArtifactStore) -> None:
    """Say first of all whose copies these are: a kill may come at any time."""
    (folder / OWNER).write_bytes(os.fsencode(store.folder.parent.resolve()))


def _run_folder(cache: Path, run_id: str) -> Path:
    if not _RUN_ID.fullmatch(run_id):
        raise UsageError(f"{run_id!r} is not the id of a run", "See: planexec status --all.")
    return cache / "runs" / run_id


def _inside(root: Path, folders: Sequence[Path]) -> Iterator[str]:
    """Our own folders where they lie in the user's tree: a copy must not copy itself."""
    for folder in folders:
        resolved = folder.resolve()
        if resolved != root and resolved.is_relative_to(root):
            yield str(resolved.relative_to(root))


def _meets(path: str, own: Collection[str]) -> bool:
    """Whether a folder to be mounted holds one of ours, or lies in it: what is mounted can be read as a whole."""
    return any(f"{path}/".startswith(f"{each}/") or f"{each}/".startswith(f"{path}/") for each in own)


def _mount_point(tree: Path, path: str, folder: bool) -> None:
    with opened(tree) as root, parent_of(root, path, create=True) as (parent, name):
        if not folder:
            put_file(parent, name, b"", REGULAR)
            return
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o755, dir_fd=parent)


def _with_left_out(base: Manifest, copied: Copied) -> Manifest:
    """Record what the first copy left out, but no ``.git``: one that is found later was planted."""
    unreadable = (path for path in copied.left_out if not is_git_name(path.rpartition("/")[2]))
    return msgspec.structs.replace(base, left_out=sorted({*base.left_out, *unreadable}))


@contextlib.contextmanager
def _explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = error.filename if isinstance(error.filename, str) else str(folder)
        raise EnvironmentFailure(
            f"cannot make the working copy in {folder}: {error.strerror}: {where!r}",
            "Free some space, or set XDG_CACHE_HOME to a folder with more.",
        ) from error
