"""What a person is told when a run ends without a proof (R21): what is done, what was seen last, what is open, what
to decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from planexec.core import decide as d
from planexec.core import events as e
from planexec.core import state as s
from planexec.core.plan import Status
from planexec.journal.artifacts import ArtifactStore


def report(
    state: s.RunState, decision: d.Conclude, store: ArtifactStore, observed: Sequence[e.ObservationRecorded]
) -> dict[str, Any]:
    """The report as plain values; of a success, whose proof is its evidence, only how the patch was found."""
    if decision.status == s.SUCCEEDED:
        return {"search": _last_search(store, observed, ("tried", "seconds", "budget", "surviving", "disagreeing"))}
    open_checks = [name for name, check in state.checks.items() if check.status != s.PASSED]
    risks = [f"check '{name}' is not proved" for name in open_checks]
    if state.replans_left == 0:
        risks.append("no replan is left")
    last = observed[-1] if observed else None
    return {
        "completed": [step.id for step in state.steps if step.status is Status.COMPLETED],
        "unfinished": [step.id for step in state.live() if step.status is not Status.COMPLETED],
        "last_observation": {"id": last.observation, "step": last.step, "summary": last.summary} if last else {},
        "search": _last_search(store, observed, _KEPT),
        "remaining_risks": risks,
        "questions": list(decision.questions),
    }


def _last_search(
    store: ArtifactStore, observed: Sequence[e.ObservationRecorded], keys: Sequence[str]
) -> dict[str, Any]:
    """What was tried last to find the fault or a patch, and where the suspicion lies."""
    for event in reversed(observed):
        stored: dict[str, Any] = msgspec.json.decode(store.get(event.artifact))
        data = stored.get("data", {})
        if data.get("suspects"):
            kept = {key: data[key] for key in keys if key in data}
            return {"id": event.observation, "summary": event.summary, **kept}
    return {}


_KEPT = ("suspects", "tried", "generated", "seconds", "budget", "ended", "surviving", "disagreeing", "by_template")
