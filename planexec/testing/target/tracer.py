"""Which lines of the project ran for which test, and where watched values were seen (``sys.settrace``)."""

from __future__ import annotations

import ast
import sys
import threading
from types import CodeType, FrameType
from typing import Any, Callable, Dict, Iterable, List, Optional, Set, Tuple

from .places import Project

EXACT = (str, int, float, bool, bytes, type(None), tuple)
MOST_SIGHTINGS = 2000
MOST_LOCALS = 60
IMPORT = ""  # the bucket for what runs outside of every test: imports and collection

Trace = Callable[[FrameType, str, Any], Any]


class Watch:
    """The watched values, given by their reprs; ``seen`` tells whether a value is one of them."""

    def __init__(self, reprs: Iterable[str]) -> None:
        self._reprs: Dict[Tuple[type, Any], str] = {}
        for text in reprs:
            try:
                value = ast.literal_eval(text)
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                continue
            if self._plain(value, 3):
                self._reprs[type(value), value] = repr(value)

    def __bool__(self) -> bool:
        return bool(self._reprs)

    def seen(self, value: Any) -> Optional[str]:
        """The repr of ``value`` when it is watched. Only exact builtin types: no code of the project is called."""
        kind = type(value)
        if kind not in EXACT or (kind is tuple and not self._plain(value, 3)):
            return None
        text = self._reprs.get((kind, value))
        # (1,) equals (True,): the repr decides.
        return text if text is not None and (kind is not tuple or repr(value) == text) else None

    def _plain(self, value: Any, depth: int) -> bool:
        if type(value) is not tuple:
            return type(value) in EXACT
        return depth > 0 and len(value) <= 16 and all(self._plain(each, depth - 1) for each in value)


class Tracer:
    """Records lines while armed. One bucket of lines for each test, one for everything outside."""

    def __init__(self, project: Project, watch: Iterable[str] = ()) -> None:
        self._project = project
        self._watch = Watch(watch)
        self._codes: Dict[CodeType, Optional[Trace]] = {}
        self._buckets: Dict[str, Set[Tuple[str, int]]] = {IMPORT: set()}
        self._current = self._buckets[IMPORT]
        self._test = IMPORT
        self._sightings: Dict[Tuple[str, str, int, str, str], None] = {}
        self.frames: Dict[str, List[Dict[str, Any]]] = {}

    def arm(self) -> None:
        """Trace this thread and those started later. A test may have set a tracer of its own."""
        threading.settrace(self.follow)
        sys.settrace(self.follow)

    def disarm(self) -> None:
        """Stop tracing."""
        threading.settrace(None)
        sys.settrace(None)

    def enter(self, test: str) -> None:
        """From here on lines belong to ``test``."""
        self._test = test
        self._current = self._buckets.setdefault(test, set())
        self.arm()

    def leave(self) -> None:
        """From here on lines belong to no test and are not recorded: what runs between tests is not an import."""
        self.disarm()
        self._test = IMPORT
        self._current = self._buckets[IMPORT]

    def failed(self, test: str, frames: List[Dict[str, Any]]) -> None:
        """Keep the frames of a test's first failure."""
        self.frames.setdefault(test, frames)

    def follow(self, frame: FrameType, event: str, argument: Any) -> Optional[Trace]:
        """The global trace function: how a frame is traced, None for code of somebody else."""
        code = frame.f_code
        try:
            return self._codes[code]
        except KeyError:
            path = self._project.relative(code.co_filename)
            trace = None if path is None else self._trace_for(path)
            self._codes[code] = trace
            return trace

    def _trace_for(self, path: str) -> Trace:
        """The local trace function for code of ``path``; a plain one where nothing is watched."""

        def plain(frame: FrameType, event: str, argument: Any) -> Trace:
            if event == "line":
                self._current.add((path, frame.f_lineno))
            return plain

        def watching(frame: FrameType, event: str, argument: Any) -> Trace:
            if event == "line":
                self._current.add((path, frame.f_lineno))
                self._look(path, frame)
            elif event == "return" and argument is not None:
                self._sight(path, frame.f_lineno, "return", argument)
            return watching

        return watching if self._watch else plain

    def _look(self, path: str, frame: FrameType) -> None:
        if self._test == IMPORT or len(self._sightings) >= MOST_SIGHTINGS:
            return
        if frame.f_code.co_name == "<module>":
            return
        for name, value in list(frame.f_locals.items())[:MOST_LOCALS]:
            self._sight(path, frame.f_lineno, name, value)

    def _sight(self, path: str, line: int, name: str, value: Any) -> None:
        text = self._watch.seen(value)
        if text is not None and self._test != IMPORT and len(self._sightings) < MOST_SIGHTINGS:
            self._sightings[self._test, path, line, name, text] = None

    def result(self, without: str = "") -> Dict[str, Any]:
        """Everything as JSON values: lines (sorted) by test and path, lines at import, frames, sightings.

        ``without`` is the path of the planted test.
        """
        self._buckets[IMPORT] = {each for each in self._buckets[IMPORT] if each[0] != without}
        lines = {test: _by_path(bucket) for test, bucket in self._buckets.items() if test != IMPORT}
        return {
            "lines": lines,
            "import_lines": _by_path(self._buckets[IMPORT]),
            "frames": self.frames,
            "sightings": [
                {"test": test, "path": path, "line": line, "name": name, "value": value}
                for test, path, line, name, value in self._sightings
            ],
        }


def _by_path(bucket: Set[Tuple[str, int]]) -> Dict[str, List[int]]:
    found: Dict[str, List[int]] = {}
    for path, line in sorted(bucket):
        found.setdefault(path, []).append(line)
    return found
