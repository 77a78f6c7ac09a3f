"""How a confined command is run and read: bounds, time-outs, its end. The same for every mechanism.

A mechanism hands over a ``Tree``: the process that it started, and the way in which everything below that process is
ended. All reading and writing goes through one selector, so that no full pipe can stop both sides for ever.
"""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Protocol

from planexec.core import interrupts
from planexec.core.errors import EnvironmentFailure, UsageError
from planexec.sandbox.interface import Command, CommandResult, Mount

CHUNK = 65536
GRACE = 3.0  # seconds that a killed tree gets to vanish: the kernel needs milliseconds
LISTENING = 0.2  # seconds after which a waiting thread looks whether the program was asked to stop
MARKER = 64  # bytes that the line about what was left out may take


class Tree(Protocol):
    """One started command with every process below it."""

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The process that this program started and waits for."""
        ...

    def kill(self) -> None:
        """End every process of the tree; none is left when this returns. Idempotent."""
        ...

    def settle(self, errors: bytes) -> int:
        """After the end: wait until nothing is left, return the exit code (negative for a signal).

        ``errors`` is what was written to standard error: raises EnvironmentFailure with it when the mechanism
        itself failed and the command never ran.
        """
        ...


class Bounded:
    """The beginning and the end of a stream, ``limit`` bytes at most; what lies between is counted and dropped."""

    def __init__(self, limit: int) -> None:
        self._head_limit = limit if limit < 4 * MARKER else (limit - MARKER) // 2
        self._tail_limit = limit - self._head_limit - MARKER if limit >= 4 * MARKER else 0
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def add(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        room = self._head_limit - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        excess = len(self._tail) - self._tail_limit
        if excess > 0:
            del self._tail[:excess]
            self._dropped += excess

    @property
    def truncated(self) -> bool:
        """Whether something was dropped."""
        return self._dropped > 0

    def value(self) -> bytes:
        """What was kept, with a line in the middle that says how much is missing."""
        if not self._dropped or not self._tail_limit:
            return bytes(self._head + self._tail)
        return bytes(self._head + f"\n[... {self._dropped} bytes left out ...]\n".encode() + self._tail)


class Pump:
    """Moves bytes between this program and one tree without ever blocking on one pipe."""

    def __init__(self, process: subprocess.Popen[bytes], stdin: bytes = b"") -> None:
        self._selector = selectors.DefaultSelector()
        self._stdin = process.stdin
        self._pending = memoryview(b"")
        self._broken = False
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                self._selector.register(stream, selectors.EVENT_READ)
        self._open = {stream for stream in (process.stdout, process.stderr) if stream is not None}
        if stdin:
            self.write(stdin)

    def write(self, data: bytes) -> None:
        """Queue ``data`` for standard input; ``step`` sends it."""
        assert self._stdin is not None
        if not self._pending:
            self._selector.register(self._stdin, selectors.EVENT_WRITE)
        self._pending = memoryview(bytes(self._pending) + data)

    @property
    def unsent(self) -> int:
        """Bytes that still wait to be written."""
        return len(self._pending)

    @property
    def reading(self) -> bool:
        """Whether a stream of the command is still open."""
        return bool(self._open)

    def is_open(self, stream: IO[bytes] | None) -> bool:
        """Whether ``stream`` has not ended yet."""
        return stream in self._open

    @property
    def broken(self) -> bool:
        """Whether the command has closed its standard input."""
        return self._broken

    def step(self, seconds: float) -> list[tuple[IO[bytes], bytes]]:
        """Wait up to ``seconds`` for something to happen, send what is queued; the bytes read."""
        read: list[tuple[IO[bytes], bytes]] = []
        for key, _ in self._selector.select(max(seconds, 0.0)):
            stream: IO[bytes] = key.fileobj  # type: ignore[assignment]
            if stream is self._stdin:
                self._send(stream)
                continue
            with contextlib.suppress(BlockingIOError):
                data = os.read(stream.fileno(), CHUNK)
                if not data:
                    self._selector.unregister(stream)
                    self._open.discard(stream)
                read.append((stream, data))
        return read

    def _send(self, stream: IO[bytes]) -> None:
        try:
            self._pending = self._pending[os.write(stream.fileno(), self._pending[:CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._pending = memoryview(b"")
            self._broken = True
        if not self._pending:
            self._selector.unregister(stream)

    def close(self) -> None:
        """Let go of the selector."""
        self._selector.close()


def run_to_end(tree: Tree, command: Command) -> CommandResult:
    """Feed ``command.stdin``, read both streams within their bounds, end the whole tree at the time-out."""
    process = tree.process
    began = time.monotonic()
    deadline = began + command.limits.seconds
    kept = {
        process.stdout: Bounded(command.limits.output_bytes),
        process.stderr: Bounded(command.limits.output_bytes),
    }
    try:
        timed_out = not _pump_until_end(process, kept, command.stdin, deadline)
    except BaseException:
        tree.kill()
        close_pipes(process)
        raise
    if timed_out:
        tree.kill()
    close_pipes(process)
    stdout, stderr = kept[process.stdout], kept[process.stderr]
    code = -9 if timed_out else tree.settle(stderr.value())
    return CommandResult(
        exit_code=code,
        stdout=stdout.value(),
        stderr=stderr.value(),
        seconds=time.monotonic() - began,
        timed_out=timed_out,
        truncated=stdout.truncated or stderr.truncated,
    )


def _pump_until_end(
    process: subprocess.Popen[bytes], kept: Mapping[IO[bytes] | None, Bounded], stdin: bytes, deadline: float
) -> bool:
    """True when the command ended by itself, False when ``deadline`` came first."""
    pump = Pump(process, stdin)
    try:
        while pump.reading:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            interrupts.check()
            for stream, data in pump.step(min(left, LISTENING)):
                kept[stream].add(data)
            if process.stdin is not None and not process.stdin.closed and not pump.unsent:
                process.stdin.close()
    finally:
        pump.close()
    try:
        process.wait(max(deadline - time.monotonic(), 0.0))
    except subprocess.TimeoutExpired:
        return False
    return True


def close_pipes(process: subprocess.Popen[bytes]) -> None:
    """Close what is open of the three pipes."""
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


def spawn(
    argv: Sequence[str],
    env: Mapping[str, str],
    *,
    stdin: bool,
    fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start ``argv`` in a session of its own with three pipes (or no input at all) and nothing inherited.

    Raises EnvironmentFailure when the program is not there or its arguments are too long.
    """
    try:
        return subprocess.Popen(
            list(argv),
            env=dict(env),
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            close_fds=True,
            pass_fds=tuple(fds),
        )
    except OSError as error:
        raise EnvironmentFailure(f"the sandbox could not start: {argv[0]}: {error.strerror}") from error


def readable(descriptor: int, seconds: float) -> bool:
    """Whether ``descriptor`` can be read, has ended, or (that of a process) is over, within ``seconds``."""
    poll = select.poll()  # unlike select.select, whatever its number
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(max(seconds, 0.0) * 1000))


def check_command(command: Command) -> None:
    """Refuse what no mechanism can lay out: an empty command, relative paths, a mount over the root."""
    if not command.argv:
        raise UsageError("a sandboxed command is empty")
    if not command.cwd.is_absolute():
        raise UsageError(f"the folder of a sandboxed command is relative: {command.cwd}")
    for mount in command.mounts:
        check_mount(mount)
    for text in (*command.argv, *command.env, *command.env.values()):
        if "\0" in text:
            raise UsageError("a sandboxed command holds a NUL character")
    for name in command.env:
        if not name or "=" in name:
            raise UsageError(f"not a name of an environment variable: {name!r}")


def check_mount(mount: Mount) -> None:
    """Refuse relative paths, the root as a target and sources that are not there."""
    target = mount.target
    if not mount.source.is_absolute() or not target.is_absolute():
        raise UsageError(f"a mount needs absolute paths: {mount.source} -> {target}")
    if ".." in target.parts or target == Path("/"):
        raise UsageError(f"not a place for a mount: {target}")
    if not os.access(mount.source, os.F_OK):
        raise UsageError(f"a folder to be mounted is not there: {mount.source}")
