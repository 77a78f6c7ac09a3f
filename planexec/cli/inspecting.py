"""Commands that look at runs or contracts and run nothing: status, diff, apply, validate."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from planexec.assembly.opened import Opened, patch_of
from planexec.cli.opened import opened
from planexec.cli.text import clean
from planexec.core import wire
from planexec.core.errors import UsageError
from planexec.core.state import RUNNING, RunState
from planexec.journal.runlog import RunLock, RunLog
from planexec.workspace.where import Where

NO_PLAN = "no check names a test, so the built-in planner has no plan; add 'reproduction', or 'tests' to a check"


def status(run_id: str, where: Where, all_runs: bool, revision: int | None, as_json: bool) -> int:
    """The latest run, one run, one revision of it, or the list."""
    with opened(where) as found:
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
            show_run(out, document, brief=True, resume=where.command("resume", document["run_id"]))
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


def diff(run_id: str, where: Where) -> int:
    """The proven patch, as git writes it."""
    with opened(where) as found:
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


def apply(run_id: str, where: Where, reverse: bool, branch: str, as_json: bool) -> int:
    """Apply the proven patch of a run to the tree, take it back, or commit it to a new branch."""
    from planexec.controller import applying

    if reverse and branch:
        raise UsageError("--reverse does not go with --branch", "git branch -D deletes a branch")
    with opened(where) as found, _held(found, run_id) as log:
        _refuse_open(log.state, live=False)
        told: dict[str, Any] = {"run_id": log.run_id, "applied": not reverse and not branch}
        if branch:
            commit = applying.branch_patch(log, found.store, branch)
            told |= {"branch": branch, "commit": commit}
            line = f"committed to the new branch {branch} as {commit[:12]}; the work tree is as it was"
        elif reverse:
            told["files"] = applying.reverse_patch(log, found.store)
            line = f"taken back from {', '.join(told['files'])}"
        else:
            told["files"] = applying.apply_patch(log, found.store)
            line = f"applied to {', '.join(told['files'])}; nothing is committed"
    if as_json:
        write_json(told)
    else:
        sys.stderr.write(f"planexec: {clean(line)}\n")
    return 0


@contextmanager
def _held(found: Opened, run_id: str) -> Iterator[RunLog]:
    """A run's log, for this process alone."""
    log = found.log(run_id)
    lock = RunLock(found.folder, log.run_id)
    if not lock.acquire():
        raise UsageError(f"another process works on run {log.run_id}", "wait for it to end")
    try:
        yield RunLog(found.journal, log.run_id)  # read again: it may have changed before the lock was ours
    finally:
        lock.release()


def validate(path: Path | None, schema: bool, as_json: bool) -> int:
    """Read a contract and say how its checks are bound; or print the schema that editors check contracts by."""
    if schema:
        return _schema(path)
    if path is None:
        raise UsageError("no contract given", "give the path of a YAML file, or --schema for the language itself")
    from planexec.assembly.contracts import load_contract

    contract, _ = load_contract(path)
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
