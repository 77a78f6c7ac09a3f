"""What the host knows about a test run: outcomes by test id, and whether the report is to be believed."""

from __future__ import annotations

from typing import Literal

import msgspec

Status = Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed"]
Phase = Literal["setup", "call", "teardown"]


class TestOutcome(msgspec.Struct, frozen=True):
    """All reports of one test id folded into one outcome.

    ``failed`` is red in the body or a subtest, ``error`` red in set-up or tear-down. ``exception`` is the name of the
    raised class (dotted unless builtin), ``message`` its first lines, ``detail`` pytest's whole text with the values
    that were compared, bounded. ``seconds`` sums set-up, call and tear-down.
    """

    __test__ = False  # not a test class, whatever pytest thinks of the name

    id: str
    status: Status
    phase: Phase = "call"
    exception: str = ""
    message: str = ""
    detail: str = ""
    seconds: float = 0.0

    @property
    def red_in_body(self) -> bool:
        """Whether the test's own assertion or exception made it red: not its set-up, not a strict xfail."""
        return self.status == "failed" and self.phase == "call" and bool(self.exception)


class TestReport(msgspec.Struct, frozen=True):
    """One run. Only a ``trusted`` report is evidence; ``distrust`` says in one line why this one is not.

    ``collection_errors`` maps a file (or folder) to pytest's text. ``collected`` lists the selected ids in order.
    ``environment_problem`` is one line when the environment lacks something that the tests need (pytest, a plug-in, a
    package that is no part of the project); empty otherwise. ``exit_code`` is the process's. ``output`` is bounded.
    ``interpreter`` is what ran it and which rule found that.
    """

    __test__ = False

    outcomes: dict[str, TestOutcome]
    collection_errors: dict[str, str]
    trusted: bool
    distrust: str
    exit_code: int
    timed_out: bool
    seconds: float
    output: str
    collected: list[str] = []
    environment_problem: str = ""
    interpreter: str = ""

    def with_status(self, *statuses: Status) -> list[str]:
        """The ids with one of these statuses, in the order in which they ran."""
        return [test for test, outcome in self.outcomes.items() if outcome.status in statuses]

    @property
    def green(self) -> bool:
        """Trusted, at least one test passed, none is red and nothing failed to be collected."""
        statuses = {outcome.status for outcome in self.outcomes.values()}
        red = statuses & {"failed", "error"}
        return self.trusted and not red and not self.collection_errors and "passed" in statuses


class Frame(msgspec.Struct, frozen=True):
    """One project frame of a traceback: ``path`` relative to the root, ``line`` from 1."""

    path: str
    line: int
    function: str


class Sighting(msgspec.Struct, frozen=True):
    """A watched value seen in a local ``name`` (or ``return``) while ``test`` ran. ``value`` is its repr."""

    test: str
    path: str
    line: int
    name: str
    value: str


class TraceReport(msgspec.Struct, frozen=True):
    """A run with its lines: by test and path, at import, the frames of each failure (outermost first), sightings."""

    report: TestReport
    lines: dict[str, dict[str, list[int]]]
    import_lines: dict[str, list[int]]
    frames: dict[str, list[Frame]]
    sightings: list[Sighting]


class Judgement(msgspec.Struct, frozen=True):
    """The verdict of the warm judge on one candidate; it stops at the first red test, which ``failing`` names.

    ``error`` is a collection or set-up error or a report that is not to be believed; ``crashed`` a process that died.
    """

    outcome: Literal["passed", "failed", "error", "timeout", "crashed"]
    failing: list[str] = []
    detail: str = ""
    seconds: float = 0.0
