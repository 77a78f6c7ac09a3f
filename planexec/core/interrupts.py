"""Being asked to stop: heard at once, but never in the middle of a commit.

A signal handler runs between any two instructions of the main thread. What it raises there would leave a transaction
open, or a committed event that this process does not know of; so it waits where the code says ``uninterrupted``. Other
threads hear nothing of a signal; where they wait for a command they look at ``asked``.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

asked = threading.Event()


class Interrupted(KeyboardInterrupt):
    """SIGINT or SIGTERM. ``exit_code`` is what a shell expects of a program that it ended."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__(number)
        self.name = signal.Signals(number).name
        self.exit_code = 128 + number


@dataclass
class _Hold:
    """How many ``uninterrupted`` bodies are being run, the signal that waits for their end, and the last one."""

    depth: int = 0
    waiting: Interrupted | None = None
    last: Interrupted | None = None


_hold = _Hold()


def listen() -> None:
    """Raise Interrupted in the main thread on SIGINT and SIGTERM; what the parent had ignored stays ignored."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _heard)


def _heard(number: int, frame: FrameType | None) -> None:
    asked.set()
    _hold.last = Interrupted(number)
    if _hold.depth:
        _hold.waiting = _hold.last
        return
    raise _hold.last


def last() -> Interrupted | None:
    """The signal that was heard last, whatever became of it."""
    return _hold.last


@contextmanager
def uninterrupted() -> Iterator[None]:
    """The body is run to its end; a signal that comes meanwhile is raised after it. Of use in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _hold.depth += 1
    try:
        yield
    finally:
        _hold.depth -= 1
        if not _hold.depth and _hold.waiting is not None:
            waited, _hold.waiting = _hold.waiting, None
            raise waited


def check() -> None:
    """Raise Interrupted where the program was asked to stop: for threads that no signal reaches."""
    if asked.is_set():
        raise Interrupted
