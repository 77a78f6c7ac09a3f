"""What a tree holds, file by file, and how one file is looked at, written and removed without following a link.

Every function works below the descriptor of an open folder, never by a path that executed code could redirect.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from planexec.core.errors import SafetyViolation

REGULAR = 0o100644
EXECUTABLE = 0o100755
LINK = 0o120000
GIT_FOLDER = ".git"  # an empty one stands at the top of each copy, as the place for a mount

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CHUNK = 1024 * 1024
_DEEPEST = 64  # levels at which `remove` holds a descriptor each; what is deeper is moved up first

_CACHE_FOLDERS = frozenset({"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"})
_BYTE_CODE = (".pyc", ".pyo")
# Characters that the file system of macOS ignores in names: ".g\u200cit" opens ".git" there.
_IGNORED = dict.fromkeys([*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF])


class Entry(msgspec.Struct, frozen=True):
    """One file: ``mode`` as in git (regular, executable or link), SHA-256 of its bytes or of the link's text."""

    mode: int
    digest: str
    size: int


class Change(msgspec.Struct, frozen=True):
    """What happens to ``path`` (posix, relative): created (no ``before``), deleted (no ``after``) or changed."""

    path: str
    before: Entry | None
    after: Entry | None


def is_git_name(name: str) -> bool:
    """Whether a file system may take ``name`` for ``.git``."""
    if name.isascii() and not name.startswith((".", "g", "G")):
        return False  # nearly every name; the rest takes longer
    return name.translate(_IGNORED).rstrip(". ").casefold() in (".git", "git~1")


def is_cache(name: str, folder: bool) -> bool:
    """Whether ``name`` is byte code or a cache of a tool: never copied, never part of a snapshot."""
    return name in _CACHE_FOLDERS if folder else name.endswith(_BYTE_CODE)


def check_path(path: str) -> list[str]:
    """The components of a relative posix path. Raises SafetyViolation for one that leaves the tree or enters git's."""
    parts = path.split("/")
    if "\0" in path or any(part in ("", ".", "..") for part in parts):
        raise SafetyViolation(f"{path!r} is not a path inside the repository", "The change is refused.")
    if any(is_git_name(part) for part in parts):
        raise SafetyViolation(f"{path!r} leads into a git folder", "The change is refused.")
    return parts


@contextlib.contextmanager
def opened(path: Path) -> Iterator[int]:
    """The descriptor of a folder (whose own path is trusted)."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def opened_below(folder: int, name: str) -> Iterator[int]:
    """The descriptor of the folder ``name`` in ``folder``; OSError if it is a link or no folder."""
    descriptor = os.open(name, _FOLDER, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def parent_of(root: int, path: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
    """(descriptor of the folder that holds ``path``, last name). A link on the way is a SafetyViolation.

    Without ``create`` a missing folder is a FileNotFoundError, as is a file in the place of a folder.
    """
    *folders, name = check_path(path)
    current = os.dup(root)
    try:
        for folder in folders:
            if create:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(folder, dir_fd=current)
            try:
                below = os.open(folder, _FOLDER, dir_fd=current)
            except OSError as error:
                if error.errno not in (errno.ELOOP, errno.ENOTDIR):
                    raise
                if stat.S_ISLNK(os.stat(folder, dir_fd=current, follow_symlinks=False).st_mode):
                    raise SafetyViolation(f"{path!r} leads through the link {folder!r}") from error
                raise FileNotFoundError(errno.ENOENT, "not a folder on the way", path) from error
            os.close(current)
            current = below
        yield current, name
    finally:
        os.close(current)


def open_file(folder: int, name: str) -> int:
    """A read-only descriptor of the regular file ``name``; OSError if it is anything else (a link, a pipe)."""
    descriptor = os.open(name, _FILE, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", name)
    return descriptor


def git_mode(mode: int) -> int:
    """The mode as git records it for a file or link with ``st_mode``."""
    if stat.S_ISLNK(mode):
        return LINK
    return EXECUTABLE if mode & stat.S_IXUSR else REGULAR


def link_entry(folder: int, name: str) -> tuple[Entry, bytes]:
    """The entry of a symbolic link, and its text."""
    text = os.fsencode(os.readlink(name, dir_fd=folder))
    return Entry(LINK, hashlib.sha256(text).hexdigest(), len(text)), text


def look(root: int, path: str) -> Entry | None:
    """What is at ``path`` now; None for nothing. A folder or special file is an entry that equals no other."""
    try:
        with parent_of(root, path) as (folder, name):
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                return link_entry(folder, name)[0]
            if not stat.S_ISREG(mode):
                return Entry(stat.S_IFMT(mode), "", 0)
            hasher, size = hashlib.sha256(), 0
            with os.fdopen(open_file(folder, name), "rb", buffering=0) as stream:
                while chunk := stream.read(_CHUNK):
                    hasher.update(chunk)
                    size += len(chunk)
            return Entry(git_mode(mode), hasher.hexdigest(), size)
    except FileNotFoundError:
        return None


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def put_file(folder: int, name: str, data: bytes, mode: int) -> None:
    """Make ``name`` a new file or link with these bytes, in one step, whatever file or link was there before.

    ``mode`` is one of the entry's modes. A file with several names keeps its bytes under the others.
    """
    temporary = f".planexec-{os.urandom(8).hex()}.tmp"
    try:
        if mode == LINK:
            os.symlink(os.fsdecode(data), temporary, dir_fd=folder)
        else:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(temporary, flags, mode & 0o777, dir_fd=folder)
            try:
                write_all(descriptor, data)
                os.fchmod(descriptor, mode & 0o777)
            finally:
                os.close(descriptor)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)
        raise


def prune(root: int, path: str) -> None:
    """Remove the folders above ``path`` that are empty now."""
    parts = path.split("/")[:-1]
    while parts:
        try:
            with parent_of(root, "/".join(parts)) as (folder, name):
                os.rmdir(name, dir_fd=folder)
        except OSError:
            return
        parts.pop()


def remove(folder: int, name: str) -> None:
    """Remove whatever ``name`` is, with all below it, however deep and whatever its permissions. No error if absent."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(mode):
        os.unlink(name, dir_fd=folder)
        return
    unlock(folder, name)
    with opened_below(folder, name) as top:
        while _empty(top, top, 0):  # folders that were too deep stand in `top` by now
            pass
    os.rmdir(name, dir_fd=folder)


def _empty(top: int, folder: int, depth: int) -> bool:
    """Remove all in ``folder``, but move what is too deep up to ``top``; returns whether anything was moved."""
    moved = False
    with os.scandir(folder) as scan:
        entries = list(scan)
    for entry in entries:
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(entry.name, dir_fd=folder)
            continue
        unlock(folder, entry.name)
        if depth >= _DEEPEST:
            os.rename(entry.name, f"planexec-{os.urandom(8).hex()}", src_dir_fd=folder, dst_dir_fd=top)
            moved = True
            continue
        with opened_below(folder, entry.name) as below:
            moved |= _empty(top, below, depth + 1)
        os.rmdir(entry.name, dir_fd=folder)
    return moved


def unlock(folder: int, name: str) -> None:
    """Give the owner all rights on the folder ``name``: executed code may have taken them away."""
    if os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode & stat.S_IRWXU == stat.S_IRWXU:
        return
    # chmod follows links; a descriptor that only names the folder (O_PATH) does not.
    descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    try:
        Path(f"/proc/self/fd/{descriptor}").chmod(stat.S_IRWXU)
    finally:
        os.close(descriptor)
