from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Callable, Iterator

import pytest

from planexec.testing.target import processes


@pytest.fixture(autouse=True)
def parent() -> Iterator[None]:
    processes.adopt_orphans()
    processes.listen()
    yield
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
    ctypes.CDLL(None).prctl(processes.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def forked(work: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(9)
    return child


def test_exit_codes_signals_and_timeouts() -> None:
    assert processes.wait(forked(lambda: os._exit(3)), 20)[0] == 3
    assert processes.wait(forked(lambda: os.kill(os.getpid(), signal.SIGKILL)), 20)[0] == -9
    code, seconds = processes.wait(forked(lambda: time.sleep(60)), 0.1)
    assert code is None and 0.1 <= seconds < 10
    assert processes.kill_all() and processes.children() == []


def test_a_daemon_does_not_survive() -> None:
    reader, writer = os.pipe()

    def daemon() -> None:
        os.setsid()
        os.close(reader)
        if os.fork() == 0:
            os.setsid()
            os.write(writer, str(os.getpid()).encode())
            time.sleep(60)

    assert processes.wait(forked(daemon), 20)[0] == 0
    os.close(writer)
    orphan = int(os.read(reader, 20))
    os.close(reader)
    assert orphan in processes.children()
    assert processes._parent(orphan) == os.getpid() and orphan in processes._processes()
    assert processes.kill_all()
    with pytest.raises(ProcessLookupError):
        os.kill(orphan, 0)
    assert processes._parent(orphan) == 0


def test_limits_hold_in_the_child() -> None:
    def greedy() -> None:
        processes.become_child(2**30, 1000, 10)
        try:
            bytearray(2**31)
        except MemoryError:
            os._exit(5)

    assert processes.wait(forked(greedy), 20)[0] == 5


def test_threads_are_counted() -> None:
    assert processes.threads() >= 1
