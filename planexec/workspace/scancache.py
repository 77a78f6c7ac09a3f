"""What is known of files by their size, times, inode and mode, so that they need not be read again."""

from __future__ import annotations

import os
import time
from collections.abc import ItemsView

_SETTLED_NS = 100_000_000  # a file must be this old for its times to prove anything: ten ticks of a slow kernel
Fingerprint = tuple[int, int, int, int, int]
Known = tuple[Fingerprint, str]
"""Size, times of modification and change (ns), inode and mode of a file; its digest."""


class ScanCache:
    """Digests that a former scan of the same tree found, valid while size, times, inode and mode stay.

    The change time cannot be set back by a program, so a file that was rewritten is always read again. ``settled`` is
    for how many nanoseconds a file must have stood still: none where nobody else writes.
    """

    def __init__(self, known: dict[str, Known] | None = None, settled: int = _SETTLED_NS) -> None:
        self._known = known or {}
        self._settled = settled

    def get(self, path: str, status: os.stat_result) -> str | None:
        """The digest of ``path`` if it has not changed since ``put``."""
        fingerprint, digest = self._known.get(path, (None, None))
        return digest if fingerprint == _fingerprint(status) else None

    def put(self, path: str, before: os.stat_result, after: os.stat_result, digest: str) -> None:
        """Remember a digest, if the file stood still while it was read and for a while before."""
        young = self._settled > 0 and before.st_ctime_ns > time.time_ns() - self._settled
        if not young and _fingerprint(before) == _fingerprint(after):
            self._known[path] = (_fingerprint(before), digest)
        else:
            self._known.pop(path, None)

    def items(self) -> ItemsView[str, Known]:
        """Everything that is known."""
        return self._known.items()


def _fingerprint(status: os.stat_result) -> Fingerprint:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_mode
