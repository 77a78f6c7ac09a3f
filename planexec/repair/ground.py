"""What a search stood on and what it left: the figures from which a person is told what could be added."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planexec.repair.donors import Donors
from planexec.repair.localise import Suspicion
from planexec.repair.search import SearchRequest, SearchResult
from planexec.repair.stream import places, stream
from planexec.testing.outcomes import TraceReport

COUNTING_SECONDS = 3.0
"""How long the candidates that were not tried may be counted."""

_NAMED = (
    r"has no attribute '(\w+)'",
    r"name '(\w+)' is not defined",
    r"cannot import name '(\w+)'",
    r"unexpected keyword argument '(\w+)'",
)


@dataclass(frozen=True, slots=True)
class Ground:
    """The failing run behind a search.

    ``exception`` and ``message`` are the first failing test's. ``missing`` is a name that it asks for and no source
    defines. ``top`` counts the lines that share the highest suspicion, ``failing`` the red tests; ``passing`` the
    traced tests that are green, ``beside`` those of them that run a line which a failing test runs.
    """

    exception: str
    message: str
    missing: str
    top: int
    failing: int
    passing: int
    beside: int


def ground(
    trace: TraceReport, failing: Sequence[str], suspicions: Sequence[Suspicion], sources: Mapping[str, bytes]
) -> Ground:
    """Look at a traced run of ``failing`` tests among others."""
    first = trace.report.outcomes[failing[0]]
    best = max((each.score for each in suspicions), default=0.0)
    passing = [test for test in trace.report.with_status("passed") if test in trace.lines]
    red = {(path, line) for test in failing for path, lines in trace.lines.get(test, {}).items() for line in lines}
    red = {place for place in red if place[0] in sources}
    beside = [
        test
        for test in passing
        if any((path, line) in red for path, lines in trace.lines[test].items() for line in lines)
    ]
    return Ground(
        exception=first.exception,
        message=first.message[:300],
        missing=missing_name(first.message, sources),
        top=sum(each.score > best - 1e-9 for each in suspicions),
        failing=len(failing),
        passing=len(passing),
        beside=len(beside),
    )


def missing_name(message: str, sources: Mapping[str, bytes]) -> str:
    """The name that a failure asks for where no source defines it; else nothing."""
    for pattern in _NAMED:
        if found := re.search(pattern, message):
            name = found[1].encode()
            defined = re.compile(rb"(?:\b(?:def|class)\s+|\.|^\s*|[(,*]\s*)" + name + rb"\b\s*(?:[=:(,)\[]|$)", re.M)
            return "" if any(defined.search(text) for text in sources.values()) else found[1]
    return ""


def left_over(request: SearchRequest, result: SearchResult) -> int:
    """About how many candidates a search that was cut short did not try; as far as they can be counted in a moment."""
    if result.ended not in {"time", "candidates"} or not result.generated:
        return 0
    donors = Donors(request.sources, dict.fromkeys(each.path for each in request.suspicions))
    located = places(request.suspicions, donors, request.editable, request.reach)
    until, made = time.monotonic() + COUNTING_SECONDS, 0
    for _ in stream(located, donors, request.reach):
        made += 1
        if time.monotonic() > until:
            break
    return round(max(0, made - result.generated) * result.tried / result.generated)
