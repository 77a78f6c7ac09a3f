"""A judge for functions with an oracle in Python: no pytest, no sandbox, a forked child for each candidate.

It serves benchmarks over single files and the tests of this package. A candidate runs with the rights of the
caller: use it only on code that one would run oneself.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import time
from collections.abc import Callable, Mapping, Sequence

from planexec.testing.outcomes import Judgement

# Given the files of a candidate and the ids to run; returns the ids that fail. It runs in the child.
Oracle = Callable[[Mapping[str, bytes], Sequence[str]], Sequence[str]]


class OracleJudge:
    """Judges by ``oracle`` over ``base`` files, within ``memory_bytes`` of address space in addition to the present."""

    def __init__(self, base: Mapping[str, bytes], oracle: Oracle, *, memory_bytes: int = 512 << 20) -> None:
        self._base, self._oracle, self._memory = dict(base), oracle, memory_bytes

    def judge(self, changes: Mapping[str, bytes], ids: Sequence[str], *, seconds: float) -> Judgement:
        """Run the oracle in a child; a hang is ``timeout``, an exception ``error``, a death ``crashed``."""
        started = time.monotonic()
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            self._child(writer, {**self._base, **changes}, ids, seconds)
        os.close(writer)
        try:
            answer = _read(reader, seconds)
        finally:
            os.close(reader)
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        spent = time.monotonic() - started
        if answer is None:
            return Judgement("timeout", seconds=spent)
        word, _, rest = answer.decode(errors="replace").partition("\n")
        match word:
            case "passed":
                return Judgement("passed", seconds=spent)
            case "failed":
                return Judgement("failed", rest.split("\n"), seconds=spent)
            case "error":
                return Judgement("error", detail=rest, seconds=spent)
        return Judgement("crashed", seconds=spent)

    def _child(self, writer: int, files: Mapping[str, bytes], ids: Sequence[str], seconds: float) -> None:
        """Never returns: what the candidate leaves behind ends with the process."""
        answer = "error\n"
        try:
            null = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(null, descriptor)
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
            limit = _address_space() + self._memory
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            answer = self.answer(files, ids)
        finally:
            with contextlib.suppress(OSError):
                os.write(writer, answer.encode(errors="replace"))
            os._exit(0)

    def answer(self, files: Mapping[str, bytes], ids: Sequence[str]) -> str:
        """Ask the oracle in this process: a word, a line end, then the failing ids or the error, bounded."""
        try:
            failing = self._oracle(files, ids)
        except BaseException as error:  # whatever a candidate raises, SystemExit included, is its verdict
            return f"error\n{type(error).__name__}: {error}"[:500]
        return ("failed\n" + "\n".join(failing))[:4000] if failing else "passed\n"


def _address_space() -> int:
    with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - Path.read_bytes would do more work in the child
        return int(file.read().split()[0]) * resource.getpagesize()


def _read(reader: int, seconds: float) -> bytes | None:
    """All that the child writes until it closes; None when it takes longer."""
    deadline = time.monotonic() + seconds
    answer = b""
    while True:
        ready, _, _ = select.select([reader], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return None
        part = os.read(reader, 65536)
        if not part:
            return answer
        answer += part
