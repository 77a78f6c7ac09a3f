"""The proof that a sandbox holds: by behaviour, not by version numbers. ``doctor`` shows it.

Each thing that must fail inside is first known to work outside: the file is there, the server listens. So a proof
cannot hold for want of something to attack.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import socket
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planexec.core.errors import EnvironmentFailure
from planexec.sandbox import probe
from planexec.sandbox.interface import Command, Limits, Mount, Sandbox
from planexec.sandbox.system import SYSTEM

ROUTED = ("192.0.2.1", 9)  # an address for documentation (RFC 5737): asking for the way there sends nothing
LIMITS = Limits(seconds=60)
ORDINARY = {"HOME", "LANG", "PATH", "PWD", "SHLVL", "TMPDIR", "_"}


@dataclass(frozen=True)
class Proof:
    """One property: what was to be shown, whether it holds, and what was seen."""

    name: str
    holds: bool
    detail: str


def prove(sandbox: Sandbox) -> list[Proof]:
    """Try to break out of ``sandbox`` in every way that it should stop. Takes well under a second.

    Raises EnvironmentFailure when the attempt itself cannot be made.
    """
    with contextlib.ExitStack() as stack:
        scene = _Scene.lay(stack)
        result = sandbox.run(scene.command())
        try:
            found = json.loads(result.stdout)
        except ValueError as error:
            last = result.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
            raise EnvironmentFailure(
                f"the proof of the sandbox ended with {result.exit_code}: {last or 'no output'}"
            ) from error
        return scene.judge(found)


@dataclass(frozen=True)
class _Scene:
    """Folders and servers on the host, laid out for one proof."""

    outside: Path  # not mounted
    shown: Path  # mounted read-only
    given: Path  # mounted writable
    secret: Path
    servers: Mapping[str, socket.socket]

    @classmethod
    def lay(cls, stack: contextlib.ExitStack) -> _Scene:
        """Everything is taken away again by ``stack``."""
        outside, shown, given = (
            Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="planexec-proof-"))).resolve() for _ in range(3)
        )
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=".planexec-proof-", dir=_home())))
        secret = home.resolve() / "secret"
        secret.write_text(secrets.token_hex(), "ascii")
        for folder in (outside, shown):
            (folder / "file").write_text("as it was\n", "ascii")
        (given / "lock").touch()
        servers = {text: stack.enter_context(server) for text, server in _servers(outside)}
        return cls(outside, shown, given, secret, servers)

    def command(self) -> Command:
        """The probe with everything that it shall try."""
        mounts = [*interpreter_mounts(), Mount(self.shown, self.shown), Mount(self.given, self.given, writable=True)]
        document = {
            "outside": [str(folder / name) for folder in (self.outside, self.shown) for name in ("file", "new")],
            "inside": str(self.given / "file"),
            "secret": [str(self.secret), str(self.outside / "file")],
            "connections": list(self.servers),
            "process": os.getpid(),
            "lock": str(self.given / "lock"),
        }
        source = Path(probe.__file__).read_text("utf-8")
        argv = (os.path.realpath(sys.executable), "-I", "-S", "-c", source, json.dumps(document))
        return Command(argv, cwd=self.given, mounts=mounts, env={"LANG": "C.UTF-8"}, limits=LIMITS)

    def judge(self, found: Mapping[str, Any]) -> list[Proof]:
        """What the probe found, against what is seen on the host."""
        written = [str(folder) for folder in (self.outside, self.shown) if not _untouched(folder)]
        reached = [text for text, server in self.servers.items() if _was_reached(server)]
        inside = found["inside"] if (self.given / "file").is_file() else "the file did not arrive"
        leaked = [name for name, digest in _own_environment().items() if digest in found["environments"]]
        return [
            _refused("a write outside the mounts fails", found["outside"], written),
            _worked("a write to a writable mount works", inside),
            _refused("a secret file cannot be read", found["secret"]),
            _refused("a connection to the outside fails", found["connections"], reached),
            _worked("loopback works", found["loopback"]),
            _refused("another process cannot be signalled", {"this process": found["signal"]}),
            _worked("the environment shows no secret", f"seen: {', '.join(leaked)}" if leaked else ""),
            _worked("no process survives", "" if _is_free(self.given / "lock") else "a daemon is alive"),
        ]


def interpreter_mounts() -> list[Mount]:
    """Read-only mounts with which the interpreter of this program runs inside, in the order to lay them."""
    folders = [
        Path(sys.base_prefix).resolve(),
        Path(str(sysconfig.get_config_var("LIBDIR") or sys.base_prefix)).resolve(),
    ]
    mounts: list[Mount] = []
    for folder in folders:
        seen = [*SYSTEM, *(mount.target for mount in mounts)]
        if folder.is_dir() and not any(folder.is_relative_to(place) for place in seen):
            mounts.append(Mount(folder, folder))
    return mounts


def _home() -> str | None:
    """The home folder where it can be written, else None: the folder for temporary files."""
    try:
        home = Path.home()
    except RuntimeError:
        return None
    return str(home) if os.access(home, os.W_OK | os.X_OK) else None


def _servers(folder: Path) -> Iterator[tuple[str, socket.socket]]:
    """Servers of the host that must not be reached, by the word that the probe takes."""
    for address in dict.fromkeys(("127.0.0.1", _own_address())):
        server = socket.create_server((address, 0))
        yield f"tcp:{address}:{server.getsockname()[1]}", server
    for path in (str(folder / "socket"), f"@planexec-proof-{secrets.token_hex(8)}"):
        local = socket.socket(socket.AF_UNIX)
        local.bind(path.replace("@", "\0", 1))
        local.listen()
        yield f"unix:{path}", local


def _own_address() -> str:
    """The address of this machine on its network; loopback where it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe_socket:
        try:
            probe_socket.connect(ROUTED)
        except OSError:
            return "127.0.0.1"
        return str(probe_socket.getsockname()[0])


def _was_reached(server: socket.socket) -> bool:
    server.setblocking(False)
    try:
        server.accept()[0].close()
    except OSError:
        return False
    return True


def _untouched(folder: Path) -> bool:
    return not (folder / "new").exists() and (folder / "file").read_text("ascii") == "as it was\n"


def _is_free(lock: Path) -> bool:
    with lock.open("rb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _own_environment() -> dict[str, str]:
    """The hash of each variable of this program, but for those that every command has."""
    return {
        name: hashlib.sha256(f"{name}={value}".encode("utf-8", "surrogateescape")).hexdigest()
        for name, value in os.environ.items()
        if name not in ORDINARY
    }


def _refused(name: str, attempts: Mapping[str, str], seen: Sequence[str] = ()) -> Proof:
    """Every attempt must have failed, and ``seen``, what the host noticed all the same, must be empty."""
    worked = dict.fromkeys([*seen, *(what for what, error in attempts.items() if not error)])
    errors = dict.fromkeys(error for error in attempts.values() if error)
    return Proof(name, not worked, f"worked: {', '.join(worked)}" if worked else "; ".join(errors))


def _worked(name: str, error: str) -> Proof:
    return Proof(name, not error, error or "as it should")
