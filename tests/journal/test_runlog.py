from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from planexec.core import events as e
from planexec.journal.chain import Stored
from planexec.journal.runlog import seconds_worked

START = datetime(2026, 1, 1, tzinfo=UTC)


def history(*moments: tuple[float, e.AnyEvent]) -> list[tuple[Stored, e.AnyEvent]]:
    """Events at these seconds after the start."""
    return [
        (Stored(number, (START + timedelta(seconds=after)).isoformat(), "", "", b""), event)
        for number, (after, event) in enumerate(moments, 1)
    ]


GATE = e.GateStarted("tree")


@pytest.mark.parametrize(
    ("moments", "seconds"),
    [
        ([], 0.0),
        ([(0, GATE)], 0.0),
        ([(0, GATE), (5, GATE), (7, GATE)], 7.0),
        ([(0, GATE), (5, GATE), (1000, e.RunResumed("1")), (1003, GATE)], 8.0),
        ([(0, GATE), (5, e.RunInterrupted("SIGINT")), (90, e.RunResumed("1")), (99, e.RunResumed("1"))], 5.0),
        ([(50, GATE), (0, GATE)], 0.0),  # a clock that was put back
        ([(3600, GATE), (3605, GATE), (5, GATE), (9, GATE)], 9.0),
        ([(3600, GATE), (5, e.RunResumed("1")), (9, GATE)], 4.0),
    ],
)
def test_time_is_counted_while_somebody_works(moments: list[tuple[float, e.AnyEvent]], seconds: float) -> None:
    assert seconds_worked(history(*moments)) == seconds
