"""Whether one tree can be laid over another here: tried with small trees on the file system in question."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path
from typing import Protocol

from planexec.core.errors import EnvironmentFailure
from planexec.sandbox.interface import Command, CommandResult, Layered, Limits

_INSIDE = Path("/srv/layers")
_SCRIPT = 'set -e; test "$(cat kept)" = below; test ! -e hidden; echo above > written; rm removed; mv sub/old new'


class _Runs(Protocol):
    def run(self, command: Command) -> CommandResult: ...


def work(sandbox: _Runs, folder: Path) -> bool:
    """Whether changes over a tree in ``folder`` are seen, written and kept apart from it as they should be."""
    # What is left by a kill is named as other temporary folders are, and is as small as they are.
    with tempfile.TemporaryDirectory(prefix="planexec-", dir=folder, ignore_cleanup_errors=True) as place:
        tree = Layered(Path(place) / "above", Path(place) / "below")
        (tree.over / "sub").mkdir(parents=True)
        for name in ("kept", "hidden", "written", "removed", "sub/old"):
            (tree.over / name).write_text("below\n")
        tree.folder.mkdir()
        tree.work.mkdir()
        try:
            # Else a file that a change deletes could not be hidden.
            hide(str(tree.folder / "hidden"))
            mount = tree.mount(_INSIDE, writable=True)
            result = sandbox.run(Command(("/bin/sh", "-c", _SCRIPT), _INSIDE, (mount,), limits=Limits(seconds=20)))
            whole = all(file.read_text() == "below\n" for file in tree.over.rglob("*") if file.is_file())
            return result.exit_code == 0 and whole and (tree.folder / "written").read_text() == "above\n"
        except (OSError, EnvironmentFailure):
            return False
        finally:
            with contextlib.suppress(OSError):
                (tree.work / "work").chmod(0o700)  # the kernel leaves it closed


def hide(name: str, folder: int | None = None) -> None:
    """Make ``name`` the mark of an overlay that says: nothing is here, whatever the tree below holds.

    OSError where something stands there. Since Linux 5.8 everybody may make this device, which is none.
    """
    os.mknod(name, stat.S_IFCHR, os.makedev(0, 0), dir_fd=folder)


def is_hidden(status: os.stat_result) -> bool:
    """Whether this is such a mark."""
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0
