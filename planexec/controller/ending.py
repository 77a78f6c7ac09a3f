"""What a person is told when a run ends without a proof (R21): what is done, what was seen last, what is open, what
to decide.
"""

from __future__ import annotations

from typing import Any

import msgspec

from planexec.core import decide as d
from planexec.core import state as s
from planexec.core.plan import Status
from planexec.journal.artifacts import ArtifactStore


def report(state: s.RunState, decision: d.Conclude, store: ArtifactStore) -> dict[str, Any]:
    """The report as plain values; empty for a success, whose proof is the checks' evidence."""
    if decision.status == s.SUCCEEDED:
        return {}
    completed = [step.id for step in state.steps if step.status is Status.COMPLETED]
    unfinished = [step.id for step in state.live() if step.status is not Status.COMPLETED]
    failed = next((step.id for step in reversed(state.steps) if state.record(step.id).failure), "")
    seen = last_observation(state, failed, store)
    open_checks = [name for name, check in state.checks.items() if check.status != s.PASSED]
    risks = [f"check '{name}' is not proved" for name in open_checks]
    if state.replans_left == 0:
        risks.append("no replan is left")
    return {
        "completed": completed,
        "unfinished": unfinished,
        "last_observation": seen,
        "remaining_risks": risks,
        "questions": list(decision.questions),
    }


def last_observation(state: s.RunState, step: str, store: ArtifactStore) -> dict[str, Any]:
    """The last thing seen in the step that failed, or in the last one that saw anything; with its suspects where it
    had some.
    """
    names = (step, *(each.id for each in reversed(state.steps)))
    name = next((name for name in names if state.record(name).last_observation), "")
    if not name:
        return {}
    record = state.record(name)
    stored: dict[str, Any] = msgspec.json.decode(store.get(record.last_artifact))
    data = stored.get("data", {})
    kept = {key: data[key] for key in ("suspects", "tried", "generated", "ended", "by_template") if key in data}
    return {"step": name, "id": record.last_observation, "tool": stored["tool"], "summary": stored["summary"], **kept}
