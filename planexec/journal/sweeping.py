"""Artifacts that no run refers to, and removing them while no process works in the state folder."""

from __future__ import annotations

import re
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from planexec.journal.artifacts import ArtifactStore
from planexec.journal.journal import Journal
from planexec.journal.runlog import StateLock

_DIGEST = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_DAY = 86400.0


@dataclass(frozen=True)
class Unreferred:
    """Files of the store that nothing leads to, and their bytes."""

    paths: list[Path]
    size: int


def unreferred(journal: Journal, store: ArtifactStore, without: Collection[str] = (), days: float = 0.0) -> Unreferred:
    """What no run but those ``without`` leads to, directly or through other artifacts, and is older than ``days``.

    Any 64 hex digits in an event or an artifact count as a reference: rather one too many is kept.
    """
    kept = referred(journal, store, without)
    before = time.time() - days * _DAY
    found = [path for path in sorted(store.folder.glob("*")) + sorted(store.folder.glob(".*.tmp")) if path.is_file()]
    sizes = {path: path.stat() for path in found if path.name not in kept}
    paths = [path for path, status in sizes.items() if status.st_mtime <= before]
    return Unreferred(paths, sum(sizes[path].st_size for path in paths))


def referred(journal: Journal, store: ArtifactStore, without: Collection[str] = ()) -> set[str]:
    """The digests to which the journal leads."""
    waiting: set[str] = set()
    for row in journal.runs():
        if row.run_id not in without:
            for stored in journal.read(row.run_id):
                waiting |= _digests(stored.payload)
    kept: set[str] = set()
    while waiting:
        digest = waiting.pop()
        kept.add(digest)
        try:
            data = store.path(digest).read_bytes()
        except OSError:
            continue  # a digest of something else
        waiting |= _digests(data) - kept
    return kept


def sweep(journal: Journal, store: ArtifactStore, days: float = 0.0) -> Unreferred | None:
    """Remove what is unreferred; None, and nothing is removed, while any process works on a run of this journal."""
    lock = StateLock(store.folder.parent)
    if not lock.acquire_alone():
        return None
    try:
        found = unreferred(journal, store, days=days)
        for path in found.paths:
            path.unlink(missing_ok=True)
        return found
    finally:
        lock.release()


def _digests(data: bytes) -> set[str]:
    return {found.decode("ascii") for found in _DIGEST.findall(data)}
