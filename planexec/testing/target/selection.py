"""Which of the collected tests are wanted: by node id, class, file or folder."""

from __future__ import annotations

import os
from typing import Dict, Iterator, List, Optional, Sequence


class Selection:
    """The wanted ids in their order. An empty one wants everything.

    An id names one test, a class (``a.py::C``), a file, a folder or, without its brackets, all parameters of a test.
    """

    def __init__(self, ids: Sequence[str]) -> None:
        self._places: Dict[str, int] = {}
        for each in ids:
            self._places.setdefault(each.rstrip("/") or ".", len(self._places))

    def __bool__(self) -> bool:
        return bool(self._places)

    def place(self, nodeid: str) -> Optional[int]:
        """The position of the first wanted id that covers ``nodeid``; None when none does."""
        if not self._places:
            return 0
        found = [self._places[name] for name in _names(nodeid) if name in self._places]
        return min(found) if found else None

    def files(self, root: str) -> List[str]:
        """The existing files or folders that hold the wanted ids, each once, in order."""
        found: List[str] = []
        for each in self._places:
            path = os.path.normpath(os.path.join(root, *each.split("::", 1)[0].split("/")))
            if path not in found and os.path.exists(path):
                found.append(path)
        return found


def _names(nodeid: str) -> Iterator[str]:
    yield nodeid
    path, _, rest = nodeid.partition("::")
    if rest:
        bare = rest.partition("[")[0]
        yield path + "::" + bare
        parts = bare.split("::")
        for end in range(len(parts) - 1, 0, -1):
            yield path + "::" + "::".join(parts[:end])
        yield path
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path
    yield "."
