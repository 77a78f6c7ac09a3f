"""What killed processes left outside of the repository: copies, temporary folders, throwaway repositories."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from planexec.journal.journal import FILE_NAME
from planexec.journal.runlog import RunLock
from planexec.workspace import kept
from planexec.workspace.copies import discard_folder, owner_of

TESTS = "planexec-tests-"
"""Temporary folders that their process holds a lock on."""
_TEMPORARY = "planexec-"
_SETTLED = 10.0  # seconds: a folder that is being made is not locked yet
_DAY = 86400.0


@dataclass(frozen=True)
class Leftover:
    """A folder that may be freed: ``kind``, what it is called, where it is, and how to see that nobody needs it.

    ``hold`` yields whether it may be removed, and keeps it so while its body runs.
    """

    kind: str
    name: str
    folder: Path
    hold: Callable[[], contextlib.AbstractContextManager[bool]]

    @property
    def age(self) -> float:
        """Days since something was made in it."""
        return (time.time() - self.folder.stat().st_mtime) / _DAY

    def remove(self) -> bool:
        """Remove it, unless it is in use by now."""
        with self.hold() as free:
            if free:
                discard_folder(self.folder)
            return free


def copies(cache: Path, state: Path, known: set[str]) -> Iterator[Leftover]:
    """Copies of runs of the repository whose state folder is ``state`` (``known`` are the runs of its journal), and of
    repositories that are gone.
    """
    for folder in _folders(cache / "runs"):
        owner = owner_of(folder)
        if owner is None and folder.name in known:
            owner = state
        if owner == state:
            yield Leftover("copy", folder.name, folder, lambda name=folder.name: _run_held(state, name))  # type: ignore[misc]
        elif owner is not None and not (owner / FILE_NAME).exists():
            yield Leftover("copy", folder.name, folder, _free)


def kept_copies(cache: Path, here: Path) -> Iterator[Leftover]:
    """The copies that the next run of the repository at ``here`` would begin with, and those of repositories that are
    gone.
    """
    for folder in _folders(cache / kept.FOLDER):
        root = kept.root_of(folder)
        if root is None or root == here or not root.exists():
            name = str(root or folder.name)
            yield Leftover("kept copy", name, folder, lambda folder=folder: kept.alone(folder.parent))  # type: ignore[misc]


def temporary(root: Path | None = None) -> Iterator[Leftover]:
    """Our temporary folders that no process uses any more."""
    for folder in _folders(root or Path(tempfile.gettempdir())):
        with contextlib.suppress(OSError):
            status = folder.stat()
            if not folder.name.startswith(_TEMPORARY) or status.st_uid != os.getuid():
                continue
            age = time.time() - status.st_mtime
            if folder.name.startswith(TESTS) and age > _SETTLED:
                yield Leftover("temporary", folder.name, folder, lambda folder=folder: _folder_held(folder))  # type: ignore[misc]
            elif age > _DAY:
                yield Leftover("temporary", folder.name, folder, _free)


def throwaways(cache: Path, here: Path) -> Iterator[Leftover]:
    """Repositories that ``run --fixture`` made, but for the one that holds ``here``."""
    for folder in _folders(cache / "fixtures"):
        state = folder / ".git" / "planexec"
        beginning = not (state / FILE_NAME).exists() and time.time() - folder.stat().st_mtime < _DAY
        if not beginning and not here.is_relative_to(folder.resolve()):
            yield Leftover("throwaway", folder.name, folder, lambda state=state: _all_held(state))  # type: ignore[misc]


def bytes_in(path: Path) -> int:
    """How many bytes the files of a folder have; links count as themselves."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with contextlib.suppress(OSError):
                total += (Path(folder) / name).lstat().st_size
    return total


@contextlib.contextmanager
def in_use(folder: Path) -> Iterator[None]:
    """Hold a temporary folder for as long as the body, or this process, lives."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


def _folders(parent: Path) -> list[Path]:
    try:
        return sorted(path for path in parent.iterdir() if path.is_dir() and not path.is_symlink())
    except OSError:
        return []


@contextlib.contextmanager
def _free() -> Iterator[bool]:
    yield True


@contextlib.contextmanager
def _run_held(state: Path, run_id: str) -> Iterator[bool]:
    lock = RunLock(state, run_id)
    try:
        yield lock.acquire()
    finally:
        lock.release()


@contextlib.contextmanager
def _all_held(state: Path) -> Iterator[bool]:
    """Whether none of the runs of a repository has a process."""
    locks = state / "locks"
    names = [path.name for path in locks.iterdir()] if locks.is_dir() else []
    yield not any(RunLock(state, name).held() for name in names)


@contextlib.contextmanager
def _folder_held(folder: Path) -> Iterator[bool]:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        yield False
        return
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True
    finally:
        os.close(descriptor)
