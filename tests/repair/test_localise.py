from __future__ import annotations

import math
import textwrap

import pytest

from planexec.repair.localise import Suspicion, beyond, localise
from planexec.testing.outcomes import Frame, Sighting, TestOutcome, TestReport, TraceReport
from tests.repair.functions import PATH, traced

FILE = textwrap.dedent(
    """\
    LIMIT = 10
    OTHER = 5

    def choose(n, most=LIMIT):
        if n > most:
            n = cut(n)
            return n
        return n

    def cut(n):
        return n - LIMIT

    def unused():
        return OTHER
    """
).encode()


def trace(
    lines: dict[str, dict[str, list[int]]],
    status: dict[str, str],
    *,
    frames: dict[str, list[Frame]] | None = None,
    sightings: list[Sighting] | None = None,
    imported: dict[str, list[int]] | None = None,
) -> TraceReport:
    outcomes = {test: TestOutcome(test, "passed" if each == "passed" else "failed") for test, each in status.items()}
    report = TestReport(outcomes, {}, True, "", 1, False, 0.1, "")
    return TraceReport(report, lines, imported or {PATH: [1, 2, 4, 10, 13]}, frames or {}, sightings or [])


def by_line(found: list[Suspicion]) -> dict[int, float]:
    assert all(0 < each.score <= 1 for each in found)
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    return {each.line: each.score for each in found}


BOTH = {"bad": {PATH: [5, 6, 7, 11]}, "good": {PATH: [5, 8]}}


def test_ochiai_on_lines() -> None:
    found = localise(trace(BOTH, {"bad": "failed", "good": "passed"}), {"bad"}, {PATH: FILE})
    scores = by_line(found)
    assert scores[6] == scores[7] == scores[11] == 1.0
    assert scores[5] == pytest.approx(1 / math.sqrt(2))
    assert 8 not in scores
    assert next(each.reason for each in found if each.line == 5) == "run by 1 of 1 failing and 1 of 1 passing tests"


def test_two_failing_tests_share_the_blame() -> None:
    lines = {"a": {PATH: [5, 6]}, "b": {PATH: [5, 8]}, "good": {PATH: [5, 8]}}
    status = {"a": "failed", "b": "failed", "good": "passed"}
    scores = by_line(localise(trace(lines, status), {"a", "b"}, {PATH: FILE}))
    assert scores[6] == pytest.approx(1 / math.sqrt(2))
    assert scores[5] == pytest.approx(2 / math.sqrt(6))


def test_lines_that_run_at_import_keep_a_low_score_and_used_values_a_share() -> None:
    scores = by_line(localise(trace(BOTH, {"bad": "failed", "good": "passed"}), {"bad"}, {PATH: FILE}))
    assert 0 < scores[2] < scores[1] < scores[5]
    assert 0 < scores[13] < scores[4] < scores[5]


def test_a_module_that_the_failing_test_does_not_use_is_left_out() -> None:
    imported = {PATH: [1], "app/other.py": [1]}
    report = trace(BOTH, {"bad": "failed", "good": "passed"}, imported=imported)
    found = localise(report, {"bad"}, {PATH: FILE, "app/other.py": b"x = 1\n"})
    assert {each.path for each in found} == {PATH}


def test_the_traceback_raises_its_lines_the_innermost_most() -> None:
    frames = {"bad": [Frame("tests/t.py", 3, "test"), Frame(PATH, 6, "choose"), Frame(PATH, 11, "cut")]}
    lines = {"bad": {PATH: [5, 6, 11]}, "good": {PATH: [5, 6, 11]}}
    found = localise(trace(lines, {"bad": "failed", "good": "passed"}, frames=frames), {"bad"}, {PATH: FILE})
    scores = by_line(found)
    assert scores[11] > scores[6] > scores[5]
    assert "in the traceback, in cut" in next(each.reason for each in found if each.line == 11)


def test_sightings_raise_where_the_value_came_up() -> None:
    sightings = [Sighting("bad", PATH, 7, "n", "-1"), Sighting("bad", PATH, 11, "return", "-1")]
    lines = {"bad": {PATH: [5, 6, 7, 11]}, "good": {PATH: [5, 6, 7, 11]}}
    plain = by_line(localise(trace(lines, {"bad": "failed", "good": "passed"}), {"bad"}, {PATH: FILE}))
    raised = by_line(
        localise(trace(lines, {"bad": "failed", "good": "passed"}, sightings=sightings), {"bad"}, {PATH: FILE})
    )
    assert raised[6] > raised[11] > plain[11] == plain[6]
    assert raised[7] == plain[7]


def test_sightings_of_other_tests_or_outside_functions_change_nothing_else() -> None:
    sightings = [Sighting("good", PATH, 7, "n", "1"), Sighting("bad", PATH, 1, "LIMIT", "10")]
    report = trace(BOTH, {"bad": "failed", "good": "passed"}, sightings=sightings)
    scores = by_line(localise(report, {"bad"}, {PATH: FILE}))
    assert scores[7] == 1.0
    assert scores[5] == pytest.approx(1 / math.sqrt(2))


def test_without_a_passing_test_all_lines_of_executed_functions_count() -> None:
    frames = {"bad": [Frame(PATH, 6, "choose")]}
    scores = by_line(localise(trace({"bad": BOTH["bad"]}, {"bad": "failed"}, frames=frames), {"bad"}, {PATH: FILE}))
    assert scores[6] > scores[5] == scores[11] > scores[8] > scores[2]
    assert 14 not in scores


def test_without_any_line_the_imported_modules_count() -> None:
    scores = by_line(localise(trace({}, {"bad": "failed"}), {"bad"}, {PATH: FILE}))
    assert scores[5] == scores[11] == scores[14] > scores[1]


def test_files_that_are_missing_or_cannot_be_read_are_left_out() -> None:
    lines = {"bad": {PATH: [5], "gone.py": [1], "broken.py": [1]}, "good": {PATH: [8], "gone.py": [2]}}
    found = localise(trace(lines, {"bad": "failed", "good": "passed"}), {"bad"}, {PATH: FILE, "broken.py": b"("})
    assert {each.path for each in found} == {PATH}


def test_class_values_that_are_read_get_a_share() -> None:
    text = b"class A:\n    rate = 3\n    spare: int = 4\n\n    def f(self, n):\n        return n * self.rate\n"
    report = trace(
        {"bad": {PATH: [6]}, "good": {PATH: []}}, {"bad": "failed", "good": "passed"}, imported={PATH: [1, 2, 3, 5]}
    )
    scores = by_line(localise(report, {"bad"}, {PATH: text}))
    assert scores[2] > scores[3] > 0


def test_a_real_trace_finds_the_branch_with_the_fault() -> None:
    text = b"def f(n):\n    if n > 3:\n        n -= 1\n        return n\n    n += 0\n    return n\n"
    report = traced(text, "f", [((5,), 6), ((1,), 1), ((2,), 2)])
    found = localise(report, {"0"}, {PATH: text})
    assert {each.line for each in found[:2]} == {3, 4}


USER = b"from table import TABLE\n\ndef look(n):\n    return TABLE[n]\n"
TABLE = textwrap.dedent(
    """\
    LIMIT = 3

    def step(n):
        return n * LIMIT

    def build():
        return [step(n) for n in range(LIMIT)]

    TABLE = build()
    OTHER = [1]

    def unused():
        return TABLE
    """
).encode()


def test_beyond_what_tests_run_the_origin_of_a_value_comes_first() -> None:
    imported = {"user.py": [1, 3], "table.py": [1, 3, 4, 6, 7, 9, 10, 12]}
    lines = {"bad": {"user.py": [4]}, "good": {"user.py": [4]}}
    traced = trace(lines, {"bad": "failed", "good": "passed"}, imported=imported)
    sources = {"user.py": USER, "table.py": TABLE}
    near = localise(traced, {"bad"}, sources)
    assert {each.path for each in near} == {"user.py"}
    found = beyond(traced, near, sources)
    assert [each for each in found if each.path == "user.py"] == near
    scores = by_line([each for each in found if each.path == "table.py"])
    assert scores[4] == scores[7] == scores[9] == pytest.approx(near[0].score * 0.8)
    assert scores[1] == pytest.approx(scores[4] * 0.8)  # LIMIT, which it reads
    assert max(scores[line] for line in (3, 10)) < scores[1] / 4
    assert 13 not in scores  # never ran
    assert next(each.reason for each in found if each.line == 7).startswith("works out TABLE at import")
