"""A run from its first event to its end, and the proven patch to where it was asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from planexec.assembly.beginning import begin, take_up
from planexec.assembly.choices import UNSAID, ModelChoice
from planexec.assembly.documents import run_document
from planexec.assembly.opened import patch_of
from planexec.assembly.parts import APPLY, BRANCH, Run, Settings, prepared, resumed
from planexec.controller.applying import apply_patch, branch_patch
from planexec.core.contract import Contract
from planexec.core.errors import ConflictError
from planexec.core.state import BLOCKED, FAILED, SUCCEEDED, WAITING, RunState
from planexec.journal.runlog import events_of
from planexec.workspace.where import Where


@dataclass(frozen=True)
class Ended:
    """A run at its end; ``conflict`` is what stood in the way of applying its patch."""

    state: RunState
    document: dict[str, Any]
    conflict: str

    @property
    def exit_code(self) -> int:
        """The verdict as an exit code (docs/contract.md holds the table)."""
        if self.conflict:
            return ConflictError.exit_code
        if self.state.status == BLOCKED:
            return 5 if self.state.environment else 3
        if self.state.status == FAILED:
            return 6 if self.state.reason == "safety" else 1
        return {SUCCEEDED: 0, WAITING: 4}.get(self.state.status, 1)


def drive(
    contract: Contract,
    text: str,
    settings: Settings,
    progress: Callable[[str], None],
    ready: Callable[[Run], None],
) -> Ended:
    """A new run. ``ready`` is handed its parts before the first event. Raises PlanexecError for what cannot begin."""
    with prepared(contract, text, settings, progress) as run:
        ready(run)
        begin(run, contract, settings, text)
        return _finished(run)


def go_on(
    name: str,
    where: Where,
    progress: Callable[[str], None],
    ready: Callable[[Run], None],
    models: ModelChoice = UNSAID,
    raised: Mapping[str, float] = MappingProxyType({}),
) -> Ended:
    """An interrupted run, or one that ended at a limit which ``raised`` gives anew (see ``resumed``)."""
    with resumed(name, where, progress, models, raised) as run:
        ready(run)
        take_up(run, raised)
        return _finished(run)


def _finished(run: Run) -> Ended:
    """Run to the end and apply what is proved."""
    state = run.controller.run()
    conflict = _apply(run) if state.status == SUCCEEDED else ""
    state = run.log.state
    history = events_of(run.log.journal, state.run_id)
    return Ended(state, run_document(state, history, patch_of(state, run.store), live=True), conflict)


def _apply(run: Run) -> str:
    """Apply the proven patch where that was asked for; what stands in the way is told, and the patch is kept."""
    chosen, run_id = run.log.state.settings, run.log.run_id
    try:
        if chosen.get("mode") == APPLY:
            apply_patch(run.log, run.store)
        elif chosen.get("mode") == BRANCH:
            branch_patch(run.log, run.store, chosen["branch"])
    except ConflictError as error:
        if chosen.get("mode") == BRANCH:
            later = f"{run.where.command('apply', run_id, '--branch', 'NAME')} commits it to another branch"
            return f"the patch is proved but not committed: {error.message}; {later}"
        later = f"{run.where.command('apply', run_id)} applies it later"
        return f"the patch is proved but not applied: {error.message}; {later}"
    return ""
