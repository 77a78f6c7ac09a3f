"""Landlock, with a system call filter: for places where namespaces are denied, containers above all.

Paths stay what they are on the host (``remaps`` is False). The rules only ever allow, and only for whole trees: the
system's programs and the read-only mounts can be read, the writable mounts and one private folder can be written, the
rest of the file system can be neither read nor listed. What this does not hold is said by ``describe``.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from planexec.core.errors import EnvironmentFailure
from planexec.sandbox import seccomp, supervised
from planexec.sandbox.interface import Command, CommandResult, Limits, Mount, Session
from planexec.sandbox.process import check_command, run_to_end
from planexec.sandbox.session import LineSession
from planexec.sandbox.system import DEVICES, readable_paths

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
CREATE_RULESET, VERSION_FLAG = 444, 1
READ = EXECUTE | READ_FILE | READ_DIR
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV  # rights that a rule on one file may name
TCP = 0b11  # bind, connect
SCOPES = 0b11  # abstract unix sockets, signals


def abi() -> int:
    """The version of Landlock in this kernel; 0 when there is none or it is switched off."""
    if sys.platform != "linux":
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    return max(int(libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), VERSION_FLAG)), 0)


class LandlockSandbox:
    """Runs commands in a Landlock domain of version ``version``.

    ``network`` is ``own`` (a network namespace: loopback works) or ``none`` (no sockets at all but pairs). ``reason``
    says for people why it is used.
    """

    name = "landlock"
    remaps = False

    def __init__(self, version: int, network: str = "none", reason: str = "") -> None:
        self._reason = reason
        self._version = version
        self._network = network

    @classmethod
    def find(cls, reason: str = "") -> LandlockSandbox:
        """The strongest form that works here. Raises EnvironmentFailure with the reason when none does."""
        version = abi()
        if version < 1:
            raise EnvironmentFailure(
                "landlock does not work here: the kernel has none, or it is switched off",
                "Linux 5.13 or later with landlock among the security modules (boot option lsm=)",
            )
        if not seccomp.supported():
            raise EnvironmentFailure(f"landlock: no system call filter for {platform.machine()} processors")
        reasons = []
        for network in ("own", "none"):
            sandbox = cls(version, network, reason)
            trouble = sandbox.trouble()
            if not trouble:
                return sandbox
            reasons.append(trouble)
        raise EnvironmentFailure(f"landlock does not work here: {'; '.join(reasons)}")

    def trouble(self) -> str:
        """Why this form cannot confine anything here; empty when it can."""
        try:
            result = self.run(Command(("/bin/sh", "-c", "exit 7"), cwd=Path("/"), limits=Limits(seconds=20)))
        except EnvironmentFailure as error:
            return error.message.removeprefix("the sandbox could not start: ")
        return "" if result.exit_code == 7 else f"a command that exits with 7 exited with {result.exit_code}"

    def describe(self) -> str:
        """One line: the mechanism, the program, what it does not hold."""
        network = "own network" if self._network == "own" else "no network, not even loopback"
        holes = ["modes and times of files can be changed", "the list of processes is seen", "no /tmp, /dev/shm or pty"]
        because = f"; used because {self._reason}" if self._reason else ""
        if self._version < 6:
            holes.append("other processes can be signalled")
        if self._version < 2:
            holes.append("files cannot move between folders")
        return f"landlock (version {self._version}, {network}); does not hold or offer: {', '.join(holes)}{because}"

    def layers(self, folder: Path) -> bool:
        """Never: without a mount namespace a tree is what it is on the host."""
        return False

    def locate(self, path: Path, mounts: Sequence[Mount]) -> Path:
        """The real place of ``path``: the innermost mount's target is replaced by its source."""
        return supervised.locate(path, mounts)

    def run(self, command: Command) -> CommandResult:
        """Run ``command`` to its end; nothing of it is left when this returns."""
        return run_to_end(self._launch(command, stdin=bool(command.stdin)), command)

    def start(self, command: Command) -> Session:
        """Start ``command`` and return the session with it."""
        return LineSession(self._launch(command, stdin=True), command)

    def _launch(self, command: Command, *, stdin: bool) -> supervised.Supervised:
        check_command(command)
        check_nesting(command.mounts)
        private = supervised.private_folder()
        families = () if self._network == "none" else (seccomp.AF_INET, seccomp.AF_INET6, seccomp.AF_NETLINK)
        confinement = supervised.Confinement(
            network="own" if self._network == "own" else "",
            landlock={
                "attributes": self._attributes(),
                "rules": [(access, str(path)) for access, path in self._rules(command.mounts, private)],
            },
            seccomp=seccomp.build(families, refused=errno.EACCES, truncate=self._version >= 3),
            privileges=False,
        )
        return supervised.launch(command, confinement, private, stdin=stdin)

    def _attributes(self) -> bytes:
        """``struct landlock_ruleset_attr`` as long as this version knows it."""
        tcp = TCP if self._network == "none" else 0
        fields = [
            handled(self._version),
            *([tcp] if self._version >= 4 else []),
            *([SCOPES] if self._version >= 6 else []),
        ]
        return struct.pack(f"={len(fields)}Q", *fields)

    def _rules(self, mounts: Sequence[Mount], private: Path) -> Iterator[tuple[int, Path]]:
        everything = handled(self._version)
        for path in readable_paths():
            yield self._access(READ, path), path
        for path in DEVICES:
            if os.access(path, os.F_OK):
                yield READ_FILE | WRITE_FILE | (everything & TRUNCATE), path
        yield everything, private
        for mount in mounts:
            yield self._access(everything if mount.writable else READ, mount.source), mount.source

    def _access(self, access: int, path: Path) -> int:
        return (access if path.is_dir() else access & OF_FILES) & handled(self._version)


def handled(version: int) -> int:
    """Every right on files that version ``version`` of Landlock governs."""
    known = (1 << 13) - 1
    for since, right in ((2, REFER), (3, TRUNCATE), (5, IOCTL_DEV)):
        if version >= since:
            known |= right
    return known


def check_nesting(mounts: Sequence[Mount]) -> None:
    """Refuse a read-only folder inside a writable one: rules cannot take away what another rule gives."""
    for inner in mounts:
        for outer in mounts:
            place = Path(os.path.realpath(inner.source))
            if outer.writable and not inner.writable and place.is_relative_to(os.path.realpath(outer.source)):
                raise EnvironmentFailure(
                    f"landlock cannot keep {inner.source} read-only inside {outer.source}", "use bubblewrap"
                )
