"""``verify_diff_scope``: the patch stays where the contract allows it, is text, and is tidy (R24)."""

from __future__ import annotations

from typing import Any

from planexec.core.paths import allows, is_test_path, matches
from planexec.verifiers.interface import ERROR, FAILED, PASSED, Request, Verdict
from planexec.workspace.gitview import render
from planexec.workspace.manifest import Change

MAX_FILES = 20
MAX_LINES = 1000
LINK = 0o120000


def verify_diff_scope(request: Request) -> Verdict:
    """Paths first, then what git says of the diff."""
    candidate, bench = request.candidate, request.bench
    for change in candidate.changes:
        if objection := _path_objection(request, change):
            return Verdict(FAILED, f"'{change.path}' {objection}", {"path": change.path})
    if not candidate.source:
        return Verdict(FAILED, "no source was changed")
    view = render(candidate.changes, bench.store, bench.harness.sandbox)
    detail: dict[str, Any] = {"files": view.files, "added": view.added, "removed": view.removed, "status": view.status}
    detail |= {"git diff --check": view.check_output or "clean", "patch": view.patch}
    if not view.check_ok:
        return Verdict(FAILED, f"git diff --check: {view.check_output.splitlines()[0]}", detail)
    if sorted(line[3:] for line in view.status) != sorted(change.path for change in candidate.changes):
        return Verdict(ERROR, "git status and the snapshot disagree about what changed", detail)
    arguments = request.check.arguments
    for name, value, limit in (
        ("files", len(candidate.changes), arguments.max_files or MAX_FILES),
        ("lines", view.added + view.removed, arguments.max_lines or MAX_LINES),
    ):
        if value > limit:
            return Verdict(FAILED, f"{value} {name} changed, more than {limit}", detail)
    where = ", ".join(change.path for change in candidate.changes)
    return Verdict(PASSED, f"+{view.added} -{view.removed} in {where}; git diff --check is clean", detail)


def _path_objection(request: Request, change: Change) -> str:
    scope, frozen = request.contract.scope, request.candidate.frozen
    if change.path in frozen.files:
        if change.before is not None:
            return "is a test of the base that was changed"
        ours = change.after is not None and change.after.digest == frozen.files[change.path]
        return "" if ours else "is the frozen regression test, and was changed"
    if is_test_path(change.path):
        return "belongs to the tests or their set-up, which come from the base"
    if not allows(change.path, scope.allow, scope.deny):
        return "is outside the contract's scope"
    if matches(change.path, request.contract.forbidden):
        return "is forbidden by the contract"
    modes = {entry.mode for entry in (change.before, change.after) if entry is not None}
    if LINK in modes:
        return "is a link"
    if len(modes) > 1:
        return "changed its mode"
    content = request.bench.store.get(change.after.digest) if change.after else b""
    return "is not text" if b"\0" in content else ""
