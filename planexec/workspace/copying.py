"""Copying a tree of files: links stay links, modes and times stay, and what is never copied stays behind."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from planexec.workspace.entries import is_cache, is_git_name, open_file, opened, opened_below, write_all

_CHUNK = 4 * 1024 * 1024
_DEEPEST = 200


@dataclass
class Copied:
    """What a copy did: number of files, their bytes, and the paths that were left out for a reason."""

    files: int = 0
    size: int = 0
    left_out: list[str] = field(default_factory=list)


def copy_tree(source: Path, target: Path, skip: Collection[str]) -> Copied:
    """Copy ``source`` to the new folder ``target``.

    Left out and recorded: ``.git`` at any depth, sockets, pipes, devices, what cannot be read. Left out silently:
    byte code, caches, and the paths in ``skip``. A file that vanishes meanwhile is not there. Raises OSError when
    the target cannot be written.
    """
    target.mkdir(mode=0o700)
    copier = _Copier(frozenset(skip), Copied())
    with opened(source) as from_folder, opened(target) as to_folder:
        copier.folder(from_folder, to_folder, "", 0)
    return copier.copied


@dataclass
class _Copier:
    skip: frozenset[str]
    copied: Copied

    def folder(self, source: int, target: int, prefix: str, depth: int) -> None:
        with os.scandir(source) as found:
            items = list(found)
        for item in items:
            path = prefix + item.name
            is_folder = item.is_dir(follow_symlinks=False)
            if path in self.skip or is_cache(item.name, is_folder):
                continue
            if is_git_name(item.name) or depth >= _DEEPEST:
                done = False
            elif item.is_symlink():
                os.symlink(os.readlink(item.name, dir_fd=source), item.name, dir_fd=target)
                done = True
            elif is_folder:
                done = self._descend(source, target, path, depth)
            else:
                done = item.is_file(follow_symlinks=False) and self._file(source, target, item.name)
            if not done:
                self.copied.left_out.append(path)

    def _descend(self, source: int, target: int, path: str, depth: int) -> bool:
        """Copy a folder; False if it cannot be read."""
        name = path.rpartition("/")[2]
        with contextlib.ExitStack() as stack:
            try:
                below = stack.enter_context(opened_below(source, name))
            except OSError:
                return False
            os.mkdir(name, 0o700, dir_fd=target)
            copy = stack.enter_context(opened_below(target, name))
            self.folder(below, copy, path + "/", depth + 1)
            status = os.fstat(below)
            os.fchmod(copy, status.st_mode & 0o777 | stat.S_IRWXU)
            os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))
        return True

    def _file(self, source: int, target: int, name: str) -> bool:
        """Copy a file; False if it cannot be read."""
        try:
            reader = open_file(source, name)
        except OSError:
            return False
        try:
            status = os.fstat(reader)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            writer = os.open(name, flags, 0o600, dir_fd=target)
            try:
                _copy_bytes(reader, writer)
                os.fchmod(writer, status.st_mode & 0o777 | stat.S_IRUSR)
                os.utime(writer, ns=(status.st_atime_ns, status.st_mtime_ns))
            finally:
                os.close(writer)
        finally:
            os.close(reader)
        self.copied.files += 1
        self.copied.size += status.st_size
        return True


def _copy_bytes(reader: int, writer: int) -> None:
    """Let the kernel copy (and share blocks where the file system can); else by hand from where it stopped."""
    with contextlib.suppress(OSError):
        while os.copy_file_range(reader, writer, _CHUNK):
            pass
    while chunk := os.read(reader, _CHUNK):
        write_all(writer, chunk)
