"""The JSON documents: stable keys, the first seed's state with the rest beside it (R28)."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

import msgspec

from planexec.core import events as e
from planexec.core.plan import as_json, critical_path, progress
from planexec.core.state import RUNNING, RunState
from planexec.core.usage import Spent
from planexec.journal.chain import Stored

History = list[tuple[Stored, e.AnyEvent]]


def run_document(state: RunState, history: History, patch: dict[str, Any], *, live: bool) -> dict[str, Any]:
    """Everything about a run. ``live`` says that a process is working on it at this moment."""
    status = "interrupted" if state.status == RUNNING and not live else state.status
    return {
        "run_id": state.run_id,
        "status": status,
        "reason": state.reason,
        "message": state.message,
        "goal": state.goal,
        "scope": state.scope,
        "revision": state.revision,
        "replans_left": state.replans_left,
        "base": state.base,
        "settings": state.settings,
        "baseline": state.baseline,
        "contract_digest": state.contract_digest,
        "checks": {name: _check(check) for name, check in state.checks.items()},
        "required_checks": state.required_checks,
        "facts": [_fact(fact) for fact in state.facts],
        "steps": [_step(state, step) for step in as_json(state.steps)],
        "observations": _observations(history),
        "plan_history": [as_json(steps) for steps in state.plan_history],
        "revisions": [_revision(revision) for revision in msgspec.to_builtins(state.revisions)],
        "diff": patch,
        "questions": list(state.questions),
        "report": state.report,
        "applied": state.apply,
        "branch": {"name": state.branch, "commit": state.branch_commit, "outcome": state.branch_made},
        "dirty": list(state.dirty),
        "usage": usage(state),
        "metrics": metrics(state, history),
    }


def usage(state: RunState) -> dict[str, Any]:
    """What asking models took, in all and by step (or ``planning``) and model. Tokens and US dollars are those
    that are known: ``unmetered`` and ``unpriced`` count the questions without them, and ``cost`` is None where no
    question has a price.
    """
    by_step = {
        step or "planning": {model: _spent(spent) for model, spent in models.items()}
        for step, models in state.usage.items()
    }
    return {**_spent(state.spent()), "by_step": by_step}


def _spent(spent: Spent) -> dict[str, Any]:
    return {
        "calls": spent.questions,
        "requests": spent.requests,
        "tokens": spent.tokens,
        "sent": spent.sent,
        "cached": spent.cached,
        "received": spent.received,
        "cost": None if spent.questions and spent.unpriced == spent.questions else round(spent.cost, 6),
        "unmetered": spent.unmetered,
        "unpriced": spent.unpriced,
        "seconds": round(spent.seconds, 3),
    }


def metrics(state: RunState, history: History) -> dict[str, Any]:
    """What one run's journal tells about itself."""
    kinds = Counter(type(event).__name__ for _, event in history)
    times = [datetime.fromisoformat(stored.at) for stored, _ in history]
    return {
        "events": len(history),
        "seconds": max(0.0, round((times[-1] - times[0]).total_seconds(), 3)) if times else 0.0,
        "actions": kinds["ActionStarted"],
        "observations": kinds["ObservationRecorded"],
        "facts": len(state.facts),
        "retries": kinds["StepRetried"],
        "replans": sum(revision.spent_budget for revision in state.revisions),
        "refused_proposals": kinds["ProposalRefused"],
        "progress": round(progress(state.steps), 3),
        "critical_path": critical_path(state.live()),
    }


def _check(check: Any) -> dict[str, Any]:
    evidence = check.evidence
    return {
        "verifier": check.verifier,
        "status": check.status,
        "evidence": msgspec.to_builtins(evidence) if evidence else None,
    }


def _fact(fact: e.Fact) -> dict[str, Any]:
    return {"claim": fact.claim, "evidence_ref": fact.evidence_ref, **msgspec.to_builtins(fact)}


def _step(state: RunState, step: dict[str, Any]) -> dict[str, Any]:
    record = state.record(step["id"])
    return {
        **step,
        "attempts": record.attempt,
        "actions": [f"act-{step['id']}-{n + 1}" for n in range(record.actions)],
        "observations": [f"obs-{step['id']}-{n + 1}" for n in range(record.observations)],
        "evidence": msgspec.to_builtins(record.evidence),
        "failure": msgspec.to_builtins(record.failure) if record.failure else None,
    }


def _revision(revision: dict[str, Any]) -> dict[str, Any]:
    changed = revision.pop("changed")
    changes = {name: {"old": old, "new": new} for name, (old, new) in changed.items()}
    return {**revision, "changed_done_when": changes, "duplicated_side_effects": []}


def _observations(history: History) -> list[dict[str, Any]]:
    tools = {event.action: event.tool for _, event in history if isinstance(event, e.ActionStarted)}
    return [
        {
            "id": event.observation,
            "step_id": event.step,
            "action": event.action,
            "tool": tools.get(event.action, ""),
            "ok": event.ok,
            "summary": event.summary,
            "artifact": event.artifact,
        }
        for _, event in history
        if isinstance(event, e.ObservationRecorded)
    ]
