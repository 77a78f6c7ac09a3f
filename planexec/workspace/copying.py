"""Copying a tree of files: links stay links, modes and times stay, and what is never copied stays behind."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from planexec.workspace.entries import is_cache, is_git_name, open_file, opened, opened_below, remove, write_all
from planexec.workspace.kept import Memory

_CHUNK = 4 * 1024 * 1024
_DEEPEST = 200


@dataclass
class Copied:
    """What a copy did: number of files that were copied, their bytes, and the paths that were left out for a reason."""

    files: int = 0
    size: int = 0
    left_out: list[str] = field(default_factory=list)


def copy_tree(source: Path, target: Path, skip: Collection[str], memory: Memory | None = None) -> Copied:
    """Copy ``source`` to the folder ``target``, which is new, or with ``memory`` a former copy of ours.

    Left out and recorded: ``.git`` at any depth, sockets, pipes, devices, what cannot be read. Left out silently:
    byte code, caches, and the paths in ``skip``. A file that vanishes meanwhile is not there. Raises OSError when
    the target cannot be written. A file that is as ``memory`` says, on both sides, is not copied again; what was copied
    is remembered there.
    """
    target.mkdir(mode=0o700, exist_ok=memory is not None)
    copier = _Copier(frozenset(skip), Copied(), memory or Memory())
    with opened(source) as from_folder, opened(target) as to_folder:
        copier.folder(from_folder, to_folder, "", 0)
    return copier.copied


@dataclass
class _Copier:
    skip: frozenset[str]
    copied: Copied
    memory: Memory

    def folder(self, source: int, target: int, prefix: str, depth: int) -> None:
        standing = {item.name: item for item in _items(target)}
        for item in _items(source):
            path = prefix + item.name
            is_folder = item.is_dir(follow_symlinks=False)
            if path in self.skip or is_cache(item.name, is_folder):
                continue
            if is_git_name(item.name) or depth >= _DEEPEST:
                done = False
            elif item.is_symlink():
                done = self._link(source, target, item.name, standing.get(item.name))
            elif is_folder:
                done = self._descend(source, target, path, depth, standing.get(item.name))
            else:
                done = item.is_file(follow_symlinks=False) and self._file(source, target, path, item, standing)
            if done:
                standing.pop(item.name, None)
            else:
                self.copied.left_out.append(path)
        for name in standing:
            remove(target, name)

    def _link(self, source: int, target: int, name: str, standing: os.DirEntry[str] | None) -> bool:
        text = os.readlink(name, dir_fd=source)
        if standing is None or not standing.is_symlink() or os.readlink(name, dir_fd=target) != text:
            remove(target, name)
            os.symlink(text, name, dir_fd=target)
        return True

    def _descend(self, source: int, target: int, path: str, depth: int, standing: os.DirEntry[str] | None) -> bool:
        """Copy a folder; False if it cannot be read."""
        name = path.rpartition("/")[2]
        with contextlib.ExitStack() as stack:
            try:
                below = stack.enter_context(opened_below(source, name))
            except OSError:
                return False
            if standing is None or not standing.is_dir(follow_symlinks=False):
                remove(target, name)
                os.mkdir(name, 0o700, dir_fd=target)
            copy = stack.enter_context(opened_below(target, name))
            self.folder(below, copy, path + "/", depth + 1)
            status = os.fstat(below)
            os.fchmod(copy, status.st_mode & 0o777 | stat.S_IRWXU)
            os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))
        return True

    def _file(
        self, source: int, target: int, path: str, item: os.DirEntry[str], standing: dict[str, os.DirEntry[str]]
    ) -> bool:
        """Copy a file; False if it cannot be read."""
        if item.name in standing:
            if self._is_same(path, item, standing[item.name]):
                return True
            remove(target, item.name)
        try:
            reader = open_file(source, item.name)
        except OSError:
            return False
        try:
            status = os.fstat(reader)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            writer = os.open(item.name, flags, 0o600, dir_fd=target)
            try:
                _copy_bytes(reader, writer)
                os.fchmod(writer, status.st_mode & 0o777 | stat.S_IRUSR)
                os.utime(writer, ns=(status.st_atime_ns, status.st_mtime_ns))
            finally:
                os.close(writer)
            self.memory.originals.put(path, status, os.fstat(reader), "")
        finally:
            os.close(reader)
        self.copied.files += 1
        self.copied.size += status.st_size
        return True

    def _is_same(self, path: str, item: os.DirEntry[str], standing: os.DirEntry[str]) -> bool:
        """Whether neither the file nor its copy has changed since it was copied."""
        with contextlib.suppress(OSError):
            original, copy = item.stat(follow_symlinks=False), standing.stat(follow_symlinks=False)
            known = self.memory.originals.get(path, original), self.memory.copies.get(path, copy)
            return None not in known and original.st_size == copy.st_size
        return False


def _items(folder: int) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as found:
        return list(found)


def _copy_bytes(reader: int, writer: int) -> None:
    """Let the kernel copy (and share blocks where the file system can); else by hand from where it stopped."""
    with contextlib.suppress(OSError):
        while os.copy_file_range(reader, writer, _CHUNK):
            pass
    while chunk := os.read(reader, _CHUNK):
        write_all(writer, chunk)
