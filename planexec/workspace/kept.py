"""The copies of a large repository are kept from run to run, with what tells which of the user's files changed since.

A run takes them for itself by one rename, so that two runs never have the same ones, and gives them back at its end.
Only a run whose sandbox cannot reach the pristine copy gives it back. The scratch copy was written by executed code:
whoever takes it compares every byte.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec

from planexec.workspace.entries import opened, remove
from planexec.workspace.scancache import Known, ScanCache

PRISTINE, SCRATCH, OWNER = "pristine", "scratch", "owner"
FOLDER = "trees"
MEMORY = "kept.msgpack"
WORTH_KEEPING = 500
"""Files from which on copies are kept: fewer are copied in no time."""

_ROOT = "root"
_VERSION = 1


class _Record(msgspec.Struct, frozen=True):
    """Paths are bytes, as the file system has them."""

    version: int
    originals: dict[bytes, Known]
    copies: dict[bytes, Known]


class Memory:
    """What is known of the user's files (``originals``, as they were when they were copied) and of their copies.

    A file whose facts are in both is not read again.
    """

    def __init__(self, originals: dict[str, Known] | None = None, copies: dict[str, Known] | None = None) -> None:
        self.originals = ScanCache(originals)
        self.copies = ScanCache(copies, settled=0)  # nobody else writes there

    def write(self, folder: Path, paths: Collection[str]) -> None:
        """Leave what is known of ``paths``, all of the copies' files, in a run's folder: `give_back` needs it."""
        if len(paths) < WORTH_KEEPING:
            return
        record = _Record(_VERSION, _encoded(self.originals, paths), _encoded(self.copies, paths))
        (folder / MEMORY).write_bytes(msgspec.msgpack.encode(record))

    @classmethod
    def read(cls, folder: Path) -> Memory:
        """What a run left in its folder. Raises OSError, ValueError where it left nothing, or something else."""
        record = msgspec.msgpack.decode((folder / MEMORY).read_bytes(), type=_Record)
        if record.version != _VERSION:
            raise ValueError(f"version {record.version}")
        return cls(
            *({os.fsdecode(path): known for path, known in each.items()} for each in (record.originals, record.copies))
        )


def take(cache: Path, root: Path, folder: Path) -> Memory:
    """Move the copies that are kept of the repository at ``root`` to the new folder ``folder`` of a run.

    An empty memory, and no folder, where there are none or they cannot be trusted.
    """
    place = _place(cache, root)
    if not place.is_dir():
        return Memory()
    with alone(place.parent) as free:
        if not free:
            return Memory()
        folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            place.rename(folder)
        except OSError:  # taken meanwhile
            return Memory()
    try:
        memory = Memory.read(folder)
        _only(folder, {PRISTINE, SCRATCH, OWNER})
    except (OSError, ValueError):  # of another version, or damaged
        _only(folder, set())
        return Memory()
    return memory


def give_back(folder: Path, cache: Path, root: Path) -> None:
    """Keep the copies of a run that has ended, where they are large and no other run has given back its own.

    What is not kept is left in ``folder``.
    """
    place = _place(cache, root)
    if not (folder / MEMORY).is_file() or place.exists():
        return
    _only(folder, {PRISTINE, SCRATCH, OWNER, MEMORY})
    (folder / _ROOT).write_bytes(os.fsencode(root))
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with alone(place.parent) as free, contextlib.suppress(OSError):
        if free:
            folder.rename(place)


def root_of(folder: Path) -> Path | None:
    """The repository whose copies are kept in ``folder``."""
    try:
        return Path(os.fsdecode((folder / _ROOT).read_bytes()))
    except OSError:
        return None


@contextlib.contextmanager
def alone(trees: Path) -> Iterator[bool]:
    """Whether no other process moves or removes kept copies just now; none does while the body runs."""
    descriptor = os.open(trees, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True
    finally:
        os.close(descriptor)


def _place(cache: Path, root: Path) -> Path:
    return cache / FOLDER / hashlib.sha256(os.fsencode(root)).hexdigest()[:32]


def _only(folder: Path, names: set[str]) -> None:
    """Remove everything else from ``folder``."""
    with opened(folder) as descriptor:
        for name in sorted(path.name for path in folder.iterdir()):
            if name not in names:
                remove(descriptor, name)


def _encoded(cache: ScanCache, paths: Collection[str]) -> dict[bytes, Known]:
    return {os.fsencode(path): known for path, known in cache.items() if path in paths}
