from __future__ import annotations

import pytest

from planexec.repair.ground import ground, left_over, missing_name
from planexec.repair.localise import Suspicion
from planexec.repair.search import Ended, SearchRequest, SearchResult
from planexec.testing.outcomes import TestOutcome, TestReport, TraceReport

SOURCES = {"a.py": b"LIMIT = 3\n\ndef f(n, most=4):\n    return n < LIMIT\n", "b.py": b"class Box:\n    size: int\n"}


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("module 'a' has no attribute 'label'", "label"),
        ("name 'label' is not defined", "label"),
        ("cannot import name 'label' from 'a' (/x/a.py)", "label"),
        ("f() got an unexpected keyword argument 'label'", "label"),
        ("module 'b' has no attribute 'LIMIT'", ""),  # it stands elsewhere: a wrong name, not missing code
        ("module 'a' has no attribute 'Box'", ""),
        ("'Box' object has no attribute 'size'", ""),
        ("f() got an unexpected keyword argument 'most'", ""),
        ("assert 1 == 2", ""),
    ],
)
def test_a_name_that_no_source_defines(message: str, name: str) -> None:
    assert missing_name(message, SOURCES) == name


def test_the_failing_run_among_the_others() -> None:
    outcomes = {"bad": TestOutcome("bad", "failed", exception="AssertionError", message="assert 1 == 2")}
    outcomes |= {name: TestOutcome(name, "passed") for name in ("beside", "away", "untraced")}
    lines = {"bad": {"a.py": [4], "tests/test_a.py": [2]}, "beside": {"a.py": [4]}, "away": {"tests/test_a.py": [2]}}
    trace = TraceReport(TestReport(outcomes, {}, True, "", 1, False, 0.1, ""), lines, {}, {}, [])
    suspicions = [Suspicion("a.py", 4, 0.7, ""), Suspicion("a.py", 3, 0.7, ""), Suspicion("a.py", 1, 0.1, "")]
    found = ground(trace, ["bad"], suspicions, SOURCES)
    assert (found.exception, found.message, found.missing) == ("AssertionError", "assert 1 == 2", "")
    assert (found.top, found.failing, found.passing, found.beside) == (2, 1, 2, 1)


def result(ended: Ended, tried: int, generated: int) -> SearchResult:
    return SearchResult([], tried, generated, 1.0, ended, 0, {})


def test_what_a_search_left() -> None:
    request = SearchRequest(SOURCES, [Suspicion("a.py", 4, 1.0, "")], ["t"])
    assert left_over(request, result("exhausted", 5, 5)) == 0
    whole = left_over(request, result("time", 1, 1)) + 1
    assert whole > 5
    assert left_over(request, result("candidates", 5, 5)) == whole - 5
    assert left_over(request, result("time", 1, 2)) == pytest.approx((whole - 2) / 2, abs=1)
    assert left_over(request, result("time", whole, whole)) == 0
