"""Bringing a proven patch into the user's tree: the intent is journalled with every pre-image first, so a kill can
be mended.

A marker file beside the journal says that an apply is under way, so that the next command finds it without reading
every run.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from planexec.core import events as e
from planexec.core import wire
from planexec.core.errors import UsageError
from planexec.core.state import SUCCEEDED, RunState
from planexec.journal.artifacts import ArtifactStore
from planexec.journal.runlog import RunLog
from planexec.workspace.apply import check, conflicts, perform, recover, reverse
from planexec.workspace.entries import Change
from planexec.workspace.manifest import Manifest, changes


def apply_patch(log: RunLog, store: ArtifactStore, step: Callable[[str], None] | None = None) -> list[str]:
    """Apply the run's patch to the working tree, uncommitted; returns the paths. Raises UsageError, ConflictError."""
    state = log.state
    if state.status != SUCCEEDED:
        raise UsageError(
            f"run {state.run_id} is {state.status}, so it has no proven patch", "planexec status shows what is open"
        )
    if state.settings.get("mode") == "dry-run":
        raise UsageError(
            f"run {state.run_id} was a dry-run, whose patch is never applied", "run it again without --dry-run"
        )
    made = patch_changes(state, store)
    root = Path(state.base["repository"])
    if state.apply == "finished" and not conflicts(root, reverse(made)):
        raise UsageError(f"the patch of run {state.run_id} is applied already", "nothing is left to do")
    check(root, made)
    marker = markers(store) / log.run_id
    marker.parent.mkdir(exist_ok=True)
    marker.touch()
    log.record(e.ApplyIntended(store.put(wire.encode(made)), str(root)))
    perform(root, made, store, step)
    log.record(e.ApplyEnded("finished"))
    log.checkpoint()
    marker.unlink(missing_ok=True)
    return [change.path for change in made]


def recover_apply(log: RunLog, store: ArtifactStore) -> str:
    """Finish or undo an apply that a kill interrupted; returns which, or nothing where there was none."""
    state, outcome = log.state, ""
    if state.apply == "intended":
        made = wire.decode(store.get(state.apply_changes), list[Change])
        outcome = recover(Path(state.apply_root), made, store)
        log.record(e.ApplyEnded(outcome))
    (markers(store) / log.run_id).unlink(missing_ok=True)
    return outcome


def markers(store: ArtifactStore) -> Path:
    """The folder of the markers: a file a run whose apply has begun and not ended."""
    return store.folder.parent / "applying"


def patch_changes(state: RunState, store: ArtifactStore) -> list[Change]:
    """The proven patch as changes of files."""
    base, snapshot = (Manifest.decode(store.get(digest)) for digest in (state.base_snapshot, state.snapshot))
    return changes(base, snapshot)
