from __future__ import annotations

import pytest

from planexec.core.events import Claim
from planexec.repair.localise import Suspicion
from planexec.testing.outcomes import TestReport, TraceReport
from planexec.tools.flow import Run, lost

TEST = "test_app.py::test_target"


def claimed(line: str) -> Claim | None:
    """What is said of a run whose most suspicious line is ``line``."""
    sources = {"app.py": f"def target(session, options):\n    {line}\n".encode()}
    report = TestReport({}, {}, True, "", 1, False, 0.1, "")
    run = Run(TEST, TraceReport(report, {TEST: {"app.py": [2]}}, {}, {}, []), sources, {})
    return lost(run, "", [Suspicion("app.py", 2, 1.0, "run by the failing test alone")])


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("return session['next']", "session['next']"),
        ("return session.get('next')", "session['next']"),
        ("limits = {'limits': {}}; return limits['limits']['size']", "limits['size']"),
    ],
)
def test_a_key_that_nothing_writes_is_where_a_value_is_lost(line: str, shown: str) -> None:
    claim = claimed(line)
    assert claim is not None
    assert (claim.subject, claim.value) == ("location", "app.py:2")
    assert claim.text == f"{shown} is read at app.py:2, but nothing writes that key"


@pytest.mark.parametrize(
    "line",
    [
        "return 'next' in session",  # a list of words or a text, for all that the line says
        "return 'next' not in options.words",
        "session['next'] = options",
        "return dict(next=1), session['next']",
    ],
)
def test_what_is_no_lost_key_is_not_claimed(line: str) -> None:
    assert claimed(line) is None
