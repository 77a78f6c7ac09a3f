"""Commands that look at runs or contracts and run nothing: status, diff, apply, validate."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from planexec.cli.opened import Opened, opened, patch_of
from planexec.core import wire
from planexec.core.errors import UsageError
from planexec.core.state import RUNNING, RunState

NO_PLAN = "no check names a test, so the built-in planner has no plan; add 'reproduction', or 'tests' to a check"


def status(run_id: str, repo: Path, all_runs: bool, revision: int | None, as_json: bool) -> int:
    """The latest run, one run, one revision of it, or the list."""
    with opened(repo) as found:
        if all_runs:
            _list(found, as_json)
            return 0
        log = found.log(run_id)
        document = found.document(log.state)
        if revision is not None:
            document = _at_revision(document, revision)
        if as_json:
            write_json(document)
            return 0
        from planexec.cli.render import page, show_run, show_steps

        out = page()
        if revision is not None:
            show_steps(out, f"Plan {revision} of run {document['run_id']}", document["steps"])
            why = document["revisions"][0]
            out.line(f"  {why['reason']}")
        else:
            show_run(out, document, brief=True)
    return 0


def _at_revision(document: dict[str, Any], revision: int) -> dict[str, Any]:
    """The document with one revision's steps and lineage only."""
    if revision > document["revision"]:
        raise UsageError(
            f"run {document['run_id']} has no plan {revision}", f"its plans are 1 to {document['revision']}"
        )
    past = document["plan_history"]
    steps = past[revision - 1] if revision <= len(past) else document["steps"]
    lineage = [each for each in document["revisions"] if each["number"] == revision]
    return {
        **document,
        "revision": revision,
        "steps": steps,
        "plan_history": past[: revision - 1],
        "revisions": lineage,
    }


def _list(found: Opened, as_json: bool) -> None:
    rows = []
    for row in found.journal.runs():
        state = found.log(row.run_id).state
        live = found.live(row.run_id)
        word = "interrupted" if state.status == "running" and not live else state.status
        rows.append(
            {
                "run_id": row.run_id,
                "created_at": row.created_at,
                "status": word,
                "revision": state.revision,
                "goal": state.goal,
            }
        )
    if as_json:
        write_json({"runs": rows})
        return
    from planexec.cli.render import page

    page().table(["run", "started", "status", "plan", "goal"], [[str(value) for value in row.values()] for row in rows])


def diff(run_id: str, repo: Path) -> int:
    """The proven patch, as git writes it."""
    with opened(repo) as found:
        state = found.log(run_id).state
        _refuse_open(state, live=found.live(state.run_id))
        if not state.patch:
            raise UsageError(
                f"run {state.run_id} is {state.status}, so it has no proven patch", "planexec status shows what is open"
            )
        if sys.stdout.isatty():
            from planexec.cli.render import page

            page().patch(patch_of(state, found.store)["patch"])
        else:
            sys.stdout.buffer.write(found.store.get(state.patch))
    return 0


def _refuse_open(state: RunState, *, live: bool) -> None:
    """A run that has not ended has no proven patch yet."""
    if state.status == RUNNING:
        word, hint = (
            ("still going on", "wait for it to end") if live else ("interrupted", "planexec resume takes it up")
        )
        raise UsageError(f"run {state.run_id} is {word}, so it has no proven patch", hint)


def apply(run_id: str, repo: Path, as_json: bool) -> int:
    """Apply the proven patch of a run."""
    from planexec.controller.applying import apply_patch
    from planexec.journal.runlog import RunLock

    with opened(repo) as found:
        log = found.log(run_id)
        lock = RunLock(found.folder, log.run_id)
        if not lock.acquire():
            raise UsageError(f"another process works on run {log.run_id}", "wait for it to end")
        try:
            _refuse_open(log.state, live=False)
            paths = apply_patch(log, found.store)
        finally:
            lock.release()
        if as_json:
            write_json({"run_id": log.run_id, "applied": True, "files": paths})
        else:
            sys.stderr.write(f"planexec: applied to {', '.join(paths)}; nothing is committed\n")
    return 0


def validate(path: Path | None, schema: bool, as_json: bool) -> int:
    """Read a contract and say how its checks are bound; or print the schema that editors check contracts by."""
    if schema:
        return _schema(path)
    if path is None:
        raise UsageError("no contract given", "give the path of a YAML file, or --schema for the language itself")
    from planexec.assembly.contracts import load_contract

    contract = load_contract(path)
    note = "" if contract.names_tests else NO_PLAN
    if as_json:
        write_json(
            {
                "valid": True,
                "goal": contract.goal,
                "digest": contract.digest,
                "required_checks": contract.required_checks,
                "notes": [note] if note else [],
            }
        )
        return 0
    from planexec.cli.render import page

    out = page()
    out.line(f"{path}: valid")
    out.table(["check", "verifier", "judged by"], [[c.name, c.verifier, c.kind] for c in contract.checks.values()])
    if note:
        sys.stderr.write(f"planexec: {note}\n")
    return 0


def _schema(path: Path | None) -> int:
    if path is not None:
        raise UsageError("--schema prints the schema of every contract", "leave the path out, or check it by itself")
    from planexec.core.contract_schema import contract_schema

    write_json(contract_schema())
    return 0


def write_json(document: Any) -> None:
    """One document on standard output."""
    sys.stdout.flush()
    sys.stdout.buffer.write(wire.indented(document) + b"\n")
    sys.stdout.buffer.flush()
