"""What a person reads of a run; the same content as tables on a terminal and as plain lines in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Protocol, TextIO

from planexec.cli.live import measured
from planexec.cli.text import clean
from planexec.core.durations import told
from planexec.core.state import BUDGET

_SHOWN_DIRTY = 10


class Page(Protocol):
    """Where a report is written. Two ways: ``PlainPage`` here, ``RichPage`` for terminals."""

    def heading(self, text: str) -> None:
        """A heading with an empty line before it."""
        ...

    def line(self, text: str, style: str = "") -> None:
        """One paragraph; ``style`` is a status word or a colour."""
        ...

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Rows under columns."""
        ...

    def patch(self, text: str) -> None:
        """A patch."""
        ...


class PlainPage:
    """A pipe: no colour, no boxes, no wrapping; two spaces between columns."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def heading(self, text: str) -> None:
        """A heading with an empty line before it."""
        self.stream.write(f"\n{clean(text)}\n")

    def line(self, text: str, style: str = "") -> None:
        """One line."""
        self.stream.write(f"{clean(text)}\n")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A row a line, without the heads."""
        cleaned = [[clean(cell) for cell in row] for row in rows]
        widths = [max((len(row[n]) for row in cleaned), default=0) for n in range(len(columns))]
        for row in cleaned:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            self.stream.write(f"  {'  '.join(cells)}".rstrip() + "\n")

    def patch(self, text: str) -> None:
        """The patch as it is."""
        self.stream.write(clean(text, keep_lines=True).rstrip("\n") + "\n")


def page(stream: TextIO | None = None) -> Page:
    """The page that fits the stream: standard output without one."""
    stream = stream or sys.stdout
    if not stream.isatty():
        return PlainPage(stream)
    from planexec.cli.richpage import RichPage  # a pipe need not pay for it

    return RichPage(stream)


def show_run(page: Page, document: dict[str, Any], *, brief: bool = False, resume: str = "") -> None:
    """A whole run: verdict, revisions with their steps, facts, checks, patch or questions. ``resume`` is the command
    that goes on with it.
    """
    page.line(f"run {document['run_id']}: {document['status']}", document["status"])
    if document["message"]:
        page.line(f"  {document['message']}")
    if document["status"] == "interrupted":
        page.line(f"  to go on: {resume or 'planexec resume ' + document['run_id']}")
    page.line(f"  goal: {document['goal']}")
    page.line(f"  scope: {document['scope']}; revision {document['revision']}, replans left {document['replans_left']}")
    for line in _settled(document):
        page.line(f"  {line}")
    show_revisions(page, document)
    for number, steps in enumerate(document["plan_history"] if not brief else (), start=1):
        show_plan(page, f"Plan {number}, as it was replaced", steps)
    show_steps(page, f"Plan {document['revision']}", document["steps"])
    show_facts(page, document)
    show_checks(page, document)
    show_usage(page, document["usage"])
    if document["diff"]["patch"] and not brief:
        page.heading(f"Patch (+{document['diff']['added']} -{document['diff']['removed']})")
        page.patch(document["diff"]["patch"])
    show_report(page, document)


def _settled(document: dict[str, Any]) -> list[str]:
    """What the run started from and may spend, and what became of its patch, where that is not the usual."""
    lines = []
    if dirty := document["dirty"]:
        more = f" and {len(dirty) - _SHOWN_DIRTY} more" if len(dirty) > _SHOWN_DIRTY else ""
        lines.append(f"on top of uncommitted changes: {', '.join(dirty[:_SHOWN_DIRTY])}{more}")
    if base := document["baseline"]:
        lines.append(f"base: {measured(base['outcomes'], base['seconds'], base['flaky'], base['problem'])}")
    if BUDGET in document["settings"]:
        lines.append(f"time for the search: {told(float(document['settings'][BUDGET]))}")
    branch = document["branch"]
    if branch["outcome"] == "finished":
        lines.append(f"branch {branch['name']}: commit {branch['commit']}")
    if document["applied"] == "reversed":
        lines.append("the patch was applied and taken back")
    return lines


def show_plan(page: Page, title: str, steps: Sequence[dict[str, Any]]) -> None:
    """A plan as a page for people: step, after which, what counts as done, which checks it covers (R9)."""
    page.heading(title)
    rows = [
        [
            step["id"],
            step["goal"],
            ", ".join(step["depends_on"]) or "-",
            step["done_when"],
            ", ".join(step["covers"]) or "-",
        ]
        for step in steps
    ]
    page.table(["step", "goal", "after", "done when", "covers"], rows)


def show_steps(page: Page, title: str, steps: Sequence[dict[str, Any]]) -> None:
    """Steps with their status and their evidence."""
    page.heading(title)
    rows = []
    for step in steps:
        evidence = "; ".join(f"{each['id']} {each['summary']}" for each in step.get("evidence", []))
        failure = step.get("failure")
        rows.append([step["id"], step["status"], step["goal"], evidence or (failure["message"] if failure else "-")])
    page.table(["step", "status", "goal", "evidence"], rows)


def show_revisions(page: Page, document: dict[str, Any]) -> None:
    """The table of revisions: what changed, and why."""
    if not document["revisions"]:
        return
    page.heading("Plan revisions")
    rows = []
    for revision in document["revisions"]:
        changed = [f"{word} {', '.join(revision[key])}" for key, word in _CHANGES.items() if revision[key]]
        why = revision["reason"] + (f" [{', '.join(revision['evidence'])}]" if revision["evidence"] else "")
        rows.append([str(revision["number"]), "; ".join(changed), why])
    page.table(["plan", "what changed", "why"], rows)


_CHANGES = {"preserved": "keeps", "superseded": "supersedes", "new": "adds"}


def show_facts(page: Page, document: dict[str, Any]) -> None:
    """Verified facts with where they come from."""
    if document["facts"]:
        page.heading("Facts")
        page.table(["fact", "claim", "evidence"], [[f["id"], f["claim"], f["evidence_ref"]] for f in document["facts"]])


def show_checks(page: Page, document: dict[str, Any]) -> None:
    """Required checks with their verdicts and evidence."""
    page.heading("Checks")
    rows = []
    for name, check in document["checks"].items():
        evidence = check["evidence"]
        rows.append(
            [name, check["status"], check["verifier"], f"{evidence['id']} {evidence['summary']}" if evidence else "-"]
        )
    page.table(["check", "status", "verifier", "evidence"], rows)


def show_usage(page: Page, usage: dict[str, Any]) -> None:
    """What asking models took, by step and model."""
    if not usage["calls"]:
        return
    page.heading("Models")
    rows = [
        [step, model, *_taken(spent)] for step, models in usage["by_step"].items() for model, spent in models.items()
    ]
    if len(rows) > 1:
        rows.append(["all", "", *_taken(usage)])
    page.table(["step", "model", "calls", "tokens in", "cached", "out", "cost"], rows)


def _taken(spent: dict[str, Any]) -> list[str]:
    unknown = "+" if spent["unmetered"] else ""
    counts = [f"{spent[key]:,}{unknown}" for key in ("sent", "cached", "received")]
    cost = "unknown" if spent["cost"] is None else f"${spent['cost']:.4f}{'+' if spent['unpriced'] else ''}"
    return [f"{spent['calls']} calls" if spent["calls"] != 1 else "1 call", *counts, cost]


def show_report(page: Page, document: dict[str, Any]) -> None:
    """Where a run ended without a proof: what is done, what was seen, what is open, what to decide (R21)."""
    report = document["report"]
    if "completed" not in report:
        search = report.get("search", {})
        if "tried" in search:
            page.heading("Search")
            page.line(f"  {search['summary']} ({search['id']})")
            budget = f"; time for all searches: {told(search['budget'])}" if "budget" in search else ""
            disagree = f"of these disagree with the chosen one: {search['disagreeing']}"
            page.line(f"  patches that pass: {search['surviving']}; {disagree}{budget}")
        return
    page.heading("Without a proof")
    page.line(f"  completed: {', '.join(report['completed']) or 'nothing'}")
    page.line(f"  not completed: {', '.join(report['unfinished']) or 'nothing'}")
    seen = report.get("last_observation", {})
    if seen:
        page.line(f"  last observation: {seen.get('id', '')} in step {seen.get('step', '')}: {seen.get('summary', '')}")
    search = report.get("search", {})
    if search:
        page.line(f"  tried last: {search['summary']} ({search['id']})")
    show_searches(page, report.get("searches", []))
    show_suspects(page, search.get("suspects", []))
    if report.get("searches") or search.get("suspects"):
        page.heading("What is open, and what would help")
    for risk in report["remaining_risks"]:
        page.line(f"  open: {risk}")
    for hint in report.get("hints", []):
        page.line(f"  hint: {hint}", "cyan")
    for question in report["questions"]:
        page.line(f"  question: {question}", "yellow")


ENDS = {
    "exhausted": "all of them",
    "time": "time ran out",
    "candidates": "the most that were allowed",
    "enough": "enough to compare",
}
"""How a search ended, in words."""


def show_searches(page: Page, searches: Sequence[dict[str, Any]]) -> None:
    """Each search for a patch: how far it reached, what it tried by kind of edit, the time against its limit."""
    if not searches:
        return
    page.heading("Searches for a patch")
    rows = []
    for search in searches:
        limit = search.get("bounds", {}).get("seconds")
        again = "the search before, " if search.get("reused") else ""
        time = f"{again}{search['seconds']:.0f} s" + (f" of {limit:.0f} s" if limit else "")
        kinds = sorted(search["by_template"].items(), key=lambda item: (-item[1], item[0]))
        left = f", about {search['left']} left" if search.get("left") else ""
        tried = (
            f"{search['reach']}: {search['tried']} tried{left} ({ENDS[search['ended']]}), {search['surviving']} pass"
        )
        rows.append([search["id"], f"{tried}; {time}", ", ".join(f"{n} {kind}" for kind, n in kinds) or "-"])
    page.table(["search", "candidates", "by kind of edit"], rows)


def show_suspects(page: Page, suspects: Sequence[dict[str, Any]]) -> None:
    """The suspected lines, most suspected first, with the reason."""
    if not suspects:
        return
    page.heading("Where the suspicion lies")
    rows = [
        [f"{each['path']}:{each['line']}", each.get("text") or "-", f"{each['score']:.2f} {each.get('reason', '')}"]
        for each in suspects
    ]
    page.table(["line", "text", "suspicion"], rows)
