"""The tree of the warm process: a candidate is written into it, and afterwards it is again what it was."""

from __future__ import annotations

import os
import shutil
import stat
from typing import Dict, Iterator, Mapping, Sequence, Set, Tuple

# Identity of an entry: change time, size, inode, mode. The change time cannot be set by a program.
Facts = Tuple[int, int, int, int]


class Tree:
    """The tree at ``root``, an untouched copy of it at ``backup``. ``skipped`` paths in it are mounted over.

    Where the tree is a layer over another, the folder ``touched`` tells what has changed, and only that is looked at.
    """

    def __init__(self, root: str, backup: str, skipped: Sequence[str] = (), touched: str = "") -> None:
        self._root = root
        self._backup = backup
        self._skipped = frozenset(skipped)
        self._touched = touched
        self._index = dict(self._walk(touched or root))
        self._writes = 0

    def write(self, changes: Mapping[str, bytes]) -> None:
        """Write the candidate's files (relative posix paths).

        Their modification times differ from those of the originals and of each other by whole seconds: with size
        alone that decides whether stored bytecode is still that of the file.
        """
        self._writes += 1
        for path, content in changes.items():
            place = os.path.join(self._root, *path.split("/"))
            os.makedirs(os.path.dirname(place), exist_ok=True)
            if os.path.islink(place):
                os.unlink(place)
            with open(place, "wb") as stream:
                stream.write(content)
            found = os.stat(place)
            os.utime(place, (found.st_atime, self._modified(path) + self._writes))

    def _modified(self, path: str) -> int:
        """When the original of ``path`` was last changed, in seconds since 1970; 0 for a new file."""
        try:
            return int(os.lstat(os.path.join(self._backup, path)).st_mtime)
        except OSError:
            return 0

    def restore(self) -> None:
        """Undo every change since the start, whoever made it: the candidate's files and what its tests wrote."""
        if self._touched:
            self._restore_touched()
            return
        now = dict(self._walk(self._root))
        for path in sorted(now, reverse=True):
            if path not in self._index:
                _remove(os.path.join(self._root, path))
        for path, facts in sorted(self._index.items()):
            if now.get(path) != facts:
                self._index[path] = self._bring_back(path)

    def _bring_back(self, path: str) -> Facts:
        source, place = os.path.join(self._backup, path), os.path.join(self._root, path)
        wanted = os.lstat(source)
        if stat.S_ISDIR(wanted.st_mode):
            if os.path.islink(place) or not os.path.isdir(place):
                _remove(place)
                os.mkdir(place)
            shutil.copystat(source, place)
        else:
            _remove(place)
            shutil.copy2(source, place, follow_symlinks=False)
        return _facts(place, os.lstat(place))

    def _restore_touched(self) -> None:
        """The same in a layer: a folder that is not in it is as it was, with all below."""
        waiting = [""]
        while waiting:
            folder = waiting.pop()
            wanted = _names(os.path.join(self._backup, folder))
            now = _names(os.path.join(self._root, folder))
            for name in now - wanted:
                path = _below(folder, name)
                if path not in self._skipped:
                    _remove(os.path.join(self._root, path))
            # A deleted file is in the layer as a mark; a folder that was made again may hide all that was in it.
            for name in wanted & (_names(os.path.join(self._touched, folder)) | (wanted - now)):
                path = _below(folder, name)
                if path not in self._skipped and self._mended(path):
                    waiting.append(path)

    def _mended(self, path: str) -> bool:
        """Make an entry what it was. Whether it is a folder that is still to be looked into."""
        place = os.path.join(self._root, path)
        wanted = os.lstat(os.path.join(self._backup, path))
        found = os.lstat(place) if os.path.lexists(place) else None
        if not stat.S_ISDIR(wanted.st_mode):
            if found is None or self._index.get(path) != _facts(place, found):
                self._index[path] = self._bring_back(path)
            return False
        if found is None or found.st_mode != wanted.st_mode:
            self._bring_back(path)
        return True

    def _walk(self, top: str) -> Iterator[Tuple[str, Facts]]:
        """The entries of the tree that are found below ``top``: the tree itself, or the folder of its layer."""
        waiting = [""]
        while waiting:
            folder = waiting.pop()
            for name in _names(os.path.join(top, folder)):
                path = _below(folder, name)
                place = os.path.join(self._root, path)
                if path in self._skipped:
                    continue
                try:
                    found = os.lstat(place)
                except OSError:  # the mark of a deletion, in a layer
                    continue
                yield path, _facts(place, found)
                if stat.S_ISDIR(found.st_mode):
                    waiting.append(path)


def _below(folder: str, name: str) -> str:
    return folder + "/" + name if folder else name


def _names(folder: str) -> Set[str]:
    try:
        return set(os.listdir(folder))
    except OSError:
        return set()


def _facts(path: str, found: os.stat_result) -> Facts:
    if stat.S_ISDIR(found.st_mode):
        return 0, 0, 0, found.st_mode  # its entries are looked at by themselves
    return found.st_ctime_ns, found.st_size, found.st_ino, found.st_mode


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    elif os.path.lexists(path):
        os.unlink(path)


def empty(folder: str, kept: Sequence[str]) -> None:
    """Remove what is in ``folder`` but the names in ``kept``."""
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        if name not in kept:
            try:
                _remove(os.path.join(folder, name))
            except OSError:
                continue


def contents(folders: Sequence[str]) -> Dict[str, Sequence[str]]:
    """The names in each of these folders now."""
    return {folder: os.listdir(folder) for folder in folders if os.path.isdir(folder)}
