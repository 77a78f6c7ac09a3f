"""Bubblewrap: its own root, processes, network."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given as generated
from hypothesis import strategies as st

from planexec.core.errors import EnvironmentFailure
from planexec.sandbox.bubblewrap import BubblewrapSandbox, advice, candidates, hosts_file
from planexec.sandbox.interface import Command, Limits, Mount, Sandbox
from planexec.sandbox.prove import interpreter_mounts

from .conftest import is_running, shell

PYTHON = os.path.realpath(sys.executable)


def python(sandbox: Sandbox, source: str, *mounts: Mount) -> str:
    command = Command((PYTHON, "-I", "-S", "-c", source), cwd=Path("/"), mounts=[*interpreter_mounts(), *mounts])
    result = sandbox.run(command)
    assert result.exit_code == 0, result.stderr.decode()
    return result.stdout.decode().strip()


@pytest.fixture
def host_folder() -> Iterator[Path]:
    """A folder of the host that stands for any private one: below the home, not below /tmp."""
    folder = Path(tempfile.mkdtemp(prefix=".planexec-test-", dir=Path.home()))
    yield folder
    shutil.rmtree(folder)


def test_one_is_found_and_says_where_it_comes_from() -> None:
    sandbox = BubblewrapSandbox.find()
    assert any(f"{origin}: {program}" in sandbox.describe() for program, origin in candidates())
    assert sandbox.remaps and sandbox.locate(Path("/a"), []) == Path("/a")


def test_a_program_that_does_not_work_is_seen_through() -> None:
    assert "said nothing" in BubblewrapSandbox(Path("/bin/true"), "none").trouble()
    assert BubblewrapSandbox(Path("/no/such/bwrap"), "none").trouble()


@pytest.mark.parametrize(
    "place",
    ["/root/project", "/home/someone/project", "/tmp/a/project", "/var/tmp/project", "/data/project", "/opt/x", "/new"],
)
def test_a_mount_may_lie_anywhere(bubblewrap: Sandbox, given: Mount, place: str) -> None:
    (given.source / "file").write_text("here")
    mount = Mount(given.source, Path(place), writable=True)
    result = shell(bubblewrap, "pwd && cat file && echo x > written", mount, cwd=mount.target)
    assert result.stdout.decode() == f"{place}\nhere", result.stderr
    assert (given.source / "written").exists()
    denied = shell(bubblewrap, "echo x > other", Mount(given.source, Path(place)), cwd=mount.target)
    assert b"Read-only file system" in denied.stderr
    assert not (given.source / "other").exists()


def test_a_later_mount_covers_a_part_of_an_earlier_one(bubblewrap: Sandbox, given: Mount, tmp_path: Path) -> None:
    cover = tmp_path / "cover"
    cover.mkdir()
    (cover / "config").write_text("ours")
    (given.source / ".git").mkdir()
    (given.source / ".git/config").write_text("theirs")
    script = "cat .git/config; echo x > .git/config; rm -rf .git; mv .git elsewhere; ln .git/config link"
    result = shell(bubblewrap, script, given, Mount(cover, given.target / ".git"), cwd=given.target)
    assert result.stdout == b"ours"
    assert (cover / "config").read_text() == "ours"
    assert (given.source / ".git/config").read_text() == "theirs"
    assert [path.name for path in given.source.iterdir()] == [".git"]


def test_a_single_file_can_be_mounted(bubblewrap: Sandbox, tmp_path: Path) -> None:
    file = tmp_path / "contract.yaml"
    file.write_text("a: 1")
    result = shell(bubblewrap, "cat /srv/c.yaml; echo b >> /srv/c.yaml", Mount(file, Path("/srv/c.yaml")))
    assert result.stdout == b"a: 1"
    assert file.read_text() == "a: 1"


def test_what_is_not_mounted_is_not_there(bubblewrap: Sandbox, host_folder: Path) -> None:
    (host_folder / "key").write_text("secret")
    result = shell(
        bubblewrap, f"cat {host_folder}/key; ls -A /home /run; cat /etc/shadow /etc/ssl/private/*; ls /var /"
    )
    assert b"secret" not in result.stdout
    names = result.stdout.decode().split()
    assert "home" in names and "proc" in names
    assert "shadow" not in names and "log" not in names and "boot" not in names


@pytest.mark.parametrize("place", ["/", "/usr", "/etc", "/dev", "/home", "/run", "/proc", "/sys/devices/system/cpu"])
def test_nothing_but_temporary_folders_can_be_written(bubblewrap: Sandbox, place: str) -> None:
    assert shell(bubblewrap, f"echo x > {place}/planexec-test").exit_code != 0
    assert not Path(place, "planexec-test").exists()


def test_devices_work(bubblewrap: Sandbox) -> None:
    script = (
        "echo x > /dev/null && head -c 1 /dev/zero > /dev/null && head -c 1 /dev/urandom > /dev/null; : > /dev/full"
    )
    result = shell(bubblewrap, script)
    assert (result.exit_code, result.stderr) == (0, b"")


@pytest.mark.parametrize("place", ["/tmp", "/var/tmp", "/dev/shm", "$HOME", "$TMPDIR"])
def test_temporary_folders_are_private(bubblewrap: Sandbox, place: str) -> None:
    name = f"planexec-test-{uuid.uuid4().hex}"
    result = shell(bubblewrap, f"echo x > {place}/{name} && realpath {place}/{name}")
    assert result.exit_code == 0, result.stderr
    assert not Path(result.stdout.decode().strip()).exists()


def test_a_write_through_a_link_stays_inside(bubblewrap: Sandbox, given: Mount, host_folder: Path) -> None:
    (given.source / "link").symlink_to(host_folder / "file")
    shell(bubblewrap, "echo x > link", given, cwd=given.target)
    assert not (host_folder / "file").exists()


def test_process_one_is_not_the_command_and_reaps(bubblewrap: Sandbox) -> None:
    result = shell(
        bubblewrap, "tr '\\0' ' ' < /proc/1/cmdline; echo; (sleep 0.05 &); sleep 0.3; grep -l 'State:.Z' /proc/*/status"
    )
    assert b"bwrap" in result.stdout
    assert not any(line.startswith(b"/proc/") for line in result.stdout.splitlines())


def test_process_one_shows_no_environment(bubblewrap: Sandbox) -> None:
    command = Command(("/bin/cat", "/proc/1/environ"), cwd=Path("/"), env={"API_KEY": "for the command alone"})
    assert b"API_KEY" not in bubblewrap.run(command).stdout


def test_a_variable_for_inside_does_not_touch_bwrap(bubblewrap: Sandbox, tmp_path: Path) -> None:
    env = {"LD_PRELOAD": "/no/such/library.so", "LD_LIBRARY_PATH": str(tmp_path), "ODD.NAME": "kept"}
    result = bubblewrap.run(Command(("/bin/echo", "ran"), cwd=Path("/"), env=env))
    assert result.stdout == b"ran\n"
    # The loader complains inside, for sh and echo; bwrap outside would be the third.
    assert result.stderr.count(b"cannot be preloaded") == 2


def test_loopback_is_there_and_nothing_else(bubblewrap: Sandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        socket.create_connection(("127.0.0.1", port)).close()
        said = python(
            bubblewrap,
            "import socket\n"
            "with socket.create_server(('localhost', 0)) as server:\n"
            "    print(socket.create_connection(server.getsockname()).getpeername()[0])\n"
            f"for address in (('127.0.0.1', {port}), ('192.0.2.1', 80)):\n"
            "    try: socket.create_connection(address, 5)\n"
            "    except OSError as error: print(type(error).__name__)\n"
            "print([name for _, name in socket.if_nameindex()])\n",
        )
    assert said.splitlines() == ["127.0.0.1", "ConnectionRefusedError", "OSError", "['lo']"]


def test_gaps_of_namespaces_are_filtered(bubblewrap: Sandbox) -> None:
    said = python(
        bubblewrap,
        "import ctypes, errno, platform, socket\n"
        "for family in (socket.AF_VSOCK, socket.AF_PACKET, socket.AF_ALG):\n"
        "    try: socket.socket(family, socket.SOCK_STREAM)\n"
        "    except OSError as error: print(errno.errorcode[error.errno])\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "keyctl = {'x86_64': 250, 'aarch64': 219}[platform.machine()]\n"
        "print(libc.syscall(keyctl, 0, -3, 0), errno.errorcode[ctypes.get_errno()])\n"
        "print(libc.unshare(0x10000000), errno.errorcode[ctypes.get_errno()])\n",
    )
    assert said.splitlines()[:4] == ["EAFNOSUPPORT"] * 3 + ["-1 ENOSYS"]
    assert said.splitlines()[4].startswith("-1 ")


def test_what_ordinary_test_suites_need(bubblewrap: Sandbox) -> None:
    said = python(
        bubblewrap,
        "import getpass, mimetypes, multiprocessing, os, pty, pwd, socket, ssl, tempfile, time\n"
        "assert socket.gethostbyname('localhost') == '127.0.0.1'\n"
        "socket.gethostbyname(socket.gethostname())\n"
        "assert pwd.getpwuid(os.getuid()).pw_name == getpass.getuser()\n"
        "multiprocessing.Lock(); pty.openpty(); os.cpu_count()\n"
        "assert os.path.expanduser('~') == os.environ['HOME'] and os.path.isdir(os.environ['HOME'])\n"
        "tempfile.TemporaryFile().write(b'x'); open('/dev/full', 'rb').read(1)\n"
        "ssl.create_default_context(); time.localtime()\n"
        "print('fine')\n",
    )
    assert said == "fine"


def test_limits_do_not_reach_bwrap_itself(bubblewrap: Sandbox) -> None:
    # Far too little for bwrap to make its files in, if it were limited.
    command = Command(("/bin/sh", "-c", "echo fine"), cwd=Path("/"), limits=Limits(file_bytes=0))
    assert bubblewrap.run(command).stdout == b"fine\n"


def test_a_limit_above_what_this_program_may_have(bubblewrap: Sandbox) -> None:
    assert shell(bubblewrap, "exit 5", memory_bytes=2**62).exit_code == 5


def test_many_mounts(bubblewrap: Sandbox, given: Mount) -> None:
    mounts = [Mount(given.source, Path(f"/srv/{'x' * 200}/{number}")) for number in range(150)]
    assert shell(bubblewrap, "ls /srv/* | wc -l", *mounts).stdout.strip() == b"150"


def test_a_session_ends_with_the_thread_that_started_it(bubblewrap: Sandbox) -> None:
    token = uuid.uuid4().hex
    sessions = []

    def start() -> None:
        session = bubblewrap.start(Command(("/bin/sh", "-c", f"echo up; sleep 60; : {token}"), cwd=Path("/")))
        sessions.append((session, session.receive(20)))

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    session, first = sessions[0]
    assert first == b"up"
    assert session.receive(20) is None
    session.close()
    assert not is_running(token)


def test_several_threads_may_run_commands(bubblewrap: Sandbox) -> None:
    results: list[bytes] = []
    threads = [
        threading.Thread(target=lambda n=n: results.append(shell(bubblewrap, f"echo {n}").stdout)) for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [b"%d\n" % n for n in range(8)]


def test_a_mount_that_cannot_be_laid_is_an_environment_failure(bubblewrap: Sandbox, given: Mount) -> None:
    with pytest.raises(EnvironmentFailure, match="could not start") as caught:
        bubblewrap.run(Command(("/bin/true",), cwd=Path("/"), mounts=[Mount(given.source, Path("/usr/no/such"))]))
    assert "folder" in caught.value.hint


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "AppArmor"),
        ("bwrap: setting up uid map: Permission denied", "AppArmor"),
        ("bwrap: No permissions to create a new namespace", "user namespaces"),
        ("", "apt install bubblewrap"),
    ],
)
def test_advice_follows_the_words_of_bwrap(words: str, part: str) -> None:
    assert part in advice(words)


@generated(st.lists(st.sampled_from(["127.0.0.1 localhost", "# localhost", "::1 ip6-localhost", "10.0.0.1 db", ""])))
def test_host_names_are_kept_and_completed(lines: list[str]) -> None:
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("\n".join(lines))
        file.flush()
        text = hosts_file(Path(file.name)).decode()
    assert text.startswith("\n".join(lines))
    names = {word for line in text.splitlines() for word in line.partition("#")[0].split()[1:]}
    assert {"localhost", socket.gethostname()} <= names


def test_host_names_without_a_file(tmp_path: Path) -> None:
    assert hosts_file(tmp_path / "none").startswith(b"127.0.0.1 localhost\n")
