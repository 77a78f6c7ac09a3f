"""Opening a repository's journal to look at a run; a killed apply is finished or undone on the way. Imports no git."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planexec.assembly.documents import History, run_document
from planexec.core.errors import UsageError
from planexec.core.state import RunState
from planexec.journal.artifacts import ArtifactStore
from planexec.journal.journal import Journal
from planexec.journal.runlog import RunLock, RunLog, events_of, resolve
from planexec.workspace.where import Where

_HEADER = "diff --git "


@dataclass(frozen=True)
class Opened:
    """A repository's journal."""

    folder: Path
    journal: Journal
    store: ArtifactStore

    def log(self, name: str = "") -> RunLog:
        """The run that ``name`` stands for; the latest without one."""
        return RunLog(self.journal, resolve(self.journal, name))

    def live(self, run_id: str) -> bool:
        """Whether a process is working on the run."""
        return RunLock(self.folder, run_id).held()

    def document(self, state: RunState) -> dict[str, Any]:
        """The run's JSON document."""
        history: History = events_of(self.journal, state.run_id)
        return run_document(state, history, patch_of(state, self.store), live=self.live(state.run_id))


@contextmanager
def opened(where: Where, tell: Callable[[str], None]) -> Iterator[Opened]:
    """The journal of a repository; ``tell`` hears of what had to be mended. Raises UsageError where nothing was run
    yet.
    """
    folder = where.folder()
    if not (folder / "journal.db").exists():
        raise UsageError("there is no run in this repository yet", "start one: planexec run CONTRACT")
    with Journal.open(folder, create=False) as journal:
        found = Opened(folder, journal, ArtifactStore(folder / "artifacts"))
        _mend(found, tell)
        yield found


def _mend(found: Opened, tell: Callable[[str], None]) -> None:
    """Finish or undo applies that a kill interrupted, unless the process is still at it."""
    folder = found.folder / "applying"
    for marker in sorted(folder.iterdir()) if folder.is_dir() else ():
        if found.live(marker.name):
            continue
        from planexec.controller.applying import recover_apply

        if outcome := recover_apply(RunLog(found.journal, marker.name), found.store):
            tell(f"the interrupted {outcome}")


def mend(where: Where, tell: Callable[[str], None]) -> None:
    """Finish or undo what was interrupted, before a run starts; nothing where nothing was run yet."""
    if (where.folder() / "applying").is_dir():
        with opened(where, tell):
            pass


def _changed_path(line: str) -> str:
    """The path that a ``diff --git`` line of a patch names; empty for other lines.

    Without renames both sides are equally long, so that no space in a path misleads. Git quotes as C does.
    """
    if not line.startswith(_HEADER):
        return ""
    sides = line[len(_HEADER) :]
    side = sides[len(sides) // 2 + 1 :]
    path = ast.literal_eval(f"b{side}").decode("utf-8", "surrogateescape") if side.startswith('"') else side
    return str(path).removeprefix("b/")


def patch_of(state: RunState, store: ArtifactStore) -> dict[str, Any]:
    """The patch with its counts; empty where nothing is proved."""
    if not state.patch:
        return {"files": [], "added": 0, "removed": 0, "patch": ""}
    text = store.get(state.patch).decode("utf-8", "replace")
    lines = text.splitlines()
    body = [line for line in lines if not line.startswith(("+++", "---"))]
    return {
        "files": [path for line in lines if (path := _changed_path(line))],
        "added": sum(line.startswith("+") for line in body),
        "removed": sum(line.startswith("-") for line in body),
        "patch": text,
    }
