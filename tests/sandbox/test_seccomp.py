"""Filters, judged by running them: a small machine for the part of BPF that they use."""

from __future__ import annotations

import errno
import struct

import pytest
from hypothesis import given as generated
from hypothesis import strategies as st

from planexec.sandbox import seccomp

MACHINES = list(seccomp.MACHINES)
ALLOWED = 0x7FFF0000


def run(code: bytes, number: int, audit: int, first: int = 0) -> int:
    """What the filter answers to one system call; the semantics are those of linux/filter.h."""
    data = struct.pack("<IIQ6Q", number, audit, 0, first, 0, 0, 0, 0, 0)
    program = list(struct.iter_unpack("<HBBI", code))
    accumulator = position = 0
    while True:
        operation, if_true, if_false, value = program[position]
        position += 1
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, value)
        elif operation == 0x15:
            position += if_true if accumulator == value else if_false
        elif operation == 0x35:
            position += if_true if accumulator >= value else if_false
        elif operation == 0x06:
            return value
        else:
            raise AssertionError(f"unknown operation {operation:#x}")


def refused(error: int) -> int:
    return 0x00050000 | error


@pytest.mark.parametrize("machine", MACHINES)
@generated(family=st.integers(0, 50), families=st.sets(st.integers(0, 50)))
def test_socket_makes_only_the_given_families(machine: str, family: int, families: set[int]) -> None:
    numbers = seccomp.MACHINES[machine]
    code = seccomp.build(families, refused=errno.EACCES, machine=machine)
    answer = run(code, numbers.socket, numbers.audit, family)
    assert answer == (ALLOWED if family in families else refused(errno.EACCES))


@pytest.mark.parametrize("machine", MACHINES)
@generated(number=st.integers(0, 2**32 - 1))
def test_only_what_is_named_is_refused(machine: str, number: int) -> None:
    numbers = seccomp.MACHINES[machine]
    code = seccomp.build((), refused=errno.EACCES, machine=machine)
    answer = run(code, number, numbers.audit)
    if number == numbers.socket:
        assert answer == refused(errno.EACCES)
    elif number >= 0x40000000 or number in (*numbers.keys, *seccomp.IO_URING):
        assert answer == refused(errno.ENOSYS)
    else:
        assert answer == ALLOWED


@pytest.mark.parametrize("machine", MACHINES)
def test_named_calls_and_truncate(machine: str) -> None:
    numbers = seccomp.MACHINES[machine]
    for number in (*numbers.keys, *seccomp.IO_URING):
        assert run(seccomp.build((), refused=1, machine=machine), number, numbers.audit) == refused(errno.ENOSYS)
    held = seccomp.build((), refused=1, truncate=False, machine=machine)
    assert run(held, numbers.truncate, numbers.audit) == refused(errno.EACCES)


@pytest.mark.parametrize("machine", MACHINES)
@generated(audit=st.integers(0, 2**32 - 1), number=st.integers(0, 500))
def test_another_architecture_finds_no_system_call(machine: str, audit: int, number: int) -> None:
    numbers = seccomp.MACHINES[machine]
    if audit != numbers.audit:
        code = seccomp.build(range(50), refused=1, machine=machine)
        assert run(code, number, audit) == refused(errno.ENOSYS)


def test_which_machines_are_known() -> None:
    assert seccomp.supported("x86_64") and seccomp.supported("aarch64") and not seccomp.supported("s390x")
