"""The way back to the host: one JSON record a line, sealed at the end with a key that is never written."""

from __future__ import annotations

import hmac
import json
import os
from typing import Any, Dict

# Bound now: product code may replace the functions of these modules later.
_dumps = json.dumps
_write = os.write
_getpid = os.getpid


class Channel:
    """Appends records to ``descriptor``; ``close`` adds the seal (HMAC-SHA256 over all earlier bytes).

    A child forked by a test shares the descriptor: only the process that opened the channel writes to it.
    """

    def __init__(self, descriptor: int, key: bytes) -> None:
        self._descriptor = descriptor
        self._seal = hmac.new(key, digestmod="sha256")
        self._owner = _getpid()
        self._closed = False

    def emit(self, kind: str, **fields: Any) -> None:
        """Write one record. ``fields`` are JSON values; text that is no valid Unicode is escaped."""
        if self._closed or _getpid() != self._owner:
            return
        record: Dict[str, Any] = {"kind": kind}
        record.update(fields)
        line = _dumps(record).encode("ascii") + b"\n"
        self._seal.update(line)
        self._put(line)

    def close(self, **fields: Any) -> None:
        """Write the closing record; nothing can be written after it."""
        if self._closed or _getpid() != self._owner:
            return
        self.emit("closing", **fields)
        self._closed = True
        self._put(_dumps({"kind": "seal", "digest": self._seal.hexdigest()}).encode("ascii") + b"\n")

    def _put(self, line: bytes) -> None:
        while line:
            line = line[_write(self._descriptor, line) :]
