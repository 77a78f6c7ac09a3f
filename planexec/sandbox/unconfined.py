"""No confinement: time, memory, file size and output are limited and the process tree is ended, nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from planexec.sandbox import supervised
from planexec.sandbox.interface import Command, CommandResult, Mount, Session
from planexec.sandbox.process import check_command, run_to_end
from planexec.sandbox.session import LineSession


class UnconfinedSandbox:
    """``--sandbox none``: for throwaway machines, chosen by a person in so many words."""

    name = "none"
    remaps = False

    def describe(self) -> str:
        """One line: the mechanism, what it does not hold."""
        return (
            "none: commands run with all your rights; limits hold and the process tree is ended, "
            "files, network, secrets and other processes are open to them"
        )

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
        return supervised.launch(command, supervised.Confinement(), supervised.private_folder(), stdin=stdin)
