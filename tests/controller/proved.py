"""A run that is proved as far as its journal goes, for tests of what becomes of its patch; kills by moments."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from planexec.core import events as e
from planexec.journal.artifacts import ArtifactStore
from planexec.journal.journal import Journal
from planexec.journal.runlog import RunLog
from planexec.workspace.entries import Entry
from planexec.workspace.manifest import Manifest

from ..core.building import accepted, evidence, sound_steps, started

OLD, NEW = b"x = 1\n", b"x = 2\n"
BORN = b"def test_x(): pass\n"
KILLED = """
import os, signal, sys
from pathlib import Path
from planexec.controller import applying
from planexec.journal.artifacts import ArtifactStore
from planexec.journal.journal import Journal
from planexec.journal.runlog import RunLog

folder, what, die_at = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
moments = 0

def step(word):
    global moments
    moments += 1
    if moments == die_at:
        os.kill(os.getpid(), signal.SIGKILL)

with Journal.open(folder, create=False) as journal:
    log = RunLog(journal, "run-1")
    log.listeners.append(lambda stored, event: step(type(event).__name__))
    store = ArtifactStore(folder / "artifacts")
    if what == "reverse":
        applying.reverse_patch(log, store, step)
    else:
        applying.branch_patch(log, store, what, step)
print(moments)
"""
"""Does it and kills itself at a moment, 0 for never."""


def proved(folder: Path, root: Path, commit: str, **start: object) -> RunLog:
    """A run in the journal in ``folder`` whose patch changes ``a.py`` and brings ``test_a.py`` in ``root``."""
    store = ArtifactStore(folder / "artifacts")
    base = Manifest({"a.py": _entry(store, OLD)})
    tree = Manifest({"a.py": _entry(store, NEW), "test_a.py": _entry(store, BORN)})
    log = RunLog(Journal.open(folder), str(start.get("run_id", "run-1")))
    first = replace(
        started(), base={"commit": commit, "repository": str(root)}, snapshot=store.put(base.encode()), **start
    )
    log.record(first)
    log.record(accepted(log.state, sound_steps()))
    for step in sound_steps():
        log.record(e.StepStarted(step.id, 1, log.state.snapshot))
        log.record(
            e.StepCompleted(step.id, (evidence(),), store.put(tree.encode()), dict.fromkeys(step.artifacts, "x"))
        )
    log.record(e.GateStarted(log.state.snapshot))
    for name in log.state.checks:
        log.record(e.CheckJudged(name, evidence("passed", f"ev-{name}")))
    log.record(e.RunEnded("succeeded", "proved", "every check passed", patch=store.put(b"the patch")))
    return log


def _entry(store: ArtifactStore, data: bytes) -> Entry:
    return Entry(0o100644, store.put(data), len(data))
