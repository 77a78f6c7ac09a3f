from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from typing import Any

import pytest

from planexec.assembly.documents import usage
from planexec.cli.render import Page, PlainPage, page, show_plan, show_run, show_steps
from planexec.cli.richpage import RichPage
from planexec.core.state import RunState
from planexec.core.usage import Spent, Usage

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
HOSTILE = "[bold]\x1b]0;title\x07[/bold]"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def evidence(number: int, summary: str = "it holds") -> dict[str, str]:
    return {"id": f"ev-{number}", "summary": summary}


def spent(cost: float | None) -> Spent:
    return Spent().plus(Usage(1200, 1000, 34, 2), cost, 1.5)


asked = {"": {"large": spent(0.25)}, "patch": {"small": spent(None).plus(Usage(), None, 1.0)}}


def document(**changes: Any) -> dict[str, Any]:
    step = {
        "id": "inspect", "goal": f"Look around {HOSTILE}", "depends_on": [], "done_when": "facts stand", "covers": [],
        "status": "completed", "evidence": [evidence(1)], "failure": None,
    }  # fmt: skip
    patch = {**step, "id": "patch", "depends_on": ["inspect"], "covers": ["tests"], "status": "blocked", "evidence": []}
    patch["failure"] = {"message": "nothing survives"}
    revision = {
        "number": 1, "reason": "the first plan", "evidence": [], "preserved": [], "superseded": [],
        "new": ["inspect", "patch"],
    }  # fmt: skip
    second = {**revision, "number": 2, "reason": "it was otherwise", "evidence": ["fact-1"], "preserved": ["inspect"]}
    return {
        "run_id": "r-1", "status": "blocked", "message": "no way is left", "goal": "a goal",
        "scope": "current_repository",
        "revision": 2, "replans_left": 1, "settings": {"repair_seconds": "300"}, "applied": "reversed",
        "branch": {"name": "mend", "commit": "c0ffee", "outcome": "finished"}, "dirty": ["mine.py"],
        "baseline": {"outcomes": {"passed": 3}, "seconds": 1.25, "flaky": ["t.py::t"], "problem": ""},
        "revisions": [revision, second], "plan_history": [[step]],
        "steps": [step, patch],
        "facts": [{"id": "fact-1", "claim": "it is so", "evidence_ref": "obs-inspect-1"}],
        "checks": {
            "tests": {"status": "pending", "verifier": "verify_related_tests", "evidence": None},
            "scope": {"status": "passed", "verifier": "verify_diff_scope", "evidence": evidence(2)},
        },
        "usage": usage(RunState(usage=asked)),
        "diff": {"patch": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n", "added": 1, "removed": 1},
        "report": {
            "completed": ["inspect"], "unfinished": ["patch"], "questions": ["What now?"],
            "remaining_risks": ["check 'tests' is open"],
            "last_observation": {"id": "obs-patch-1", "step": "patch", "summary": "it was undone"},
            "search": {"id": "obs-patch-1", "summary": "40 tried", "suspects": [
                {"path": "x.py", "line": 3, "score": 0.7, "text": "return 1", "reason": "run by 1 failing test"},
                {"path": f"x{HOSTILE}.py", "line": 4, "score": 0.25, "text": "", "reason": ""}]},
            "searches": [
                {"id": "obs-patch-1", "reach": "suspicious", "tried": 40, "left": 7, "ended": "time", "surviving": 0,
                 "seconds": 12.3, "bounds": {"seconds": 60.0, "candidates": 9}, "by_template": {"name": 15, "key": 25}},
                {"id": "obs-wider-1", "reach": "wide", "tried": 0, "ended": "exhausted", "surviving": 0, "seconds": 0.2,
                 "by_template": {}}],
            "hints": [f"9 lines {HOSTILE} share the highest suspicion"],
        },
        **changes,
    }  # fmt: skip


def pages(width: int) -> tuple[io.StringIO, Page]:
    stream = Terminal()
    rich = RichPage(stream)
    rich.console.width = width
    return stream, rich


def plain() -> tuple[io.StringIO, Page]:
    stream = io.StringIO()
    return stream, page(stream)


WORDS = (
    "run r-1: blocked", "no way is left", "a goal", "the first plan", "supersedes", "keeps inspect",
    "it was otherwise", "fact-1", "it is so", "obs-inspect-1",
    "nothing survives", "ev-2", "verify_diff_scope", "40 tried", "x.py:3", "What now?", "-old", "+new",
    "suspicious: 40 tried", "25 key, 15 name", "wide: 0 tried",
    "return 1", "0.70 run by 1 failing test", "hint: 9 lines",
)  # fmt: skip


@pytest.mark.parametrize("width", [0, 80, 200])
def test_the_same_content_on_every_page(width: int) -> None:
    stream, out = pages(width) if width else plain()
    superseding = document()
    superseding["revisions"][1]["superseded"] = ["reproduce"]
    show_run(out, superseding)
    shown = COLOUR.sub("", stream.getvalue())
    flat = " ".join(shown.split())
    for word in WORDS:
        assert word in flat
    assert "\x1b" not in shown and "\x07" not in shown  # Rich's own colours are all that steers the terminal
    assert "[bold]" in flat  # shown, not obeyed
    if width:
        assert max(len(line) for line in shown.splitlines()) <= width


def test_no_color_means_no_escapes_at_all() -> None:
    """In a process of its own, whose environment says so."""
    program = """
import io, sys
from planexec.cli.richpage import RichPage
class Terminal(io.StringIO):
    def isatty(self): return True
out = RichPage(Terminal())
out.heading("bold")
out.line("succeeded", "succeeded")
out.table(["a", "b"], [["failed", "x"]])
out.patch("+new")
sys.stdout.write(out.console.file.getvalue())
"""
    for no_color, escapes in (("1", False), ("", True)):
        environment = {**os.environ, "NO_COLOR": no_color, "TERM": "xterm-256color"}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        assert ("\x1b" in done.stdout) == escapes


def test_a_brief_run_has_no_patch() -> None:
    stream, out = plain()
    show_run(out, document(report={}, message=""), brief=True)
    assert "+new" not in stream.getvalue()
    assert "Without a proof" not in stream.getvalue()


def test_plans_and_steps() -> None:
    stream, out = plain()
    show_plan(out, "Plan 1", document()["steps"])
    show_steps(out, "Steps", document()["steps"])
    lines = stream.getvalue().splitlines()
    assert lines[1] == "Plan 1"
    assert lines[3].split("  ")[1] == "patch"


def test_a_pipe_gets_plain_text() -> None:
    assert isinstance(page(io.StringIO()), PlainPage)
    assert isinstance(page(Terminal()), RichPage)


def test_what_is_not_the_usual_is_told() -> None:
    stream = io.StringIO()
    show_run(PlainPage(stream), document())
    for line in (
        "  on top of uncommitted changes: mine.py",
        "  base: 3 passed in 1.2 s; flaky, and not counted: t.py::t",
        "  time for the search: 5 min",
        "  branch mend: commit c0ffee",
        "  the patch was applied and taken back",
    ):
        assert line in stream.getvalue().splitlines()


def test_what_models_took_is_told_by_step_and_model() -> None:
    out = io.StringIO()
    show_run(PlainPage(out), document())
    told = [line.split("  ") for line in out.getvalue().splitlines() if "call" in line]
    rows = [[cell.strip() for cell in line if cell.strip()] for line in told]
    assert rows == [
        ["planning", "large", "1 call", "1,200", "1,000", "34", "$0.2500"],
        ["patch", "small", "2 calls", "1,200+", "1,000+", "34+", "unknown"],
        ["all", "3 calls", "2,400+", "2,000+", "68+", "$0.2500+"],
    ]


def test_a_run_without_models_tells_nothing_of_them() -> None:
    out = io.StringIO()
    show_run(PlainPage(out), document(usage=usage(RunState())))
    assert "Models" not in out.getvalue()
    assert usage(RunState())["cost"] == 0
