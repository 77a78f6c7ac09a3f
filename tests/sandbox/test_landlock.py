"""Landlock: the rules of every version, what they hold and what they do not."""

from __future__ import annotations

import itertools
import os
import sys
from pathlib import Path

import pytest

from planexec.core.errors import EnvironmentFailure
from planexec.sandbox.interface import Command, Limits, Mount, Sandbox
from planexec.sandbox.landlock import LandlockSandbox, abi, check_nesting, handled
from planexec.sandbox.prove import interpreter_mounts

from .conftest import shell

PYTHON = os.path.realpath(sys.executable)
VERSIONS = [1, 2, 3, 4, 5, 6, 7]


def python(sandbox: Sandbox, source: str) -> list[str]:
    command = Command((PYTHON, "-I", "-S", "-c", source), cwd=Path("/"), mounts=interpreter_mounts())
    result = sandbox.run(command)
    assert result.exit_code == 0, result.stderr.decode()
    return result.stdout.decode().splitlines()


@pytest.fixture(params=["own", "none"])
def landlock(request: pytest.FixtureRequest) -> LandlockSandbox:
    return LandlockSandbox(abi(), request.param)


def test_this_kernel_has_it() -> None:
    assert abi() >= 1


def test_rights_only_grow() -> None:
    for before, after in itertools.pairwise(VERSIONS):
        assert handled(before) & handled(after) == handled(before)
    assert handled(1) == 0x1FFF and handled(5) == 0xFFFF


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_holds_writes(version: int, given: Mount, tmp_path: Path) -> None:
    version = min(version, abi())
    outside = tmp_path / "outside"
    outside.write_text("as it was")
    sandbox = LandlockSandbox(version)
    script = f"echo x > {outside}; rm {outside}; truncate -s 0 {outside}; ln {outside} here; echo x > file"
    result = shell(sandbox, script, given, cwd=given.target)
    assert result.exit_code == 0, result.stderr
    assert outside.read_text() == "as it was"
    assert [path.name for path in given.source.iterdir()] == ["file"]


@pytest.mark.parametrize("version", VERSIONS)
def test_no_version_lets_a_readable_file_be_truncated_by_its_path(version: int, tmp_path: Path) -> None:
    shown = tmp_path / "shown"
    shown.write_text("as it was")
    sandbox = LandlockSandbox(min(version, abi()))
    source = f"import os\ntry: os.truncate({str(shown)!r}, 0)\nexcept OSError as error: print(error.errno)\n"
    command = Command(
        (PYTHON, "-I", "-S", "-c", source), cwd=Path("/"), mounts=[*interpreter_mounts(), Mount(shown, shown)]
    )
    assert sandbox.run(command).stdout == b"13\n"
    assert shown.read_text() == "as it was"


def test_reads_are_held_too(landlock: LandlockSandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hidden")
    result = shell(landlock, f"cat {secret} /etc/shadow; ls {tmp_path} /root /home; cat /proc/{os.getpid()}/environ")
    assert result.stdout == b""
    assert result.stderr.count(b"denied") >= 4


def test_a_read_only_mount(landlock: LandlockSandbox, given: Mount) -> None:
    (given.source / "file").write_text("here")
    result = shell(
        landlock, "cat file; echo x > file; echo x > new; rm file", Mount(given.source, given.source), cwd=given.source
    )
    assert result.stdout == b"here"
    assert [path.name for path in given.source.iterdir()] == ["file"] and (given.source / "file").read_text() == "here"


def test_a_single_file_may_be_writable(landlock: LandlockSandbox, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    shell(landlock, f"echo x > {file}", Mount(file, file, writable=True))
    assert file.read_text() == "x\n"


def test_other_processes_are_out_of_reach(landlock: LandlockSandbox) -> None:
    assert b"not permitted" in shell(landlock, f"kill -0 {os.getpid()}").stderr
    # Its supervisor above all, which could otherwise be kept from ending it.
    assert b"not permitted" in shell(landlock, "kill -9 $PPID").stderr


def test_sockets_by_network() -> None:
    source = (
        "import socket\n"
        "for family in ('AF_INET', 'AF_INET6', 'AF_UNIX', 'AF_VSOCK', 'AF_PACKET'):\n"
        "    try: socket.socket(getattr(socket, family)); print(family)\n"
        "    except PermissionError: pass\n"
        "a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))\n"
    )
    assert python(LandlockSandbox(abi(), "own"), source) == ["AF_INET", "AF_INET6", "b'x'"]
    assert python(LandlockSandbox(abi(), "none"), source) == ["b'x'"]


def test_a_private_home_given_by_the_command_is_kept_when_it_can_be_written(
    landlock: LandlockSandbox, given: Mount
) -> None:
    command = Command(
        ("/bin/sh", "-c", "echo $HOME $TMPDIR"),
        cwd=Path("/"),
        mounts=[given],
        env={"HOME": str(given.source), "TMPDIR": "/tmp"},
    )
    home, temporary = landlock.run(command).stdout.decode().split()
    assert home == str(given.source)
    assert temporary != "/tmp"


def test_a_read_only_folder_inside_a_writable_one_is_refused(landlock: LandlockSandbox, given: Mount) -> None:
    inner = given.source / "inner"
    inner.mkdir()
    with pytest.raises(EnvironmentFailure, match="inner"):
        shell(landlock, "exit", given, Mount(inner, inner))
    with pytest.raises(EnvironmentFailure):
        check_nesting([Mount(given.source, Path("/a"), writable=True), Mount(given.source, Path("/b"))])
    check_nesting([Mount(inner, inner, writable=True), Mount(given.source, given.source)])


def test_the_description_names_the_holes() -> None:
    assert "no network" in LandlockSandbox(abi()).describe()
    assert "signalled" in LandlockSandbox(5).describe() and "between folders" in LandlockSandbox(1).describe()
    assert "used because of rain" in LandlockSandbox(7, "own", "of rain").describe()


def test_limits_hold_through_children(landlock: LandlockSandbox) -> None:
    command = Command(("/bin/sh", "-c", "sh -c 'ulimit -v'"), cwd=Path("/"), limits=Limits(memory_bytes=2**30))
    assert landlock.run(command).stdout == b"1048576\n"
