"""What every sandbox offers: run one command to its end, or start a session and talk to it by lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Protocol

MIB = 1024 * 1024


@dataclass(frozen=True)
class Mount:
    """A host folder or file ``source`` that is seen inside at ``target``; read-only unless ``writable``.

    A target within an earlier writable mount is created there on the host when it is missing (an empty folder or
    file); within a read-only mount it must exist.

    With ``over`` the two folders are seen as one: ``source`` holds what differs from the folder ``over``, which is
    never written; what is written goes to ``source``, and ``work`` (an empty folder on the same file system) is the
    kernel's. No two commands may have one ``source`` at a time. Only where `Sandbox.layers` says so.
    """

    source: Path
    target: Path
    writable: bool = False
    over: Path | None = None
    work: Path | None = None


@dataclass(frozen=True)
class Layered:
    """A tree that is seen as one: what differs from the tree ``over`` lies in ``folder``, whose ``work`` is the
    kernel's.
    """

    folder: Path
    over: Path

    @property
    def work(self) -> Path:
        """The empty folder that an overlay needs, beside ``folder``."""
        return self.folder.with_name(f"{self.folder.name}.work")

    def mount(self, target: Path, *, writable: bool) -> Mount:
        """The mount that shows the tree at ``target``."""
        return Mount(self.folder, target, writable, self.over, self.work if writable else None)


FileTree = Path | Layered
"""A whole tree, or changes over another one."""


@dataclass(frozen=True)
class Limits:
    """What one command may use. ``None`` means no limit; ``output_bytes`` holds for each stream."""

    seconds: float = 120.0
    memory_bytes: int | None = 4096 * MIB
    file_bytes: int | None = 256 * MIB
    output_bytes: int = 2 * MIB


@dataclass(frozen=True)
class Command:
    """A program with everything that it may see.

    ``argv`` and ``cwd`` are paths as seen inside. ``env`` is the whole environment: nothing is inherited. The
    sandbox adds HOME and TMPDIR (folders of this command alone), PATH and LANG where they are missing. ``mounts`` are
    laid in order, so that a later one may cover a part of an earlier one.
    """

    argv: Sequence[str]
    cwd: Path
    mounts: Sequence[Mount] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    stdin: bytes = b""


@dataclass(frozen=True)
class CommandResult:
    """How a command ended. ``exit_code`` is negative for a signal; a time-out is -9 with ``timed_out``.

    Bubblewrap reports 128 + n for signal n, as shells do: there an exit code of 129 to 192 is read as a signal.
    ``truncated`` means that a stream lost its middle: not to be parsed.
    """

    exit_code: int
    stdout: bytes
    stderr: bytes
    seconds: float
    timed_out: bool = False
    truncated: bool = False


class Session(Protocol):
    """A long-lived command: lines go in, lines come out. Leaving the context ends it with all its children."""

    def send(self, line: bytes) -> None:
        """Write one line (without its end). Raises BrokenPipeError when the command has ended."""
        ...

    def receive(self, seconds: float) -> bytes | None:
        """The next line without its end; None when the command has ended or ``seconds`` have passed."""
        ...

    def errors(self) -> bytes:
        """What the command wrote to standard error so far, bounded."""
        ...

    def close(self) -> None:
        """End the command and all its children. Idempotent."""
        ...

    def __enter__(self) -> Session: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Sandbox(Protocol):
    """A mechanism that confines a command: only its mounts are writable, no network but loopback."""

    @property
    def name(self) -> str:
        """The word of ``--sandbox``: ``bubblewrap``, ``landlock`` or ``none``."""
        ...

    @property
    def remaps(self) -> bool:
        """Whether a mount's target may differ from its source (a mount namespace is there)."""
        ...

    def layers(self, folder: Path) -> bool:
        """Whether a mount may be laid ``over`` another where both lie on the file system of ``folder``."""
        ...

    def describe(self) -> str:
        """One line for people: which mechanism, which program, what it does not hold."""
        ...

    def locate(self, path: Path, mounts: Sequence[Mount]) -> Path:
        """Where the inside path ``path`` really is as the command sees it.

        With ``remaps`` that is ``path`` itself; without, the innermost mount's target is replaced by its source.
        """
        ...

    def run(self, command: Command) -> CommandResult:
        """Run ``command`` to its end, its whole process tree included."""
        ...

    def start(self, command: Command) -> Session:
        """Start ``command`` (its ``stdin`` is ignored) and return the session with it.

        ``limits.seconds`` is how long one ``send`` may take; a session as a whole has no time limit.
        """
        ...
