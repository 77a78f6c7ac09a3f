"""The tree in which a warm process judges: rewritten for each candidate, with a backup from which it is put back."""

from __future__ import annotations

import shutil
from pathlib import Path, PurePosixPath
from typing import Protocol

from planexec.sandbox.interface import FileTree, Layered, Mount
from planexec.testing.layout import INSIDE_BACKUP, INSIDE_TOUCHED, Layout, skipped
from planexec.workspace.copies import discard_folder
from planexec.workspace.layers import copy_layer


class JudgedTree(Protocol):
    """What a warm process needs to have mounted."""

    @property
    def tree(self) -> FileTree:
        """What is rewritten."""
        ...

    def mounts(self) -> list[Mount]:
        """The backup at `INSIDE_BACKUP`, and perhaps what tells which files were touched at `INSIDE_TOUCHED`."""
        ...

    def second(self) -> JudgedTree:
        """One for a second process at the same time."""
        ...

    def put_back(self) -> None:
        """Make the tree what it was: a candidate may have ended the process before it did so."""
        ...


class WholeTree:
    """One folder, and a copy of it in the new folder ``backup``; two processes share it, and take turns."""

    def __init__(self, layout: Layout, tree: Path, backup: Path) -> None:
        self.tree, self._backup = tree, backup
        self._skipped = skipped(layout)
        for cache in tree.rglob("__pycache__"):
            shutil.rmtree(cache, ignore_errors=True)
        left_out = {str(tree / path) for path in self._skipped}
        shutil.copytree(
            tree,
            backup,
            symlinks=True,
            ignore=lambda folder, names: [name for name in names if str(Path(folder) / name) in left_out],
        )

    def mounts(self) -> list[Mount]:
        """The backup alone: the process looks at the whole tree to see what was touched."""
        return [Mount(self._backup, INSIDE_BACKUP)]

    def second(self) -> JudgedTree:
        """The same."""
        return self

    def put_back(self) -> None:
        """Copy everything again."""
        for entry in self.tree.iterdir():
            if any(PurePosixPath(path).parts[0] == entry.name for path in self._skipped):
                continue
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
        shutil.copytree(self._backup, self.tree, symlinks=True, dirs_exist_ok=True)


class LayeredTree:
    """A layer: the tree below it is the backup, and the layer's folder holds what was touched.

    Copies of the layer lie beside it. No two processes may write to one.
    """

    def __init__(self, tree: Layered, number: int = 0) -> None:
        self.tree, self._number = tree, number
        self._backup = copy_layer(tree, tree.folder.with_name(f"backup-{number}"))

    def mounts(self) -> list[Mount]:
        """The unchanged layer, and the folder of the other, which may be read while it is written through its mount."""
        return [self._backup.mount(INSIDE_BACKUP, writable=False), Mount(self.tree.folder, INSIDE_TOUCHED)]

    def second(self) -> JudgedTree:
        """Another layer over the same tree."""
        number = self._number + 1
        return LayeredTree(copy_layer(self._backup, self.tree.folder.with_name(f"tree-{number}")), number)

    def put_back(self) -> None:
        """Make the layer anew. Its process must have ended."""
        discard_folder(self.tree.folder)
        discard_folder(self.tree.work)
        copy_layer(self._backup, self.tree.folder)


def judged(layout: Layout, tree: FileTree, backup: Path) -> JudgedTree:
    """What judges in ``tree``; ``backup`` is a folder that does not exist yet, for a whole tree's."""
    return LayeredTree(tree) if isinstance(tree, Layered) else WholeTree(layout, tree, backup)
