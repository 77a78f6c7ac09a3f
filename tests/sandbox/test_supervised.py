"""Where paths are when nothing is remapped, and what a command gets as its own."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given as generated
from hypothesis import strategies as st

from planexec.core.errors import EnvironmentFailure
from planexec.sandbox import supervised
from planexec.sandbox.interface import Command, Limits, Mount

names = st.sampled_from(["a", "b", "c"])
paths = st.lists(names, min_size=1, max_size=4).map(lambda parts: Path("/", *parts))
mounts = st.lists(st.builds(Mount, paths.map(lambda path: Path("/host") / path.relative_to("/")), paths), max_size=4)


@generated(paths, mounts)
def test_locate_replaces_the_innermost_target(path: Path, laid: list[Mount]) -> None:
    found = supervised.locate(path, laid)
    covering = [mount for mount in laid if PurePosixPath(path).is_relative_to(mount.target)]
    if not covering:
        assert found == path
        return
    longest = max(len(mount.target.parts) for mount in covering)
    last = [mount for mount in covering if len(mount.target.parts) == longest][-1]
    assert found == last.source / path.relative_to(last.target)


def test_a_working_folder_is_located_once(tmp_path: Path) -> None:
    # The source lies below the target: locating it again would lead astray.
    repo, scratch = tmp_path, tmp_path / "cache/scratch"
    laid = [Mount(scratch, repo, writable=True)]
    assert supervised.real_folder(Command(("x",), cwd=repo, mounts=laid)) == scratch
    assert supervised.real_folder(Command(("x",), cwd=scratch / "sub", mounts=laid)) == scratch / "sub"
    assert supervised.real_folder(Command(("x",), cwd=Path("/usr"), mounts=laid)) == Path("/usr")


def test_the_environment_of_a_command(tmp_path: Path) -> None:
    private = Path("/private")
    plain = supervised.environment(Command(("x",), cwd=Path("/")), private)
    assert plain == {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "HOME": "/private/home",
        "TMPDIR": "/private/tmp",
    }
    laid = [Mount(tmp_path, tmp_path, writable=True)]
    env = {"HOME": str(tmp_path / "h"), "TMPDIR": "/tmp", "PATH": "/bin"}
    given = supervised.environment(Command(("x",), cwd=Path("/"), mounts=laid, env=env), private)
    assert (given["HOME"], given["TMPDIR"], given["PATH"]) == (str(tmp_path / "h"), "/private/tmp", "/bin")


def test_a_supervisor_that_dies_is_an_environment_failure() -> None:
    private = supervised.private_folder()
    command = Command(("/bin/sh", "-c", "echo last words >&2"), cwd=Path("/"), limits=Limits(seconds=10))
    tree = supervised.launch(command, supervised.Confinement(), private, stdin=False)
    tree.process.kill()
    tree.process.wait()
    with pytest.raises(EnvironmentFailure, match="could not start: last words"):
        tree.settle(b"first\nlast words\n")
    assert not private.exists()
    tree.kill()
    for stream in (tree.process.stdout, tree.process.stderr):
        assert stream is not None
        stream.close()


def test_a_supervisor_that_does_not_answer_is_ended_with_its_tree() -> None:
    import signal
    import time

    from .conftest import is_running

    token = os.urandom(16).hex()
    command = Command(("/bin/sh", "-c", f"echo up; sleep 60; : {token}"), cwd=Path("/"))
    tree = supervised.launch(command, supervised.Confinement(), supervised.private_folder(), stdin=False)
    assert tree.process.stdout is not None and tree.process.stderr is not None
    assert tree.process.stdout.readline() == b"up\n"
    tree.process.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    tree.kill()
    assert time.monotonic() - began < 15
    assert not is_running(token)
    tree.process.stdout.close()
    tree.process.stderr.close()
