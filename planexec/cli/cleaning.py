"""``planexec clean``: frees what runs left, and never what a live run uses or an interrupted one needs to go on."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from planexec.assembly.opened import Opened
from planexec.assembly.parts import cache_folder
from planexec.cli.inspecting import write_json
from planexec.cli.opened import opened
from planexec.core.counting import count_of
from planexec.core.errors import PlanexecError, UsageError
from planexec.core.state import ENDED, RUNNING
from planexec.journal.journal import FILE_NAME, Journal
from planexec.journal.runlog import RunLock, RunLog, resolve
from planexec.journal.sweeping import sweep, unreferred
from planexec.workspace.leftovers import Leftover, bytes_in, copies, kept_copies, temporary, throwaways
from planexec.workspace.state import repository_root
from planexec.workspace.where import Where

_LIVE = "a process works on it"
_UNITS = ("bytes", "kB", "MB", "GB")


@dataclass(frozen=True)
class Request:
    """What the command line asked for: runs by name, all ended runs, an age in days, whether only to look."""

    names: tuple[str, ...] = ()
    ended: bool = False
    days: float = 0.0
    dry_run: bool = False


@dataclass
class Account:
    """What was, or would be, freed, and what was kept and why."""

    freed: list[dict[str, Any]] = field(default_factory=list)
    kept: list[dict[str, Any]] = field(default_factory=list)

    def free(self, kind: str, name: str, size: int) -> None:
        """One thing that is freed."""
        self.freed.append({"kind": kind, "name": name, "bytes": size})

    def keep(self, kind: str, name: str, why: str) -> None:
        """One thing that stays."""
        self.kept.append({"kind": kind, "name": name, "why": why})


def clean(request: Request, where: Where, as_json: bool) -> int:
    """Free, or say what would be freed."""
    folder, account = where.folder(), Account()
    with ExitStack() as stack:
        found = stack.enter_context(opened(where)) if (folder / FILE_NAME).exists() else None
        if found is None and request.names:
            raise UsageError("there is no run in this repository yet", "nothing is to be forgotten")
        forgotten = _runs(found, request, account) if found else []
        known = {row.run_id for row in found.journal.runs()} if found else set()
        cache = cache_folder()
        here = where.repo.resolve()
        found_in_cache = (*copies(cache, folder, known), *kept_copies(cache, repository_root(here)))
        for leftover in (*found_in_cache, *temporary(), *throwaways(cache, here)):
            _leftover(leftover, request, account)
        if found is not None:
            _artifacts(found, forgotten, request, account)
    _told(account, request, as_json)
    return 0


def _runs(found: Opened, request: Request, account: Account) -> list[str]:
    """Forget the named runs, and with ``--runs`` the ended ones."""
    named = [resolve(found.journal, name) for name in request.names]
    chosen = list(named)
    if request.ended:
        for row in found.journal.runs():
            old = _days_since(found.journal.read(row.run_id, after=row.last_seq - 1)[-1].at) >= request.days
            if row.run_id not in named and old and found.log(row.run_id).state.status in ENDED:
                chosen.append(row.run_id)
    forgotten = []
    for run_id in dict.fromkeys(chosen):
        lock = RunLock(found.folder, run_id)
        if not lock.acquire():
            account.keep("run", run_id, _LIVE)
            continue
        try:
            if not request.dry_run:
                found.journal.forget(run_id)
        finally:
            lock.release()
        forgotten.append(run_id)
        account.free("run", run_id, 0)
    return forgotten


def _leftover(leftover: Leftover, request: Request, account: Account) -> None:
    try:
        if leftover.age < request.days:
            return
        if why := _needed(leftover):
            account.keep(leftover.kind, leftover.name, why)
            return
        size = bytes_in(leftover.folder)
        if request.dry_run:
            with leftover.hold() as free:
                pass
        else:
            free = leftover.remove()
    except OSError as error:
        account.keep(leftover.kind, leftover.name, f"{error.strerror}")
        return
    if free:
        account.free(leftover.kind, str(leftover.folder), size)
    else:
        account.keep(leftover.kind, leftover.name, _LIVE)


def _needed(leftover: Leftover) -> str:
    """A throwaway repository holds all of its runs: one that was interrupted needs it."""
    state = leftover.folder / ".git" / "planexec"
    if leftover.kind != "throwaway" or not (state / FILE_NAME).exists():
        return ""
    try:
        with Journal.open(state, create=False) as journal:
            open_runs = [r.run_id for r in journal.runs() if RunLog(journal, r.run_id).state.status == RUNNING]
    except PlanexecError as error:
        return error.message
    return f"run {open_runs[0]} in it was interrupted" if open_runs else ""


def _artifacts(found: Opened, forgotten: list[str], request: Request, account: Account) -> None:
    if request.dry_run:
        swept = unreferred(found.journal, found.store, forgotten, request.days)
    else:
        done = sweep(found.journal, found.store, request.days)
        if done is None:
            account.keep("artifacts", str(found.store.folder), "a run of this repository is going on")
            return
        swept = done
    if swept.paths:
        account.free("artifacts", count_of(len(swept.paths), "file"), swept.size)


def _told(account: Account, request: Request, as_json: bool) -> None:
    total = sum(each["bytes"] for each in account.freed)
    if as_json:
        write_json({"dry_run": request.dry_run, "bytes": total, "freed": account.freed, "kept": account.kept})
        return
    from planexec.cli.render import page

    out = page()
    out.line(f"{'would free' if request.dry_run else 'freed'} {_size(total)}")
    rows = [
        [each["kind"], _size(each["bytes"]) if each["kind"] != "run" else "-", each["name"]] for each in account.freed
    ]
    out.table(["kind", "size", "what"], rows)
    for each in account.kept:
        out.line(f"  kept: {each['kind']} {each['name']}: {each['why']}")


def _size(count: float) -> str:
    unit = 0
    while count >= 1000 and unit < len(_UNITS) - 1:
        count, unit = count / 1000, unit + 1
    return f"{count:.0f} {_UNITS[unit]}" if unit == 0 else f"{count:.1f} {_UNITS[unit]}"


def _days_since(at: str) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(at)).total_seconds() / 86400
