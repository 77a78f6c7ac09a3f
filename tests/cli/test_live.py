from __future__ import annotations

import json

import msgspec
import pytest

from planexec.cli.live import Narrator, told
from planexec.core import events as e
from planexec.core.plan import Step
from planexec.journal.chain import link

STEP = Step(id="patch", goal="g", done_when="d")
FAILURE = e.Failure(
    "patch", 1, e.FailureClass.TASK, e.Cause.FALSE_FACT, "NO_PATCH", "nothing survives", e.Recoverability.REPLAN
)
EVIDENCE = e.Evidence("ev-1", "verify_x", "x", "passed", "it holds")
FACT = e.Fact("fact-1", "it is so", "obs-1", "a", "b", (), "inspect")
STARTED = e.RunStarted(
    "r-1", "g", "", "", "s", {}, 2, 3, 40, {"commit": "0123456789abcdef"}, {"sandbox": "bubblewrap"}, ""
)


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (STARTED, "run r-1 on 0123456789ab"),
        (e.PlanAccepted(1, 0, "first", (), (STEP,), (), (), ("patch",), False, "workflow"), "plan 1: patch  (first)"),
        (e.ProposalRefused("", ("no scope",)), "proposal refused: no scope"),
        (e.StepStarted("patch", 2, ""), "[patch] started, attempt 2"),
        (e.StepStarted("patch", 1, ""), "[patch] started"),
        (e.ObservationRecorded("patch", "act", "obs-patch-1", "seen", ""), "[patch] obs-patch-1: seen"),
        (e.FactCommitted(FACT), "[inspect] fact-1 verified: it is so"),
        (e.ClaimRejected("patch", "obs", "a claim", "not so"), "claim not confirmed: a claim (not so)"),
        (e.StepCompleted("patch", (EVIDENCE,), "", {}), "[patch] completed: it holds"),
        (e.StepFailed(FAILURE), "[patch] failed (NO_PATCH): nothing survives"),
        (e.ReplanTriggered("x", FAILURE, "patch", ("patch", "verify")), "affected: patch, verify"),
        (e.StepInvalidated("patch", "it broke", ("ev-1",), ""), "[patch] withdrawn: it broke"),
        (e.ForbiddenEntered("patch", "act", ("README.md",)), "forbidden state undone: README.md"),
        (e.CheckJudged("tests", EVIDENCE), "gate: tests passed: it holds"),
        (e.RunEnded("blocked", "x", "no way"), "blocked: no way"),
        (e.RunInterrupted("SIGINT"), ""),
    ],
)
def test_each_event_has_its_line(event: e.AnyEvent, words: str) -> None:
    assert words in told(event)
    assert bool(told(event)) == bool(words)


def test_the_time_for_the_search_is_told_when_it_begins(capfd: pytest.CaptureFixture[str]) -> None:
    search, other = (e.ActionStarted("patch", "act", tool, {}, True) for tool in ("repair", "run_tests"))
    with Narrator(events=False, quiet=False) as narrator:
        narrator.begin("r-1", {"repair_seconds": "600"})
        for event in (other, search):
            narrator.hear(link("", "r-1", 1, "now", b""), event)
    assert capfd.readouterr().err == "[patch] searching for a patch; all searches together may take 10 min\n"


def test_events_as_json_lines(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with Narrator(events=True, quiet=True) as narrator:
        for number, event in enumerate((STARTED, e.RunEnded("blocked", "x", "no way")), start=1):
            narrator.hear(link("", "r-1", number, "2026-01-01T00:00:00+00:00", msgspec.json.encode(event)), event)
        narrator.progress("not shown in a pipe")
    out, err = capfdbinary.readouterr()
    first, second = (json.loads(line) for line in out.splitlines())
    assert (first["run_id"], first["seq"], first["event"]) == ("r-1", 1, "run_started")
    assert (second["run_id"], second["event"], second["status"]) == ("r-1", "run_ended", "blocked")
    assert err == b""


def test_prose_goes_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    with Narrator(events=False, quiet=False) as narrator:
        narrator.hear(link("", "r-1", 1, "now", b""), e.RunEnded("blocked", "x", "no\x1b[31m way"))
    out, err = capfd.readouterr()
    assert (out, err) == ("", "blocked: no\\u001b[31m way\n")


def test_how_the_suite_does_on_the_base() -> None:
    flaky = tuple(f"t{n}" for n in range(7))
    line = told(e.BaseMeasured({"passed": 3, "failed": 1}, 1.25, flaky, "timed out after 5 s"))
    assert line == (
        "base: 3 passed, 1 failed in 1.2 s; flaky, and not counted: t0, t1, t2, t3, t4 and 2 more; timed out after 5 s"
    )
    assert told(e.BaseMeasured({}, 0.0)) == "base: no test ran in 0.0 s"
