"""Bringing a proven patch into the user's tree, so that a kill at any moment can be finished or undone.

The caller records the changes first (they hold the pre-images); then `perform`. After a kill `recover` looks at each
file: if all are as before or as after, it finishes; if somebody changed one in between, it takes back its own part
and leaves that file alone. A file is only ever replaced when its bytes are known to be one side of a change.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from planexec.core.errors import ConflictError, EnvironmentFailure, SafetyViolation
from planexec.journal.artifacts import ArtifactStore
from planexec.workspace.entries import (
    EXECUTABLE,
    REGULAR,
    Change,
    Entry,
    check_path,
    look,
    opened,
    parent_of,
    prune,
    write_all,
)

Step = Callable[[str], None]


def reverse(changes: Sequence[Change]) -> list[Change]:
    """The changes that take ``changes`` back."""
    return [Change(change.path, change.after, change.before) for change in changes]


def conflicts(root: Path, changes: Sequence[Change]) -> list[str]:
    """The touched paths that are not at their pre-image."""
    _validate(changes)
    with opened(root) as folder:
        found = _found(folder, changes)
    return [change.path for change in changes if found[change.path] != change.before]


def check(root: Path, changes: Sequence[Change]) -> None:
    """Raises ConflictError naming the files that are not what the changes start from."""
    _refuse(conflicts(root, changes))


def perform(root: Path, changes: Sequence[Change], store: ArtifactStore, step: Step | None = None) -> None:
    """Make the changes. ConflictError, with nothing changed, if a file is not as expected.

    A file that already is as it should be is left alone, so that this may be repeated. ``step`` is called with a
    word and a path around each write, for crash tests and for progress.
    """
    _validate(changes)
    contents = _contents(changes, store)
    with _explained(root), opened(root) as folder:
        _refuse(_strangers(folder, changes))
        try:
            for change in _ordered(changes):
                _make(folder, change, contents, step)
        except (ConflictError, OSError):
            with contextlib.suppress(OSError):  # a full disk, say: `recover` tries again
                _undo(folder, changes, store, step)
            raise


def recover(root: Path, changes: Sequence[Change], store: ArtifactStore, step: Step | None = None) -> str:
    """After a kill within `perform`: ``finished`` (all changes are made) or ``undone`` (none is).

    It is undone when a file is neither as before nor as after: somebody changed it, and it stays as it is.
    """
    _validate(changes)
    with _explained(root), opened(root) as folder:
        for change in changes:
            _clear(folder, change)
        if not _strangers(folder, changes):
            with contextlib.suppress(ConflictError):
                perform(root, changes, store, step)
                return "finished"
        _undo(folder, changes, store, step)
        return "undone"


def _undo(folder: int, changes: Sequence[Change], store: ArtifactStore, step: Step | None) -> None:
    backward = reverse(changes)
    contents = _contents(backward, store)
    for change in _ordered(backward):
        with contextlib.suppress(ConflictError):  # theirs now: it stays
            _make(folder, change, contents, step)
        if change.after is None:
            prune(folder, change.path)  # folders that were made for a file that never came


def _validate(changes: Sequence[Change]) -> None:
    for change in changes:
        check_path(change.path)
        for entry in (change.before, change.after):
            if entry is not None and entry.mode not in (REGULAR, EXECUTABLE):
                raise SafetyViolation(
                    f"{change.path!r} is or becomes a link or special file", "Such a change is never applied."
                )


def _contents(changes: Sequence[Change], store: ArtifactStore) -> dict[str, bytes]:
    """All bytes to write, fetched before the first write: a missing artifact must not stop halfway."""
    return {change.after.digest: store.get(change.after.digest) for change in changes if change.after}


def _ordered(changes: Sequence[Change]) -> list[Change]:
    """Deletions first: a file may take the place of a folder, and the other way round."""
    return sorted(changes, key=lambda change: (change.after is not None, change.path))


def _strangers(folder: int, changes: Sequence[Change]) -> list[str]:
    """Touched paths in neither state."""
    found = _found(folder, changes)
    return [change.path for change in changes if found[change.path] not in (change.before, change.after)]


def _found(folder: int, changes: Sequence[Change]) -> dict[str, Entry | None]:
    """What is at each touched path. A folder counts as nothing where other changes are about the files in it."""
    found = {change.path: look(folder, change.path) for change in changes}
    for path, entry in found.items():
        if _is_folder(entry) and any(other.startswith(f"{path}/") for other in found):
            found[path] = None
    return found


def _is_folder(entry: Entry | None) -> bool:
    return entry is not None and stat.S_ISDIR(entry.mode)


def _refuse(paths: Sequence[str]) -> None:
    if paths:
        more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
        names = ", ".join(repr(path) for path in paths[:3])
        raise ConflictError(
            f"changed since the run began: {names}{more}", "Put the file back, or start a new run from its state."
        )


def _make(folder: int, change: Change, contents: dict[str, bytes], step: Step | None) -> None:
    found = look(folder, change.path)
    if found == change.after or (change.after is None and _is_folder(found)):
        return  # done before; a folder stands where a file was only if it was made for another change
    if found != change.before:
        _refuse([change.path])
    if step is not None:
        step(f"before {change.path}")
    if change.after is None:
        with parent_of(folder, change.path) as (parent, name):
            os.unlink(name, dir_fd=parent)
            os.fsync(parent)
        prune(folder, change.path)
    else:
        _write(folder, change, change.after, contents[change.after.digest], step)
    if step is not None:
        step(f"after {change.path}")


def _write(folder: int, change: Change, after: Entry, data: bytes, step: Step | None) -> None:
    """A temporary file beside the target, on the disk before it takes the name."""
    with parent_of(folder, change.path, create=True) as (parent, name):
        temporary = _temporary(change)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=parent)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(temporary, flags, 0o600, dir_fd=parent)
        try:
            try:
                write_all(descriptor, data)
                _inherit(descriptor, parent, name, change, after)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            if step is not None:
                step(f"written {change.path}")
            os.replace(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
        except BaseException:
            os.unlink(temporary, dir_fd=parent)
            raise
        os.fsync(parent)


def _inherit(descriptor: int, parent: int, name: str, change: Change, after: Entry) -> None:
    """Owner and permissions of the file that is replaced; a new file is as the user would have made it."""
    if change.before is None:
        owner = os.fstat(parent)
        mode = after.mode & 0o777 & ~_umask()
    else:
        owner = os.stat(name, dir_fd=parent, follow_symlinks=False)
        mode = stat.S_IMODE(owner.st_mode) & 0o777
        if change.before.mode != after.mode:
            readable = (mode & 0o444) >> 2
            mode = mode | readable if after.mode == EXECUTABLE else mode & ~0o111
    with contextlib.suppress(PermissionError):  # only root may give files away
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
    os.fchmod(descriptor, mode)


def _umask() -> int:
    """The umask, without the moment of changing it in which other threads would run without one."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("Umask:"):
            return int(line.split()[1], 8)
    return 0o022


def _temporary(change: Change) -> str:
    """Always the same for one path, so that `recover` finds what a kill left behind."""
    return f".planexec-{hashlib.sha256(os.fsencode(change.path)).hexdigest()[:16]}.tmp"


def _clear(folder: int, change: Change) -> None:
    """Remove the temporary file that an interrupted write left."""
    with contextlib.suppress(FileNotFoundError), parent_of(folder, change.path) as (parent, _):
        os.unlink(_temporary(change), dir_fd=parent)


@contextlib.contextmanager
def _explained(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise EnvironmentFailure(
            f"cannot write to {root}: {error.strerror}", "Make room or allow writing, then: planexec resume."
        ) from error
