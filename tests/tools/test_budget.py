from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from planexec.core import events as e
from planexec.core.state import BUDGET, RunState
from planexec.journal.artifacts import ArtifactStore
from planexec.journal.chain import Stored
from planexec.tools.budget import budget_of, given_up, seconds_searched

from ..projects import BY_TESTS, make_contract

START = datetime(2026, 1, 1, tzinfo=UTC)
SEARCH = e.ActionStarted("patch", "act-patch-1", "repair", {}, True)
OTHER = e.ActionStarted("patch", "act-patch-2", "run_tests", {}, True)
STOPPED, RESUMED = e.RunInterrupted("SIGINT"), e.RunResumed("1")


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore(tmp_path / "artifacts")


def searched(store: ArtifactStore, *moments: tuple[float, e.AnyEvent]) -> float:
    history = [
        (Stored(number, (START + timedelta(seconds=after)).isoformat(), "", "", b""), event)
        for number, (after, event) in enumerate(moments, 1)
    ]
    return seconds_searched(history, store)


def observed(store: ArtifactStore, seconds: float | None) -> e.ObservationRecorded:
    data = {} if seconds is None else {"seconds": seconds}
    artifact = store.put(msgspec.json.encode({"data": data}))
    return e.ObservationRecorded("patch", "act-patch-1", "obs-patch-1", "", artifact)


def test_each_search_says_how_long_it_took(store: ArtifactStore) -> None:
    ten, two, other = observed(store, 10), observed(store, 2), observed(store, 99)
    told = [(0, SEARCH), (15, ten), (16, OTHER), (17, other), (20, SEARCH), (30, two)]
    assert searched(store, *told) == 12
    assert searched(store, (0, SEARCH), (15, observed(store, None))) == 0


def test_a_search_that_a_signal_stopped_counts_up_to_that_and_one_that_was_killed_does_not(
    store: ArtifactStore,
) -> None:
    assert searched(store, (0, SEARCH), (7, STOPPED), (100, RESUMED), (101, SEARCH), (110, observed(store, 5))) == 12
    assert searched(store, (0, SEARCH), (100, RESUMED), (101, SEARCH), (110, observed(store, 5))) == 5
    assert searched(store, (0, OTHER), (7, STOPPED)) == 0


def test_the_command_line_stands_above_the_contract() -> None:
    contract = make_contract(BY_TESTS)
    assert budget_of(contract, RunState()) == contract.limits.repair_seconds
    assert budget_of(contract, RunState(settings={BUDGET: "7.5"})) == 7.5


def test_what_was_put_in_and_taken_back_is_given_up() -> None:
    def events(*words: str) -> list[tuple[Stored, e.AnyEvent]]:
        made: list[e.AnyEvent] = []
        for word in words:
            if word == "start":
                made.append(e.StepStarted("patch", 1, "0"))
            elif word == "undo":
                made.append(e.ActionStarted("patch", "act", "undo", {}, True))
            else:
                made.append(e.ActionStarted("patch", "act", "edit", {"path": "a.py", "content": word}, False))
        return [(Stored(1, "", "", "", b""), event) for event in made]

    assert given_up(events("start", "one", "undo", "two", "undo", "three")) == {"one", "two"}
    assert given_up(events("start", "one", "start", "two", "undo")) == {"two"}  # the process died before a verdict
    assert given_up(events("start", "", "undo")) == frozenset()
