"""The bounded stream; sessions and time-outs are in test_interface.py, where real commands run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given as generated
from hypothesis import strategies as st

from planexec.core.errors import EnvironmentFailure, UsageError
from planexec.sandbox.interface import Command, Mount
from planexec.sandbox.process import Bounded, check_command, close_pipes, readable, spawn


@generated(st.lists(st.binary(max_size=400), max_size=12), st.integers(0, 1200))
def test_a_bounded_stream_keeps_both_ends(chunks: list[bytes], limit: int) -> None:
    stream = Bounded(limit)
    for chunk in chunks:
        stream.add(chunk)
    whole, kept = b"".join(chunks), stream.value()
    assert len(kept) <= max(limit, 0)
    assert stream.truncated == (kept != whole)
    if len(whole) + 64 <= limit:
        assert kept == whole
    if stream.truncated and limit >= 256:
        head, _, tail = kept.partition(b"\n[... ")
        assert whole.startswith(head)
        count, _, end = tail.partition(b" bytes left out ...]\n")
        assert whole.endswith(end)
        assert len(head) + len(end) + int(count) == len(whole)


@generated(st.binary(max_size=300), st.integers(256, 400), st.data())
def test_how_a_stream_is_cut_does_not_matter(whole: bytes, limit: int, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(whole)))
    once, twice = Bounded(limit), Bounded(limit)
    once.add(whole)
    twice.add(whole[:at])
    twice.add(whole[at:])
    assert once.value() == twice.value()


def test_spawned_processes_lead_a_session_of_their_own_and_inherit_nothing() -> None:
    process = spawn(["/bin/sh", "-c", "env; cut -d' ' -f6 /proc/self/stat; echo $$"], {"A": "b"}, stdin=False)
    assert process.stdout is not None
    lines = process.stdout.read().decode().split()
    process.wait()
    close_pipes(process)
    close_pipes(process)
    assert process.stdin is None
    assert "A=b" in lines and not any(line.startswith("HOME=") for line in lines)
    assert lines[-1] == lines[-2] == str(process.pid)


def test_a_missing_program_closes_what_it_opened() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(EnvironmentFailure, match="/no/such/program"):
        spawn(["/no/such/program"], {}, stdin=True)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_errors_name_the_place() -> None:
    with pytest.raises(UsageError, match="/no/such/source"):
        check_command(Command(("x",), cwd=Path("/"), mounts=[Mount(Path("/no/such/source"), Path("/a"))]))
    check_command(Command(("x",), cwd=Path("/"), mounts=[Mount(Path("/usr"), Path("/a"))], env={"A": "b"}))


def test_readable_tells_data_ends_and_nothing() -> None:
    reader, writer = os.pipe()
    assert not readable(reader, 0)
    os.write(writer, b"x")
    assert readable(reader, 5)
    os.read(reader, 1)
    os.close(writer)
    assert readable(reader, 5)
    os.close(reader)
