"""Snapshots without git: a manifest of a tree, over bytes in the artifact store.

Git never looks at a tree in which code was executed, for such code can plant a ``.git`` whose configuration makes
git run programs on the host. ``.git`` entries at any depth, byte code, caches and special files are left out.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Sequence
from pathlib import Path

import msgspec

from planexec.journal.artifacts import ArtifactStore
from planexec.workspace.entries import (
    GIT_FOLDER,
    LINK,
    Change,
    Entry,
    git_mode,
    is_cache,
    is_git_name,
    link_entry,
    open_file,
    opened,
    opened_below,
    parent_of,
    put_file,
    remove,
    unlock,
)
from planexec.workspace.scancache import ScanCache

__all__ = ["Change", "Entry", "Manifest", "ScanCache", "changes", "restore", "scan"]

_SPECIAL = stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX
_DEEPEST = 200  # levels of folders; deeper ones are left out (each level holds a descriptor)


class Manifest(msgspec.Struct, frozen=True):
    """A tree: ``entries`` by path (posix, undecodable bytes as surrogates), what was left out, empty folders."""

    entries: dict[str, Entry]
    left_out: list[str] = msgspec.field(default_factory=list)
    folders: list[str] = msgspec.field(default_factory=list)

    def encode(self) -> bytes:
        """JSON in ASCII: surrogates survive, which they would not in UTF-8."""
        return json.dumps(msgspec.to_builtins(self), sort_keys=True).encode("ascii")

    @classmethod
    def decode(cls, data: bytes) -> Manifest:
        """What ``encode`` wrote. Raises ValueError for anything else."""
        return msgspec.convert(json.loads(data), cls)


def scan(tree: Path, store: ArtifactStore, cache: ScanCache | None = None) -> Manifest:
    """The manifest of ``tree``; the bytes of all its files are in ``store`` afterwards."""
    manifest = Manifest({}, [], [])
    with opened(tree) as root, store.batch() as batch:
        _Scan(manifest, batch, cache).folder(root, "", 0)
    manifest.left_out.sort()
    manifest.folders.sort()
    return manifest


def changes(before: Manifest, after: Manifest) -> list[Change]:
    """What differs between two manifests, by path."""
    paths = sorted(before.entries.keys() | after.entries.keys())
    pairs = ((path, before.entries.get(path), after.entries.get(path)) for path in paths)
    return [Change(path, old, new) for path, old, new in pairs if old != new]


def restore(tree: Path, manifest: Manifest, store: ArtifactStore, cache: ScanCache | None = None) -> None:
    """Make ``tree`` what ``manifest`` says: all else goes, also what is never recorded (byte code, ``.git``).

    At the top an empty ``.git`` stands afterwards, as in every copy: the place for a mount.

    Files that are right already stay untouched. Safe to repeat after a kill.
    """
    wanted: dict[str, Entry | None] = {folder: None for path in manifest.entries for folder in _above(path)}
    wanted |= {above: None for folder in manifest.folders for above in (*_above(folder), folder)}
    wanted |= manifest.entries
    right: set[str] = set()
    with opened(tree) as root:
        _strip(root, "", wanted, cache, right)
        with contextlib.suppress(FileExistsError):
            os.mkdir(GIT_FOLDER, dir_fd=root)
        for path in sorted(manifest.folders):
            with parent_of(root, f"{path}/x", create=True):
                pass
        for path in sorted(manifest.entries.keys() - right):
            entry = manifest.entries[path]
            with parent_of(root, path, create=True) as (folder, name):
                put_file(folder, name, store.get(entry.digest), entry.mode)


class _Scan:
    def __init__(self, manifest: Manifest, store: ArtifactStore, cache: ScanCache | None) -> None:
        self.manifest, self.store, self.cache = manifest, store, cache

    def folder(self, descriptor: int, prefix: str, depth: int) -> None:
        count = len(self.manifest.entries) + len(self.manifest.folders)
        with os.scandir(descriptor) as found:
            names = sorted(found, key=lambda item: item.name)
        for item in names:
            self._item(descriptor, item, prefix + item.name, depth)
        if prefix and count == len(self.manifest.entries) + len(self.manifest.folders):
            self.manifest.folders.append(prefix[:-1])

    def _item(self, descriptor: int, item: os.DirEntry[str], path: str, depth: int) -> None:
        is_folder = item.is_dir(follow_symlinks=False)
        if is_cache(item.name, is_folder):
            return
        try:
            if path == GIT_FOLDER and _is_empty_folder(descriptor, item):
                return
            if is_git_name(item.name) or depth >= _DEEPEST:
                self.manifest.left_out.append(path)
            elif is_folder:
                with opened_below(descriptor, item.name) as below:
                    self.folder(below, path + "/", depth + 1)
            elif item.is_symlink():
                entry, text = link_entry(descriptor, item.name)
                self.store.put(text)
                self.manifest.entries[path] = entry
            elif item.is_file(follow_symlinks=False):
                self.manifest.entries[path] = self._known(item, path) or self._file(descriptor, item.name, path)
            else:
                self.manifest.left_out.append(path)
        except OSError:  # unreadable, or replaced while we looked
            self.manifest.left_out.append(path)

    def _known(self, item: os.DirEntry[str], path: str) -> Entry | None:
        """The entry of a file that need not even be opened."""
        if self.cache is None:
            return None
        status = item.stat(follow_symlinks=False)
        known = self.cache.get(path, status)
        if known is None or not self.store.has(known):
            return None
        return Entry(git_mode(status.st_mode), known, status.st_size)

    def _file(self, descriptor: int, name: str, path: str) -> Entry:
        with os.fdopen(open_file(descriptor, name), "rb", buffering=0) as stream:
            before = os.fstat(stream.fileno())
            digest, size = self.store.put_stream(stream)
            if self.cache is not None:
                self.cache.put(path, before, os.fstat(stream.fileno()), digest)
            return Entry(git_mode(before.st_mode), digest, size)


def _strip(
    descriptor: int, prefix: str, wanted: dict[str, Entry | None], cache: ScanCache | None, right: set[str]
) -> None:
    """Remove everything that is not wanted or is not as wanted; what is as wanted is added to ``right``.

    ``wanted``: path to entry, None for a folder.
    """
    with os.scandir(descriptor) as found:
        items = list(found)
    for item in items:
        path = prefix + item.name
        if path == GIT_FOLDER and _is_empty_folder(descriptor, item):
            continue
        if path not in wanted:
            remove(descriptor, item.name)
            continue
        entry = wanted[path]
        if entry is None and item.is_dir(follow_symlinks=False):
            unlock(descriptor, item.name)
            with opened_below(descriptor, item.name) as below:
                _strip(below, path + "/", wanted, cache, right)
        elif entry is not None and _is_right(descriptor, item, path, entry, cache):
            right.add(path)
        else:
            remove(descriptor, item.name)


def _is_right(descriptor: int, item: os.DirEntry[str], path: str, entry: Entry, cache: ScanCache | None) -> bool:
    if item.is_symlink():
        return entry.mode == LINK and link_entry(descriptor, item.name)[0] == entry
    if not item.is_file(follow_symlinks=False):
        return False
    try:
        with os.fdopen(open_file(descriptor, item.name), "rb") as stream:
            status = os.fstat(stream.fileno())
            if git_mode(status.st_mode) != entry.mode or status.st_size != entry.size or status.st_mode & _SPECIAL:
                return False
            if cache is not None and cache.get(path, status) == entry.digest:
                return True
            return hashlib.file_digest(stream, "sha256").hexdigest() == entry.digest
    except OSError:
        return False


def _is_empty_folder(descriptor: int, item: os.DirEntry[str]) -> bool:
    if not item.is_dir(follow_symlinks=False):
        return False
    try:
        with opened_below(descriptor, item.name) as below, os.scandir(below) as found:
            return next(found, None) is None
    except OSError:
        return False


def _above(path: str) -> Sequence[str]:
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]
