"""A long-lived command that is talked to by lines: the same for every mechanism."""

from __future__ import annotations

import time
from types import TracebackType

from planexec.core import interrupts
from planexec.core.errors import UsageError
from planexec.sandbox.interface import Command
from planexec.sandbox.process import CHUNK, LISTENING, Bounded, Pump, Tree, close_pipes


class LineSession:
    """The ``Session`` of every mechanism. Not for use by several threads at once.

    Pipes are read only inside ``send``, ``receive`` and ``errors``: a command that talks without being heard waits.
    A line longer than ``limits.output_bytes`` ends the session; so does a line that the command does not take within
    ``limits.seconds``.
    """

    def __init__(self, tree: Tree, command: Command) -> None:
        self._tree = tree
        self._process = tree.process
        self._limits = command.limits
        self._pump = Pump(self._process)
        self._lines = bytearray()
        self._errors = Bounded(command.limits.output_bytes)
        self._closed = False

    def send(self, line: bytes) -> None:
        """Write one line (without its end). Raises BrokenPipeError when the command has ended."""
        if b"\n" in line:
            raise UsageError("a line of a session holds a line end", "send one line at a time")
        if self._closed or self._pump.broken:
            raise BrokenPipeError("the command has ended")
        deadline = time.monotonic() + self._limits.seconds
        self._pump.write(line + b"\n")
        while self._pump.unsent:
            if time.monotonic() > deadline or len(self._lines) > self._limits.output_bytes:
                self.close()
                raise BrokenPipeError("the command does not read its input")
            self._step(deadline - time.monotonic())
        if self._pump.broken:
            raise BrokenPipeError("the command has ended")

    def receive(self, seconds: float) -> bytes | None:
        """The next line without its end; None when the command has ended or ``seconds`` have passed."""
        deadline = time.monotonic() + seconds
        searched = 0
        late = False
        while (end := self._lines.find(b"\n", searched)) < 0:
            searched = len(self._lines)
            if searched > self._limits.output_bytes:
                self.close()
            if self._closed or late or not self._pump.is_open(self._process.stdout):
                return None
            interrupts.check()
            left = deadline - time.monotonic()
            late = left <= 0  # then one last look
            self._step(min(left, LISTENING))
        line = bytes(self._lines[:end])
        del self._lines[: end + 1]
        return line

    def errors(self) -> bytes:
        """What the command wrote to standard error so far, bounded."""
        if not self._closed:
            self._drain()
        return self._errors.value()

    def close(self) -> None:
        """End the command and all its children. Idempotent."""
        if self._closed:
            return
        self._drain()
        self._closed = True
        self._tree.kill()
        self._pump.close()
        close_pipes(self._process)

    def __enter__(self) -> LineSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _step(self, seconds: float) -> bool:
        """One step of the pump; whether something was read."""
        read = self._pump.step(seconds)
        for stream, data in read:
            if stream is self._process.stderr:
                self._errors.add(data)
            else:
                self._lines += data
        return any(data for _, data in read)

    def _drain(self) -> None:
        """Take what waits in the pipes, but no more than the bound from one that is never empty."""
        for _ in range(self._limits.output_bytes // CHUNK + 1):
            if not self._step(0.0):
                break
