"""What a run spent on searching for a patch, and which patches it gave up."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from planexec.core import events as e
from planexec.core import wire
from planexec.core.contract import Contract
from planexec.core.state import BUDGET, EDIT, SEARCH, UNDO, RunState
from planexec.journal.artifacts import ArtifactStore
from planexec.journal.chain import Stored

RESERVED = 0.4
"""The part of the budget that a search among suspected lines leaves for a wider one."""


def budget_of(contract: Contract, state: RunState) -> float:
    """Seconds for all searches of the run together: ``--budget``, else the contract's."""
    return float(state.settings.get(BUDGET) or contract.limits.repair_seconds)


def seconds_searched(history: Iterable[tuple[Stored, e.AnyEvent]], store: ArtifactStore) -> float:
    """How long patches were searched for: what each search says of itself; of one that a signal stopped, the time up
    to that. After a kill nobody knows, and nothing is counted.
    """
    total, began = 0.0, None
    for stored, event in history:
        if isinstance(event, e.ActionStarted):
            began = datetime.fromisoformat(stored.at) if event.tool == SEARCH else None
        elif isinstance(event, e.ObservationRecorded) and began is not None:
            stored_result: dict[str, Any] = wire.decode(store.get(event.artifact))
            found = stored_result.get("data", {})
            total, began = total + float(found.get("seconds", 0.0)), None
        elif isinstance(event, e.RunInterrupted) and began is not None:
            total, began = total + max(0.0, (datetime.fromisoformat(stored.at) - began).total_seconds()), None
        elif isinstance(event, e.RunResumed):
            began = None
    return total


def given_up(history: Iterable[tuple[Stored, e.AnyEvent]]) -> frozenset[str]:
    """Digests of the contents that a step put into a file and took back with ``undo``. What it put in before a kill
    and never judged is not among them.
    """
    gone: set[str] = set()
    put_in: list[str] = []
    for _, event in history:
        if isinstance(event, e.StepStarted):
            put_in = []
        elif isinstance(event, e.ActionStarted) and event.tool == EDIT and event.arguments.get("content"):
            put_in.append(event.arguments["content"])
        elif isinstance(event, e.ActionStarted) and event.tool == UNDO:
            gone.update(put_in)
            put_in = []
    return frozenset(gone)
