"""Which files of the user's tree hold a secret that nothing executed, and no artifact, may get to see."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from planexec.workspace.ignored import find_mounts
from planexec.workspace.repository import Repository


def holding(repository: Repository, secret: bytes) -> tuple[list[str], list[str]]:
    """The tracked files whose bytes have ``secret`` in them, and the other ones that a copy of the tree would hold:
    ignored and new files. Ignored folders that are mounted and not copied (virtual environments, large ones) are not
    looked into.
    """
    root, tracked, ignored = repository.root, repository.tracked(), repository.ignored()
    mounts = set(find_mounts(root, ignored, tracked))
    known = set(tracked)
    others = [path for path in (*ignored, *repository.dirty()) if path not in known]
    found = [path for each in others for path in _files(root, each, mounts)]
    return _with(root, tracked, secret), _with(root, found, secret)


def _files(root: Path, entry: str, mounts: set[str]) -> Iterator[str]:
    """The files of an entry of git's listings: a file, or a folder with a slash at its end."""
    if entry.rstrip("/") in mounts:
        return
    if not entry.endswith("/"):
        yield entry
        return
    for folder, below, names in os.walk(root / entry):
        inside = os.path.relpath(folder, root)
        below[:] = [name for name in below if f"{inside}/{name}" not in mounts]
        yield from (f"{inside}/{name}" for name in names)


def _with(root: Path, paths: Iterable[str], secret: bytes) -> list[str]:
    found = []
    for path in paths:
        try:
            descriptor = os.open(root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:  # a link, or gone
            continue
        with os.fdopen(descriptor, "rb") as file:
            try:
                content = file.read()
            except OSError:  # a folder, a device
                continue
        if secret in content:
            found.append(path)
    return sorted(found)
