"""What a person is told when a run ends without a proof (R21): what is done, what was seen last, what was tried, where
the suspicion lies, what is open, what could be added, what to decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from planexec.controller.hints import hints
from planexec.core import decide as d
from planexec.core import events as e
from planexec.core import state as s
from planexec.core import wire
from planexec.core.contract import Contract
from planexec.core.plan import Status
from planexec.journal.artifacts import ArtifactStore

SHOWN_BROKEN = 12

_OF_SUCCESS = ("tried", "seconds", "budget", "surviving", "disagreeing")
_LAST = ("suspects", "tried", "generated", "seconds", "budget", "ended", "surviving", "disagreeing", "by_template")
_EACH = (
    "reach", "tried", "generated", "seconds", "budget", "bounds", "ended", "left", "surviving", "disagreeing",
    "by_template", "outcomes", "ground", "reused",
)  # fmt: skip


def report(
    contract: Contract,
    state: s.RunState,
    decision: d.Conclude,
    store: ArtifactStore,
    observed: Sequence[e.ObservationRecorded],
) -> dict[str, Any]:
    """The report as plain values; of a success, whose proof is its evidence, only how the patch was found."""
    if decision.status == s.SUCCEEDED:
        return {"search": _last_search(store, observed, _OF_SUCCESS)}
    open_checks = [name for name, check in state.checks.items() if check.status != s.PASSED]
    risks = [f"check '{name}' is not proved" for name in open_checks]
    if state.replans_left == 0:
        risks.append("no replan is left")
    last = observed[-1] if observed else None
    search = _last_search(store, observed, _LAST)
    searches = _searches(state, store, observed)
    ended = msgspec.structs.replace(state, message=decision.message)
    return {
        "completed": [step.id for step in state.steps if step.status is Status.COMPLETED],
        "unfinished": [step.id for step in state.live() if step.status is not Status.COMPLETED],
        "last_observation": {"id": last.observation, "step": last.step, "summary": last.summary} if last else {},
        "search": search,
        "searches": searches,
        "remaining_risks": risks,
        "hints": hints(contract, ended, searches, search.get("suspects", [])),
        "questions": list(decision.questions),
    }


def _last_search(
    store: ArtifactStore, observed: Sequence[e.ObservationRecorded], keys: Sequence[str]
) -> dict[str, Any]:
    """What was tried last to find the fault or a patch, and where the suspicion lies."""
    for event in reversed(observed):
        data = _data(store, event)
        if data.get("suspects"):
            return {"id": event.observation, "summary": event.summary, **_kept(data, keys)}
    return {}


def _searches(
    state: s.RunState, store: ArtifactStore, observed: Sequence[e.ObservationRecorded]
) -> list[dict[str, Any]]:
    """Every search for a patch, with what its survivors broke."""
    found: list[dict[str, Any]] = []
    for event in observed:
        data = _data(store, event)
        if "reach" in data and "by_template" in data:
            unmet = [f"check '{each.about}'" for each in state.record(event.step).evidence if each.status == "failed"]
            found.append({"id": event.observation, "step": event.step, **_kept(data, _EACH), "broke": unmet})
        elif data.get("broken") and found and found[-1]["step"] == event.step:
            found[-1]["broke"] = list(dict.fromkeys([*data["broken"], *found[-1]["broke"]]))[:SHOWN_BROKEN]
    return found


def _data(store: ArtifactStore, event: e.ObservationRecorded) -> dict[str, Any]:
    stored: dict[str, Any] = wire.decode(store.get(event.artifact))
    data: dict[str, Any] = stored.get("data", {})
    return data


def _kept(data: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: data[key] for key in keys if key in data}
