"""Limits as numbers, and as a shell understands them."""

from __future__ import annotations

import resource
import subprocess

from hypothesis import given as generated
from hypothesis import settings
from hypothesis import strategies as st

from planexec.sandbox.interface import MIB, Limits
from planexec.sandbox.limits import rlimits, ulimit_launcher

from .forked import in_child


def test_numbers() -> None:
    assert rlimits(Limits(memory_bytes=5, file_bytes=6)) == {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_AS: 5,
        resource.RLIMIT_FSIZE: 6,
    }
    assert rlimits(Limits(memory_bytes=None, file_bytes=None)) == {resource.RLIMIT_CORE: 0}


def test_never_more_than_this_process_may_have() -> None:
    def body() -> dict[int, int]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (MIB, MIB))
        return rlimits(Limits(file_bytes=2 * MIB))

    assert in_child(body)[resource.RLIMIT_FSIZE] == MIB


@settings(max_examples=5, deadline=None)
@generated(st.integers(64 * MIB, 2**40), st.integers(0, 2**40))
def test_the_launcher_lays_them(memory: int, size: int) -> None:
    source = "prlimit --raw --noheadings --output RESOURCE,HARD --as --fsize --core"
    argv = [*ulimit_launcher(Limits(memory_bytes=memory, file_bytes=size)), "/bin/sh", "-c", source]
    said = subprocess.run(argv, capture_output=True, check=True, text=True).stdout
    found = dict(line.split() for line in said.splitlines())
    assert found == {"AS": str(memory // 1024 * 1024), "FSIZE": str(size // 512 * 512), "CORE": "0"}


def test_the_launcher_passes_arguments_as_they_are() -> None:
    argv = [*ulimit_launcher(Limits()), "/bin/echo", "a  b", "$HOME", "'", "-n", ""]
    assert subprocess.run(argv, capture_output=True, check=True).stdout == b"a  b $HOME ' -n \n"
