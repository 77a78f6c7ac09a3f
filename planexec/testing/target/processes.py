"""Children of the warm process: limits, waiting without polling, and killing everything that came of one."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import time
from typing import List, Optional, Tuple

PR_SET_CHILD_SUBREAPER = 36
KILL_SECONDS = 5.0


def adopt_orphans() -> None:
    """Let processes whose parent died become children of this one, so that they can be found and killed."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def listen() -> None:
    """Block SIGCHLD: ``wait`` takes it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])


def become_child(memory_bytes: Optional[int], file_bytes: Optional[int], seconds: float) -> None:
    """In the new process: a session of its own, ordinary signals, limits."""
    os.setsid()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
    cpu = int(seconds) + 2
    for kind, most in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_FSIZE, file_bytes),
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_CORE, 0),
    ):
        if most is not None:
            hard = resource.getrlimit(kind)[1]
            soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (soft, hard))


def wait(child: int, seconds: float) -> Tuple[Optional[int], float]:
    """The exit code of ``child`` (negative for a signal), None after ``seconds``; and how long it took."""
    start = time.monotonic()
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        spent = time.monotonic() - start
        if done == child:
            return (-os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)), spent
        if spent >= seconds:
            return None, spent
        signal.sigtimedwait([signal.SIGCHLD], min(seconds - spent, 1.0))


def kill_all() -> bool:
    """Kill every descendant: children, then what they leave behind, until none is left. False when some remain."""
    deadline = time.monotonic() + KILL_SECONDS
    while time.monotonic() < deadline:
        for child in children():
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGKILL)
        try:
            done, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True
        if not done:
            time.sleep(0.001)
    return False


def children() -> List[int]:
    """The direct children of this process."""
    try:
        with open("/proc/self/task/%d/children" % os.getpid()) as stream:
            return [int(word) for word in stream.read().split()]
    except OSError:
        return [each for each in _processes() if _parent(each) == os.getpid()]


def _processes() -> List[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _parent(process: int) -> int:
    try:
        with open("/proc/%d/stat" % process) as stream:
            return int(stream.read().rpartition(")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return 0


def threads() -> int:
    """How many threads this process has, those of libraries included."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 1
