"""Killing commands of planexec: the whole process group at once, as a closed terminal does."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from .conftest import CommandLine


@contextmanager
def killed(planexec: CommandLine, tree: Path, *arguments: str | Path) -> Iterator[IO[bytes]]:
    """A command that is killed when the body ends; nothing that it started may be left then, for it could write."""
    process = planexec.started(*arguments, cwd=tree)
    assert process.stdout is not None
    try:
        yield process.stdout
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)
        process.stdout.close()
    deadline = time.monotonic() + 20
    while left := alive(planexec):
        assert time.monotonic() < deadline, f"still running after the kill: {left}"
        time.sleep(0.02)


def alive(planexec: CommandLine) -> list[str]:
    """Processes of this cache folder: their environment names it, or something in it is mounted for them."""
    mark, found = os.fsencode("/".join(planexec.cache.parts[-3:])), []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if any(mark in (process / file).read_bytes() for file in ("environ", "mountinfo")):
                found.append((process / "cmdline").read_bytes().decode("utf-8", "replace").replace("\0", " "))
        except OSError:
            continue
    return found
