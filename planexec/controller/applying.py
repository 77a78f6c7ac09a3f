"""Bringing a proven patch into the user's repository, or taking it back: the intent is journalled first, with every
pre-image or with the commit, so that a kill can be mended.

A marker file beside the journal says that something is under way, so that the next command finds it without reading
every run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from planexec.core import events as e
from planexec.core import wire
from planexec.core.errors import ConflictError, UsageError
from planexec.core.state import SUCCEEDED, RunState
from planexec.journal.artifacts import ArtifactStore
from planexec.journal.runlog import RunLog
from planexec.workspace.apply import check, conflicts, perform, recover, reverse
from planexec.workspace.branch import Identity, check_branch, commit_changes, create_branch, points_to
from planexec.workspace.entries import Change
from planexec.workspace.manifest import Manifest, changes
from planexec.workspace.repository import Repository

Step = Callable[[str], None]
_LONGEST_SUBJECT = 72


def apply_patch(log: RunLog, store: ArtifactStore, step: Step | None = None) -> list[str]:
    """Apply the run's patch to the working tree, uncommitted; returns the paths. Raises UsageError, ConflictError.

    Whether it is applied already is seen in the tree: a person may have taken it back by hand.
    """
    state = _proved(log.state)
    made, root = patch_changes(state, store), Path(state.base["repository"])
    if not conflicts(root, reverse(made)):
        raise UsageError(f"the patch of run {state.run_id} is applied already", "nothing is left to do")
    return _perform(log, store, root, made, step, back=False)


def reverse_patch(log: RunLog, store: ArtifactStore, step: Step | None = None) -> list[str]:
    """Take the run's patch back out of the working tree; returns the paths. Raises UsageError, ConflictError."""
    state = _proved(log.state)
    made, root = patch_changes(state, store), Path(state.base["repository"])
    if not conflicts(root, made):
        raise UsageError(f"the patch of run {state.run_id} is not in the tree", "nothing is to be taken back")
    return _perform(log, store, root, reverse(made), step, back=True)


def branch_patch(log: RunLog, store: ArtifactStore, name: str, step: Step | None = None) -> str:
    """Commit the run's patch to the new branch ``name``; returns the commit. Raises UsageError, ConflictError."""
    state = _proved(log.state)
    if state.dirty:
        raise UsageError(
            f"run {state.run_id} began on uncommitted changes, under which no commit can be", "apply it to the tree"
        )
    repository = Repository.open(Path(state.base["repository"]))
    check_branch(repository, name)
    by = Identity.of(repository)
    made = patch_changes(state, store)
    commit = commit_changes(repository, state.base["commit"], made, store, commit_message(state), by)
    _say(step, "committed")
    _mark(log, store)
    log.record(e.BranchIntended(name, commit))
    _say(step, "intended")
    try:
        create_branch(repository, name, commit, by)
    except ConflictError:
        _branched(log, store, "undone")
        raise
    _say(step, "created")
    _branched(log, store, "finished")
    return commit


def recover_apply(log: RunLog, store: ArtifactStore) -> str:
    """Finish or undo what a kill interrupted; returns what became of what, or nothing where there was none."""
    state, told = log.state, ""
    if state.apply == "intended":
        made = wire.decode(store.get(state.apply_changes), list[Change])
        outcome = recover(Path(state.apply_root), made, store)
        log.record(e.ApplyEnded(outcome))
        told = f"apply{' --reverse' if state.apply_reverse else ''} of run {state.run_id} was {outcome}"
    if state.branch_made == "intended":
        told = f"branch '{state.branch}' of run {state.run_id} was {_recover_branch(log)}"
    (markers(store) / log.run_id).unlink(missing_ok=True)
    return told


def markers(store: ArtifactStore) -> Path:
    """The folder of the markers: a file a run whose apply has begun and not ended."""
    return store.folder.parent / "applying"


def patch_changes(state: RunState, store: ArtifactStore) -> list[Change]:
    """The proven patch as changes of files."""
    base, snapshot = (Manifest.decode(store.get(digest)) for digest in (state.base_snapshot, state.snapshot))
    return changes(base, snapshot)


def commit_message(state: RunState) -> str:
    """The goal, then the run and the checks that passed."""
    goal = "".join(letter for letter in " ".join(state.goal.split()) if letter.isprintable()) or "A proven patch"
    subject = goal if len(goal) <= _LONGEST_SUBJECT else f"{goal[: _LONGEST_SUBJECT - 3].rstrip()}..."
    passed = [f"  {name}: {check.verifier}" for name, check in state.checks.items()]
    rest = [goal, ""] if subject != goal else []
    return "\n".join([subject, "", *rest, f"planexec run {state.run_id}; checks that passed:", *passed]) + "\n"


def _proved(state: RunState) -> RunState:
    if state.status != SUCCEEDED:
        raise UsageError(
            f"run {state.run_id} is {state.status}, so it has no proven patch", "planexec status shows what is open"
        )
    if state.settings.get("mode") == "dry-run":
        raise UsageError(
            f"run {state.run_id} was a dry-run, whose patch is never applied", "run it again without --dry-run"
        )
    return state


def _perform(
    log: RunLog, store: ArtifactStore, root: Path, made: Sequence[Change], step: Step | None, *, back: bool
) -> list[str]:
    check(root, made)
    _mark(log, store)
    log.record(e.ApplyIntended(store.put(wire.encode(made)), str(root), back))
    perform(root, made, store, step)
    log.record(e.ApplyEnded("finished"))
    log.checkpoint()
    (markers(store) / log.run_id).unlink(missing_ok=True)
    return [change.path for change in made]


def _mark(log: RunLog, store: ArtifactStore) -> None:
    markers(store).mkdir(exist_ok=True)
    (markers(store) / log.run_id).touch()


def _branched(log: RunLog, store: ArtifactStore, outcome: str) -> None:
    log.record(e.BranchEnded(outcome))
    log.checkpoint()
    (markers(store) / log.run_id).unlink(missing_ok=True)


def _recover_branch(log: RunLog) -> str:
    """Whether the kill came before or after the branch was made; the commit is there in any case."""
    state = log.state
    repository = Repository.open(Path(state.base["repository"]))
    outcome = "finished"
    if points_to(repository, state.branch) != state.branch_commit:
        try:
            create_branch(repository, state.branch, state.branch_commit, Identity("planexec", "planexec@localhost"))
        except ConflictError:
            outcome = "undone"
    log.record(e.BranchEnded(outcome))
    return outcome


def _say(step: Step | None, word: str) -> None:
    if step is not None:
        step(word)
