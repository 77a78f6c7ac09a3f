"""Changes laid over a tree that stays as it is: a folder with the changed files, and marks for the deleted ones.

The kernel shows both as one (see `Mount.over`). The folder is written before anything is executed over it; what
executed code left in it is only ever removed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from planexec.core.errors import ConflictError, SafetyViolation
from planexec.journal.artifacts import ArtifactStore
from planexec.sandbox.interface import Layered
from planexec.sandbox.layers import hide, is_hidden
from planexec.workspace.entries import REGULAR, Change, check_path, opened, opened_below, put_file

Files = Mapping[str, bytes]


def make_layer(place: Path, over: Path, changes: Sequence[Change], store: ArtifactStore, extra: Files) -> Layered:
    """A layer in the new folder ``place``: ``over`` with ``changes`` made to it and ``extra`` files laid in.

    ConflictError where an extra file exists already; SafetyViolation where a path leads through a link.
    """
    tree = Layered(place, over)
    for folder in (tree.folder, tree.work):
        folder.mkdir(mode=0o700)
    with opened(over) as below, opened(place) as above:
        _like(above, below)
        for change in changes:
            if change.after is None:
                _delete(above, below, change.path)
        gone = {folder for change in changes if change.after is None for folder in _parents(change.path)}
        for path in sorted(gone, key=lambda each: -each.count("/")):
            _prune(above, below, path)
        for change in changes:
            if change.after is not None:
                _put(above, below, change.path, store.get(change.after.digest), change.after.mode)
        for path, content in extra.items():
            refuse_existing(path, _found(above, below, path) is not None)
            _put(above, below, path, content, REGULAR)
    return tree


def copy_layer(tree: Layered, place: Path) -> Layered:
    """A second layer over the same tree, equal to one in which nothing was executed yet."""
    copy = Layered(place, tree.over)
    copy.work.mkdir(mode=0o700)
    with opened(tree.folder) as source:
        place.mkdir(mode=0o700)
        with opened(place) as target:
            _copy(source, target)
    return copy


def refuse_existing(path: str, exists: bool) -> None:
    """ConflictError where a file of the host would take the place of one of the tree."""
    if exists:
        raise ConflictError(f"'{path}' exists already, so a test of the host cannot be laid there")


def _copy(source: int, target: int) -> None:
    with os.scandir(source) as found:
        items = list(found)
    for item in items:
        status = item.stat(follow_symlinks=False)
        if is_hidden(status):
            hide(item.name, target)
        elif item.is_dir(follow_symlinks=False):
            os.mkdir(item.name, 0o700, dir_fd=target)
            with opened_below(source, item.name) as below, opened_below(target, item.name) as copy:
                _copy(below, copy)
        elif item.is_symlink():
            os.symlink(os.readlink(item.name, dir_fd=source), item.name, dir_fd=target)
        else:
            with open(item.name, "rb", opener=lambda name, flags: os.open(name, flags, dir_fd=source)) as stream:
                put_file(target, item.name, stream.read(), REGULAR)
            os.chmod(item.name, stat.S_IMODE(status.st_mode), dir_fd=target)
            os.utime(item.name, ns=(status.st_atime_ns, status.st_mtime_ns), dir_fd=target)
    _like(target, source)


def _delete(above: int, below: int, path: str) -> None:
    status = _found(above, below, path)
    if status is None:
        return
    with _parent(above, below, path) as (folder, name):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        hide(name, folder)


def _put(above: int, below: int, path: str, content: bytes, mode: int) -> None:
    with _parent(above, below, path) as (folder, name):
        put_file(folder, name, content, mode)


def _prune(above: int, below: int, path: str) -> None:
    """Hide a folder whose files are all deleted, as git has no empty folders."""
    hidden = _names(above, path, hidden=True)
    if not hidden or _names(above, path, hidden=False) or _names(below, path, hidden=False) - hidden:
        return
    parent, _, name = path.rpartition("/")
    for each in hidden:
        os.unlink(f"{path}/{each}", dir_fd=above)
    os.rmdir(path, dir_fd=above)
    with _folder(above, parent) as folder:
        hide(name, folder)


def _names(root: int, path: str, *, hidden: bool) -> set[str]:
    """The names in a folder that are marks of deletion, or that are not; none where there is no folder."""
    try:
        with _folder(root, path) as folder, os.scandir(folder) as found:
            return {item.name for item in found if is_hidden(item.stat(follow_symlinks=False)) == hidden}
    except (FileNotFoundError, NotADirectoryError):
        return set()


@contextlib.contextmanager
def _folder(root: int, path: str) -> Iterator[int]:
    with contextlib.ExitStack() as stack:
        for name in path.split("/") if path else []:
            root = stack.enter_context(opened_below(root, name))
        yield root


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def _found(above: int, below: int, path: str) -> os.stat_result | None:
    """What is seen at ``path`` with both as one; None for nothing. SafetyViolation where a link is on the way."""
    status: os.stat_result | None = None
    lower = True  # whether the tree below still has a say
    walked = ""
    for name in check_path(path):
        if status is not None and stat.S_ISLNK(status.st_mode):
            raise SafetyViolation(f"{path!r} leads through the link {walked!r}")
        if walked and (status is None or not stat.S_ISDIR(status.st_mode)):
            return None
        walked = f"{walked}/{name}" if walked else name
        own, other = _look(above, walked), _look(below, walked) if lower else None
        if own is not None:
            lower = lower and stat.S_ISDIR(own.st_mode) and other is not None and stat.S_ISDIR(other.st_mode)
            status = None if is_hidden(own) else own
        else:
            status = other
    return status


def _look(root: int, path: str) -> os.stat_result | None:
    try:
        return os.stat(path, dir_fd=root, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None


@contextlib.contextmanager
def _parent(above: int, below: int, path: str) -> Iterator[tuple[int, str]]:
    """(descriptor of the layer's folder that holds ``path``, last name); missing folders are made as they are below."""
    *folders, name = check_path(path)
    with contextlib.ExitStack() as stack:
        current, walked = above, ""
        for folder in folders:
            walked = f"{walked}/{folder}" if walked else folder
            status = _found(above, below, walked)
            if status is not None and stat.S_ISLNK(status.st_mode):
                raise SafetyViolation(f"{path!r} leads through the link {folder!r}")
            if _look(current, folder) is None or status is None:
                _make(above, below, walked, status)
            current = stack.enter_context(opened_below(current, folder))
        yield current, name


def _make(above: int, below: int, path: str, status: os.stat_result | None) -> None:
    """Make the layer's folder ``path``, at which ``status`` is seen so far."""
    parent, _, name = path.rpartition("/")
    if status is not None and not stat.S_ISDIR(status.st_mode):
        raise FileNotFoundError(errno.ENOENT, "not a folder on the way", path)
    with _folder(above, parent) as folder:
        was_hidden = _look(folder, name) is not None
        if was_hidden:
            os.unlink(name, dir_fd=folder)
        os.mkdir(name, 0o755, dir_fd=folder)
    with _folder(above, path) as made:
        if status is not None:
            with _folder(below, path) as like:
                _like(made, like)
        elif was_hidden:  # else what was deleted below it would be seen again
            for each in _names(below, path, hidden=False):
                hide(each, made)


def _like(folder: int, other: int) -> None:
    """Give a folder the permissions and times of another."""
    status = os.fstat(other)
    os.fchmod(folder, stat.S_IMODE(status.st_mode) | stat.S_IRWXU)
    os.utime(folder, ns=(status.st_atime_ns, status.st_mtime_ns))
