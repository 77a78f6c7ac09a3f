from __future__ import annotations

import tracemalloc
from itertools import islice

from planexec.repair.donors import Donors
from planexec.repair.localise import Suspicion
from planexec.repair.stream import SUSPICIOUS_LINES, places, stream

TEXT = b"""
def first(a, b):
    if a < b:
        return a
    return b

def second(a, b):
    return first(a, b) + 1
"""


def suspicions(*scores: tuple[int, float]) -> list[Suspicion]:
    return [Suspicion("a.py", line, score, "") for line, score in scores]


def test_places_are_ordered_unique_and_editable() -> None:
    donors = Donors({"a.py": TEXT, "b.py": TEXT})
    more = [*suspicions((4, 0.2), (3, 0.9), (8, 0.0), (99, 0.5)), Suspicion("b.py", 3, 1.0, "")]
    found = places(more, donors, lambda path: path == "a.py", "wide")
    assert [(place.source.path, place.unit.__class__.__name__) for place in found] == [
        ("a.py", "If"),
        ("a.py", "Return"),
    ]
    assert found[0].penalty < found[1].penalty
    assert found[0].score == 1.0


def test_the_narrow_reach_takes_the_most_suspicious_lines() -> None:
    text = "\n".join(f"x{n} = {n}" for n in range(SUSPICIOUS_LINES + 50)).encode()
    many = suspicions(*((line, 0.5) for line in range(1, SUSPICIOUS_LINES + 50)))
    donors = Donors({"a.py": text})
    assert len(places(many, donors, lambda path: True, "suspicious")) == SUSPICIOUS_LINES
    assert len(places(many, donors, lambda path: True, "wide")) == SUSPICIOUS_LINES + 49


def test_ranks_never_fall_and_places_take_turns() -> None:
    donors = Donors({"a.py": TEXT})
    located = places(suspicions((3, 1.0), (8, 0.8)), donors, lambda path: True, "wide")
    found = list(stream(located, donors, "wide"))
    ranks = [each.rank for each in found]
    assert ranks == sorted(ranks)
    assert {each.edit.line for each in found[:20]} == {3, 8}
    assert found[0].edit.line == 3
    assert (found[0].edit.before, found[0].edit.after) == ("a < b", "a <= b")


def test_the_order_is_the_same_each_time() -> None:
    def run() -> list[str]:
        donors = Donors({"a.py": TEXT})
        located = places(suspicions((3, 1.0), (8, 0.8)), donors, lambda path: True, "wide")
        return [each.edit.after for each in stream(located, donors, "wide")]

    assert run() == run()


def test_the_wide_reach_has_more_templates() -> None:
    donors = Donors({"a.py": TEXT})
    located = places(suspicions((3, 1.0)), donors, lambda path: True, "wide")
    narrow, wide = list(stream(located, donors, "suspicious")), list(stream(located, donors, "wide"))
    assert len(narrow) < len(wide)
    assert "statement" not in {each.edit.template for each in narrow}


def test_the_first_edits_of_a_large_file_cost_little_memory() -> None:
    text = "\n".join(
        f"def f{n}(a, b, c):\n    d = [a + b - {n}, c[{n}:], b < c]\n    return g(a, b, key=d[0] or c)"
        for n in range(40)
    ).encode()
    donors = Donors({"a.py": text})
    located = places(suspicions(*((line, 0.5) for line in range(1, 120))), donors, lambda path: True, "wide")
    tracemalloc.start()
    try:
        found = list(islice(stream(located, donors, "wide"), 300))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(found) == 300
    assert peak < 12_000_000


def test_nothing_suspected_is_nothing_streamed() -> None:
    donors = Donors({"a.py": TEXT})
    assert list(stream(places([], donors, lambda path: True, "wide"), donors, "wide")) == []
