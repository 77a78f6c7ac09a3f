"""What a person reads of a run: tables on a terminal, plain lines in a pipe; the same content in both."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, TextIO

from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from planexec.cli.text import clean

STYLES = {
    "completed": "green", "passed": "green", "succeeded": "bold green", "pending": "dim", "running": "cyan",
    "superseded": "dim strike", "blocked": "yellow", "failed": "bold red", "error": "red", "inconclusive": "yellow",
    "interrupted": "yellow", "waiting": "yellow",
}  # fmt: skip
WIDE = 1_000_000


class Page:
    """Writes headings, paragraphs and tables to a stream."""

    def __init__(self, stream: TextIO | None = None) -> None:
        stream = stream or sys.stdout
        self.rich = stream.isatty()
        self.console = Console(file=stream, highlight=False, width=None if self.rich else WIDE, soft_wrap=not self.rich)

    def heading(self, text: str) -> None:
        """A heading with an empty line before it."""
        self.console.print()
        self.console.print(Text(clean(text), style="bold"))

    def line(self, text: str, style: str = "") -> None:
        """One paragraph."""
        self.console.print(Text(clean(text), style=style))

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table; in a pipe each row is a line with two spaces between columns."""
        if not self.rich:
            widths = [max(len(row[n]) for row in (columns, *rows)) for n in range(len(columns))]
            for row in rows:
                cells = [clean(cell).ljust(width) for cell, width in zip(row, widths, strict=True)]
                self.console.print(Text(f"  {'  '.join(cells)}".rstrip()))
            return
        table = Table(box=None, pad_edge=False, show_header=True, header_style="dim", padding=(0, 2, 0, 0))
        for number, column in enumerate(columns):
            table.add_column(column, overflow="fold", no_wrap=number == 0 and self.console.width >= 60)
        for row in rows:
            table.add_row(*(Text(clean(cell), style=STYLES.get(cell, "")) for cell in row))
        self.console.print(table)

    def patch(self, text: str) -> None:
        """A patch, coloured on a terminal."""
        body = clean(text, keep_lines=True).rstrip("\n")
        self.console.print(
            Syntax(body, "diff", theme="ansi_dark", background_color="default") if self.rich else Text(body)
        )


def show_run(page: Page, document: dict[str, Any], *, brief: bool = False) -> None:
    """A whole run: verdict, revisions with their steps, facts, checks, patch or questions."""
    page.line(f"run {document['run_id']}: {document['status']}", STYLES.get(document["status"], ""))
    if document["message"]:
        page.line(f"  {document['message']}")
    page.line(f"  goal: {document['goal']}")
    page.line(f"  scope: {document['scope']}; revision {document['revision']}, replans left {document['replans_left']}")
    show_revisions(page, document)
    for number, steps in enumerate(document["plan_history"] if not brief else (), start=1):
        show_plan(page, f"Plan {number}, as it was replaced", steps)
    show_steps(page, f"Plan {document['revision']}", document["steps"])
    show_facts(page, document)
    show_checks(page, document)
    if document["diff"]["patch"] and not brief:
        page.heading(f"Patch (+{document['diff']['added']} -{document['diff']['removed']})")
        page.patch(document["diff"]["patch"])
    show_report(page, document)


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


def show_report(page: Page, document: dict[str, Any]) -> None:
    """Where a run ended without a proof: what is done, what was seen, what is open, what to decide (R21)."""
    report = document["report"]
    if not report:
        return
    page.heading("Without a proof")
    page.line(f"  completed: {', '.join(report['completed']) or 'nothing'}")
    page.line(f"  not completed: {', '.join(report['unfinished']) or 'nothing'}")
    seen = report.get("last_observation", {})
    if seen:
        page.line(f"  last observation: {seen.get('id', '')} in step {seen.get('step', '')}: {seen.get('summary', '')}")
    for suspect in seen.get("suspects", []):
        page.line(f"    suspect: {suspect['path']}:{suspect['line']} ({suspect['score']}) {suspect.get('text', '')}")
    for risk in report["remaining_risks"]:
        page.line(f"  open: {risk}")
    for question in report["questions"]:
        page.line(f"  question: {question}", "yellow")
