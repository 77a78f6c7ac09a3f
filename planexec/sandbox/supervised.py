"""The side of this program in front of ``supervisor.py``: what Landlock and ``none`` have in common."""

from __future__ import annotations

import contextlib
import io
import marshal
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planexec.core.errors import EnvironmentFailure
from planexec.sandbox import supervisor
from planexec.sandbox.interface import Command, Mount
from planexec.sandbox.limits import rlimits
from planexec.sandbox.process import GRACE, close_pipes, readable, spawn

DEFAULT_ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
PRIVATE = ("HOME", "TMPDIR")  # variables that name a folder of one command alone
# Imported, not run as a script: so its byte code is kept. Behind the standard library, whose names come first.
IMPORT = "import sys; sys.path.append({folder!r}); import supervisor; sys.exit(supervisor.main(sys.argv[1:]))"
PROGRAM = (sys.executable, "-I", "-S", "-c", IMPORT.format(folder=str(Path(supervisor.__file__).parent)))


@dataclass(frozen=True)
class Confinement:
    """What the supervisor lays on the command; the meaning of each is told in ``supervisor.py``."""

    network: str = ""
    landlock: Mapping[str, object] | None = None
    seccomp: bytes = b""
    privileges: bool = True


def private_folder() -> Path:
    """A new folder for one command's temporary files and home. The supervisor removes it at the end."""
    folder = Path(tempfile.mkdtemp(prefix="planexec-"))
    (folder / "home").mkdir()
    (folder / "tmp").mkdir()
    return folder


def launch(command: Command, confinement: Confinement, private: Path, *, stdin: bool) -> Supervised:
    """Start ``command`` under a supervisor. Its HOME and TMPDIR are private unless they lie in a writable mount."""
    spec = {
        "argv": list(command.argv),
        "cwd": str(real_folder(command)),
        "env": environment(command, private),
        "rlimits": sorted(rlimits(command.limits).items()),
        "private": str(private),
        "network": confinement.network,
        "landlock": confinement.landlock,
        "seccomp": confinement.seccomp,
        "privileges": confinement.privileges,
    }
    document = os.memfd_create("spec")
    status, report = os.pipe()
    control, hold = os.pipe()
    try:
        os.write(document, marshal.dumps(spec))
        os.lseek(document, 0, os.SEEK_SET)
        argv = [*PROGRAM, str(document), str(report), str(control)]
        process = spawn(argv, {}, stdin=stdin, fds=(document, report, control))
    except BaseException:
        os.close(status)
        os.close(hold)
        supervisor.remove(str(private))
        raise
    finally:
        for descriptor in (document, report, control):
            os.close(descriptor)
    return Supervised(process, status, hold, private)


def environment(command: Command, private: Path) -> dict[str, str]:
    """The command's own environment, with what no program can do without."""
    writable = [mount.source for mount in command.mounts if mount.writable]
    env = {**DEFAULT_ENV, **command.env}
    for name, folder in zip(PRIVATE, (private / "home", private / "tmp"), strict=True):
        given = Path(env.get(name, ""))
        if not any(given.is_relative_to(source) for source in writable):
            env[name] = str(folder)
    return env


def real_folder(command: Command) -> Path:
    """The folder to work in: as given when it already is a real place of a mount, else located."""
    if any(command.cwd.is_relative_to(mount.source) for mount in command.mounts):
        return command.cwd
    return locate(command.cwd, command.mounts)


def locate(path: Path, mounts: Sequence[Mount]) -> Path:
    """The real place of ``path`` where nothing is remapped: the innermost mount's target becomes its source."""
    covering = [mount for mount in mounts if path.is_relative_to(mount.target)]
    if not covering:
        return path
    # Of mounts on the same place the last one covers the others.
    innermost = max(enumerate(covering), key=lambda pair: (len(pair[1].target.parts), pair[0]))[1]
    return innermost.source / path.relative_to(innermost.target)


class Supervised:
    """A running supervisor. It ends everything below it when ``hold`` is closed, also by the death of this program."""

    def __init__(self, process: subprocess.Popen[bytes], status: int, hold: int, private: Path) -> None:
        self._process = process
        self._status = status
        self._hold = hold
        self._private = private

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The supervisor."""
        return self._process

    def kill(self) -> None:
        """Let the supervisor end the command's whole tree and itself."""
        self._let_go()
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:  # only when processes are born faster than they can be found
            for pid in [*supervisor.descendants(self._process.pid), self._process.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._process.wait()
        self._clean()

    def settle(self, errors: bytes) -> int:
        """The exit code of the command. Raises EnvironmentFailure when it was never confined, and so never ran."""
        outside = self._process.wait()
        said = self._hear()
        self.kill()
        if "failed" in said:
            raise EnvironmentFailure(f"the sandbox could not start: {said['failed']}")
        code = said.get("exit")
        if not isinstance(code, int):
            message = errors.decode("utf-8", "replace").strip().rpartition("\n")[2] or f"exit {outside}"
            raise EnvironmentFailure(f"the sandbox could not start: {message}")
        return code

    def _hear(self) -> dict[str, object]:
        """What the supervisor reported, and before it the child that could not be confined."""
        text = b""
        deadline = time.monotonic() + GRACE
        while readable(self._status, deadline - time.monotonic()):
            data = os.read(self._status, 4096)
            if not data:
                break
            text += data
        said: dict[str, object] = {}
        stream = io.BytesIO(text)
        with contextlib.suppress(EOFError):
            while True:
                said.update(marshal.load(stream))
        return said

    def _let_go(self) -> None:
        if self._hold >= 0:
            os.close(self._hold)
        self._hold = -1

    def _clean(self) -> None:
        if self._status >= 0:
            os.close(self._status)
        self._status = -1
        if self._private.exists():
            supervisor.remove(str(self._private))
        if self._process.stdin is not None and self._process.stdin.closed:
            close_pipes(self._process)
