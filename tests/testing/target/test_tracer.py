from __future__ import annotations

import inspect
import threading
from pathlib import Path
from types import FrameType

import pytest

from planexec.testing.target.places import Project
from planexec.testing.target.tracer import Tracer, Watch

HERE = Path(__file__)


def traced(value: int) -> int:
    one = value + 1
    two = one + 1
    return two


def first_line() -> int:
    return traced.__code__.co_firstlineno + 1


@pytest.mark.usefixtures("contained")
def test_lines_belong_to_the_test_that_runs() -> None:
    tracer = Tracer(Project(str(HERE.parent)))
    tracer.arm()
    traced(1)
    tracer.enter("a")
    thread = threading.Thread(target=traced, args=(1,))
    thread.start()
    thread.join()
    tracer.leave()
    traced(1)
    tracer.enter("b")
    tracer.disarm()
    traced(1)
    tracer.failed("a", [{"path": "x"}])
    tracer.failed("a", [])
    found = tracer.result()
    lines = list(range(first_line(), first_line() + 3))
    assert set(lines) <= set(found["import_lines"][HERE.name])
    assert set(lines) <= set(found["lines"]["a"][HERE.name])
    assert not set(lines) & set(found["lines"]["b"].get(HERE.name, []))
    assert found["frames"] == {"a": [{"path": "x"}]} and found["sightings"] == []
    assert tracer.result(without=HERE.name)["import_lines"] == {}


@pytest.mark.usefixtures("contained")
def test_sightings() -> None:
    tracer = Tracer(Project(str(HERE.parent)), ["2", "3", "nonsense("])
    tracer.arm()
    traced(1)
    tracer.enter("a")
    traced(1)
    traced(1)
    tracer.disarm()
    found = [(each["line"] - first_line(), each["name"], each["value"]) for each in tracer.result()["sightings"]]
    assert found == [(1, "one", "2"), (2, "one", "2"), (2, "two", "3"), (2, "return", "3")]


def frame_of(**values: object) -> FrameType:
    """A frame of a function of this file with these locals."""
    return holding(values["first"], values["second"], values["third"])


def holding(first: object, second: object, third: object) -> FrameType:
    frame = inspect.currentframe()
    assert frame is not None
    return frame


def test_driven_by_hand() -> None:
    # No trace function is installed here: the rules alone.
    tracer = Tracer(Project(str(HERE.parent)), ["2", "(1, 'a')"])
    frame = frame_of(first=2, second=(1, "a"), third=[2])
    follow = tracer.follow(frame, "call", None)
    assert follow is not None and tracer.follow(frame, "call", None) is follow
    follow(frame, "line", None)  # at import: a line, no sighting
    tracer._test, tracer._current = "a", tracer._buckets.setdefault("a", set())
    for _ in range(2):
        assert follow(frame, "line", None) is follow
        assert follow(frame, "return", 2) is follow
        assert follow(frame, "return", None) is follow
        assert follow(frame, "exception", None) is follow
    found = tracer.result()
    assert found["import_lines"] == {HERE.name: [frame.f_lineno]} == found["lines"]["a"]
    assert [(each["name"], each["value"]) for each in found["sightings"]] == [
        ("first", "2"),
        ("second", "(1, 'a')"),
        ("return", "2"),
    ]
    plain = Tracer(Project(str(HERE.parent)))
    without_watch = plain.follow(frame, "call", None)
    assert without_watch is not None and without_watch(frame, "line", None) is without_watch
    assert without_watch(frame, "return", 2) is without_watch
    assert plain.result()["sightings"] == [] and plain.result()["import_lines"] == {HERE.name: [frame.f_lineno]}
    assert Tracer(Project("/elsewhere")).follow(frame, "call", None) is None


class Loud:
    def __eq__(self, other: object) -> bool:
        raise AssertionError("code of the project was called")

    def __hash__(self) -> int:
        raise AssertionError("code of the project was called")


def test_only_exact_builtin_values_are_looked_at() -> None:
    watch = Watch(["1", "(1, 'a')", "'text'", "None", "[1]", "(1, [2])"])
    assert [watch.seen(each) for each in (1, (1, "a"), "text", None)] == ["1", "(1, 'a')", "'text'", "None"]
    for other in (True, 1.0, (True, "a"), "other", [1], Loud(), (Loud(),), ((((1,),),),), (1,) * 40):
        assert watch.seen(other) is None
    assert watch and not Watch(["[1]"])
