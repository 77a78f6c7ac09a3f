"""The probe, outside any sandbox: here everything that it tries must work."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import socket
from pathlib import Path

import pytest

from planexec.sandbox import probe, supervisor

from .forked import in_child


def test_unconfined_it_gets_everything(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (tmp_path / "lock").touch()
    abstract = f"@planexec-test-{os.getpid()}"
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as path,
        socket.socket(socket.AF_UNIX) as hidden,
    ):
        path.bind(str(tmp_path / "socket"))
        hidden.bind(abstract.replace("@", "\0"))
        for server in (path, hidden):
            server.listen()
        document = json.dumps(
            {
                "outside": [str(tmp_path / "new"), "/proc/no/such"],
                "inside": str(tmp_path / "inside"),
                "secret": [str(tmp_path / "secret"), str(tmp_path)],
                "connections": [f"tcp:127.0.0.1:{tcp.getsockname()[1]}", f"unix:{tmp_path}/socket", f"unix:{abstract}"],
                "process": os.getpid(),
                "lock": str(tmp_path / "lock"),
            }
        )

        def body() -> tuple[dict[str, object], bool]:
            supervisor.prctl(supervisor.PR_SET_CHILD_SUBREAPER, 1)
            found = probe.main(document)
            held = is_held(tmp_path / "lock")
            supervisor.sweep()
            return found, held and not is_held(tmp_path / "lock")

        found, daemon = in_child(body)
    assert daemon
    assert found["outside"].pop("/proc/no/such").startswith("FileNotFoundError")
    for name in ("outside", "secret", "connections"):
        assert set(found[name].values()) == {""}
    assert (found["inside"], found["loopback"], found["signal"]) == ("", "", "")
    pair = Path("/proc/self/environ").read_bytes().split(b"\0")[0]
    assert hashlib.sha256(pair).hexdigest() in found["environments"]
    assert (tmp_path / "inside").read_text() == "written from inside\n"


def is_held(lock: Path) -> bool:
    with lock.open() as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: probe.attempt(probe.connect, "tcp:127.0.0.1:1"),
        lambda: probe.attempt(probe.connect, "unix:/no/such/socket"),
        lambda: probe.attempt(probe.read, "/no/such/file"),
        lambda: probe.attempt(os.kill, 2**22 + 1, 0),
    ],
)
def test_a_failure_is_told_as_text(attempt: object) -> None:
    assert callable(attempt)
    assert "Error" in attempt()
