"""The program around a command of Landlock and ``none``, function by function; as a whole in test_interface.py."""

from __future__ import annotations

import errno
import marshal
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planexec.sandbox import seccomp, supervisor
from planexec.sandbox.supervised import PROGRAM

from .forked import in_child

MAKE_FIFO = 1 << 10


def spec(**changes: Any) -> dict[str, Any]:
    plain = {
        "argv": ["/bin/true"],
        "cwd": "/",
        "env": {},
        "rlimits": [],
        "private": "",
        "network": "",
        "landlock": None,
        "seccomp": b"",
        "privileges": True,
    }
    return {**plain, **changes}


def reach_itself() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()


def supervise(**changes: Any) -> Any:
    """What the supervisor of one command reports, run within a child of this process."""

    def body() -> Any:
        document, text = os.pipe()
        os.write(text, marshal.dumps(spec(**changes)))
        os.close(text)
        status, report = os.pipe()
        control, hold = os.pipe()
        assert supervisor.main([str(document), str(report), str(control)]) == 0
        os.close(hold)
        return marshal.loads(os.read(status, 4096))

    return in_child(body)


@pytest.mark.parametrize(("script", "code"), [("exit 4", 4), ("kill -9 $$", -9), ("setsid sleep 60 & exit 0", 0)])
def test_it_reports_how_the_command_ended(script: str, code: int) -> None:
    assert supervise(argv=["/bin/sh", "-c", script], env={"PATH": "/usr/bin:/bin"}) == {"exit": code}


def test_it_removes_the_private_folder(tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.mkdir()
    supervise(private=str(private))
    assert not private.exists()


def test_a_command_that_cannot_be_confined_does_not_run(tmp_path: Path) -> None:
    landlock = {"attributes": b"\1\0\0\0\0\0\0\0", "rules": [(1, "/no/such/path")]}
    said = supervise(argv=["/bin/sh", "-c", f"touch {tmp_path}/ran"], landlock=landlock, privileges=False)
    assert said == {"failed": "landlock: /no/such/path No such file or directory"}
    assert list(tmp_path.iterdir()) == []


def test_it_ends_when_its_pipe_is_closed() -> None:
    document, text = os.pipe()
    os.write(text, marshal.dumps(spec(argv=["/bin/sleep", "60"])))
    os.close(text)
    status, report = os.pipe()
    control, hold = os.pipe()
    argv = [*PROGRAM, str(document), str(report), str(control)]
    with subprocess.Popen(argv, pass_fds=(document, report, control), start_new_session=True) as process:
        for descriptor in (document, report, control):
            os.close(descriptor)
        time.sleep(0.2)
        process.send_signal(signal.SIGTERM)  # which it does not mind
        assert process.poll() is None
        os.close(hold)
        assert process.wait(10) == 0
    assert marshal.loads(os.read(status, 4096)) == {"exit": -9}
    os.close(status)


def test_watch_reaps_others_and_waits_for_its_child() -> None:
    def body() -> int:
        wake, awake = os.pipe()
        os.set_blocking(awake, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(awake)
        control, _hold = os.pipe()
        subprocess.Popen(["/bin/sh", "-c", "exit 1"])
        child = subprocess.Popen(["/bin/sh", "-c", "sleep 0.2; exit 9"])
        return supervisor.watch(child.pid, control, wake)

    assert in_child(body) == 9


def test_watch_ends_by_its_pipe() -> None:
    def body() -> int:
        wake, _awake = os.pipe()
        control, hold = os.pipe()
        child = subprocess.Popen(["/bin/sleep", "60"])
        os.close(hold)
        code = supervisor.watch(child.pid, control, wake)
        supervisor.sweep()
        return code

    assert in_child(body) == -9


def test_sweep_ends_whatever_is_below() -> None:
    def body() -> list[int]:
        supervisor.prctl(supervisor.PR_SET_CHILD_SUBREAPER, 1)
        subprocess.Popen(["/bin/sh", "-c", "setsid sleep 60 & (sleep 60 &) ; exec sleep 60"])
        time.sleep(0.2)
        assert len(supervisor.descendants(os.getpid())) == 3
        supervisor.sweep()
        return supervisor.descendants(os.getpid())

    assert in_child(body) == []


def test_descendants_include_grandchildren_and_odd_names(tmp_path: Path) -> None:
    odd = tmp_path / "a) R 1 ("
    odd.symlink_to("/bin/sleep")
    with subprocess.Popen(["/bin/sh", "-c", f"'{odd}' 60 & echo $!; wait"], stdout=subprocess.PIPE) as shell:
        assert shell.stdout is not None
        below = int(shell.stdout.readline())
        found = supervisor.descendants(os.getpid())
        assert {shell.pid, below} <= set(found)
        assert supervisor.descendants(below) == []
        for pid in (below, shell.pid):
            os.kill(pid, signal.SIGKILL)


def test_remove_mends_modes_and_follows_no_link(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir(mode=0o755)
    (kept / "file").touch()
    folder = tmp_path / "private"
    (folder / "a/b").mkdir(parents=True)
    (folder / "a/b/file").touch()
    (folder / "link").symlink_to(kept)
    os.mkfifo(folder / "pipe")
    (folder / "a/b").chmod(0)
    (folder / "a").chmod(0o500)
    supervisor.remove(str(folder))
    assert not folder.exists() and (kept / "file").exists()
    supervisor.remove(str(folder))


def test_own_network_has_loopback_only() -> None:
    def body() -> list[str]:
        supervisor.own_network()
        reach_itself()
        return [name for _, name in socket.if_nameindex()]

    assert in_child(body) == ["lo"]


def test_own_network_without_privileges() -> None:
    def body() -> list[str]:
        reach_itself()  # loads the codecs while the interpreter's files are in reach for certain
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            supervisor.prctl(4, 1)  # PR_SET_DUMPABLE: as after exec, which makes /proc/self ours
        before = os.getuid()
        supervisor.own_network()
        assert os.getuid() == before
        reach_itself()
        return [name for _, name in socket.if_nameindex()]

    assert in_child(body) == ["lo"]


def test_capabilities_are_dropped() -> None:
    def body() -> str:
        supervisor.drop_capabilities()
        return Path("/proc/self/status").read_text()

    status = in_child(body)
    for name in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
        assert f"{name}:\t0000000000000000" in status


def test_restrict_and_filter(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()

    def body() -> tuple[list[int], list[int]]:
        supervisor.confine(
            spec(
                network="own",
                privileges=False,
                landlock={"attributes": MAKE_FIFO.to_bytes(8, "little"), "rules": [(MAKE_FIFO, str(tmp_path / "a"))]},
                seccomp=seccomp.build((seccomp.AF_UNIX,), refused=errno.EACCES),
            )
        )
        pipes = [attempt(lambda name=name: os.mkfifo(tmp_path / name / "fifo")) for name in "ab"]
        return pipes, [attempt(lambda kind=kind: socket.socket(kind)) for kind in (socket.AF_UNIX, socket.AF_INET)]

    assert in_child(body) == ([0, errno.EACCES], [0, errno.EACCES])


def attempt(action: Callable[[], object]) -> int:
    try:
        action()
    except OSError as error:
        return error.errno or -1
    return 0


@pytest.mark.parametrize(
    ("argv", "env", "reason"),
    [
        (["no-such-program"], {}, errno.ENOENT),
        (["no-such-program"], {"PATH": "/etc/passwd:/bin"}, errno.ENOENT),
        (["/etc/passwd"], {}, errno.EACCES),
        (["passwd"], {"PATH": "/etc:/no/such"}, errno.EACCES),
    ],
)
def test_why_a_program_cannot_be_run(argv: list[str], env: dict[str, str], reason: int) -> None:
    assert supervisor.execute(argv, env) == reason


def test_a_failed_step_names_itself() -> None:
    with pytest.raises(RuntimeError, match="folder: /no/such No such file"):
        supervisor.step("folder", os.chdir, "/no/such")
    with pytest.raises(OSError, match="Invalid argument"):
        supervisor.prctl(supervisor.PR_SET_NO_NEW_PRIVS, 2)


def test_it_needs_only_what_is_light() -> None:
    # Once in its domain it can import nothing more, and it is started for every command.
    heavy = "{'json', 'pathlib', 'typing', 'shutil', 'socket', 're'}"
    source = PROGRAM[4].replace("sys.exit", f"print({heavy} & set(sys.modules)); raise SystemExit #")
    said = subprocess.run([sys.executable, "-I", "-S", "-c", source], capture_output=True, check=True, text=True)
    assert said.stdout == "set()\n"
