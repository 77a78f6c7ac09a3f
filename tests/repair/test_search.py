from __future__ import annotations

import random
import threading
import time
from collections.abc import Mapping, Sequence

import pytest

from planexec.repair.localise import Suspicion
from planexec.repair.search import SearchRequest, SearchResult, search, seconds_allowed
from planexec.testing.outcomes import Judgement, TestOutcome, TestReport
from tests.repair.functions import PATH, everywhere, repair

# Candidates are nonsense now and then, and the compiler says so.
pytestmark = pytest.mark.filterwarnings("ignore::SyntaxWarning")

TEXT = b"""def largest(values):
    best = values[0]
    for value in values:
        if value < best:
            best = value
    return best
"""


class Direct:
    """Executes the candidate in this process: for functions that cannot hang. Keeps what it was asked."""

    def __init__(self, checks: Mapping[str, str], *, delay: float = 0.0, seed: int = 0) -> None:
        self.checks, self.delay, self.random = checks, delay, random.Random(seed)
        self.asked: list[tuple[bytes, tuple[str, ...]]] = []
        self.busy = threading.Lock()

    def judge(self, changes: Mapping[str, bytes], ids: Sequence[str], *, seconds: float) -> Judgement:
        assert self.busy.acquire(blocking=False), "one judge is never asked twice at once"
        try:
            assert seconds > 0
            self.asked.append((changes[PATH], tuple(ids)))
            time.sleep(self.random.random() * self.delay)
            for test in ids:
                values: dict[str, object] = {}
                try:
                    exec(changes[PATH], values)
                    if not eval(self.checks[test], values):
                        return Judgement("failed", [test])
                except Exception as error:
                    return Judgement("failed", [test], str(error))
            return Judgement("passed")
        finally:
            self.busy.release()


CHECKS = {"up": "largest([1, 2, 3]) == 3", "down": "largest([3, 1]) == 3", "one": "largest([7]) == 7"}


def ask(judges: Sequence[Direct] | None = None, **more: object) -> SearchResult:
    values: dict[str, object] = {
        "sources": {PATH: TEXT},
        "suspicions": everywhere(TEXT, text_lines=[2, 4, 5, 6]),
        "failing": ["up", "down"],
        "covering": ["one"],
        "seconds": 60.0,
    }
    request = SearchRequest(**{**values, **more})  # type: ignore[arg-type]
    return search(request, *(judges or [Direct(CHECKS)]))


def test_the_fault_is_found_and_the_simplest_patch_leads() -> None:
    result = ask()
    best = result.survivors[0]
    assert best.after == "value > best"
    assert best.content == TEXT.replace(b"value < best", b"value > best")
    assert (best.path, best.line, best.template, best.risk) == (PATH, 4, "operator", 0)
    assert result.tried == sum(result.by_template.values()) == sum(result.outcomes.values())
    assert result.outcomes["passed"] == len(result.survivors)
    assert result.generated >= result.tried >= result.first_found > 0


def test_failing_ids_come_first_and_covering_ones_only_for_those_that_pass() -> None:
    judge = Direct(CHECKS)
    result = ask([judge])
    assert judge.asked[0][1] == ("up", "down")
    covering = [content for content, ids in judge.asked if ids == ("one",)]
    assert {each.content for each in result.survivors} <= set(covering)
    assert len(covering) < len(judge.asked) / 4


def test_a_candidate_that_breaks_a_covering_test_is_no_survivor() -> None:
    checks = {**CHECKS, "one": "False"}
    result = ask([Direct(checks)], candidates=40)
    assert result.survivors == []
    assert result.first_found == 0


def test_what_was_refuted_before_is_passed_over() -> None:
    failed: set[bytes] = set()
    first = ask(failed=failed)
    assert len(failed) == first.tried - len(first.survivors) > 0
    again = ask(failed=failed, candidates=first.tried)
    assert again.survivors[0].content == first.survivors[0].content
    assert again.first_found == 1 and set(again.outcomes) <= {"passed", "failed", "error", "timeout"}
    assert len(failed) == first.tried - len(first.survivors) + again.tried - len(again.survivors)


def test_files_that_do_not_stand_up_to_other_tests_are_passed_over() -> None:
    first = ask(covering=())
    gone = {each.content for each in first.survivors}
    judge = Direct(CHECKS)
    again = ask([judge], covering=(), refuted=lambda content: content in gone)
    assert not gone & {content for content, _ in judge.asked}
    assert not gone & {each.content for each in again.survivors}
    assert again.ended == "exhausted"  # none of them counts as one that was compared


def test_other_patches_that_pass_are_reported_as_disagreeing() -> None:
    result = ask(failing=["up"], covering=[], further=60)
    assert result.ended == "enough"
    afters = [each.after for each in result.survivors]
    assert "value > best" in afters
    assert len(afters) > 2
    assert 0 < result.disagreeing < len(afters)


def test_the_same_patch_in_other_words_does_not_disagree() -> None:
    result = repair(
        """
        def some(values):
            return len(values) > 1
        """,
        "some",
        [(([1],), True), (([],), False), (([1, 2],), True)],
        further=60,
    )
    forms = {each.after for each in result.survivors if "len(values) >" in each.after}
    assert {"return len(values) > 0", "return len(values) >= 1"} <= forms
    assert result.disagreeing < len(result.survivors) - 1


def test_over_fitted_patches_come_last() -> None:
    source = b"CAP = 6 * 7\n\n\ndef limit():\n    return 5\n"
    tests = {"tests/test_limit.py": b"def test_limit():\n    assert limit() == 42\n", "app/other.py": b"X = 42\n"}
    checks = {"tests/test_limit.py::test_limit": "limit() == 42"}
    result = ask(
        [Direct(checks)],
        sources={PATH: source, **tests},
        suspicions=everywhere(source, text_lines=[5]),
        failing=list(checks),
        covering=[],
        reach="wide",
        further=500,
        editable=lambda path: path == PATH,
    )
    assert [(each.after, each.risk) for each in result.survivors] == [("return CAP", 0), ("return 42", 2)]
    assert "the test expects" in result.survivors[1].doubt


def test_several_judges_give_the_same_result_whatever_their_speed() -> None:
    def summary(result: SearchResult) -> tuple[object, ...]:
        survivors = [(each.content, each.rank) for each in result.survivors]
        return survivors, result.tried, result.ended, result.disagreeing, result.by_template, result.first_found

    alone = summary(ask(further=30))
    for seed in range(3):
        judges = [Direct(CHECKS, delay=0.01, seed=10 * seed + number) for number in range(3)]
        assert summary(ask(judges, further=30)) == alone
        assert all(judge.asked for judge in judges)


def test_only_editable_files_change() -> None:
    sources = {PATH: TEXT, "tests/test_a.py": TEXT}
    suspicions = [*everywhere(TEXT), *everywhere(TEXT, "tests/test_a.py")]
    judge = Direct({"never": "False"})
    result = ask([judge], sources=sources, suspicions=suspicions, failing=["never"], editable=lambda path: path == PATH)
    assert result.ended == "exhausted"
    assert result.tried == len(judge.asked) > 0
    nothing = ask([judge], sources=sources, suspicions=suspicions, failing=["never"], editable=lambda path: False)
    assert (nothing.tried, nothing.ended) == (0, "exhausted")


def test_the_number_of_candidates_is_a_limit() -> None:
    result = ask([Direct({"never": "False"})], failing=["never"], candidates=7)
    assert (result.tried, result.ended) == (7, "candidates")


def test_time_is_a_limit() -> None:
    started = time.monotonic()
    result = ask([Direct({"never": "False"}, delay=0.1)], failing=["never"], seconds=0.5, reach="wide")
    assert result.ended == "time"
    assert 0 < result.tried < 60
    assert time.monotonic() - started < 5


class Hanging:
    """Each candidate takes all the time that it is given."""

    def judge(self, changes: Mapping[str, bytes], ids: Sequence[str], *, seconds: float) -> Judgement:
        time.sleep(seconds)
        return Judgement("timeout")


def test_candidates_that_hang_are_rejected_and_the_one_cut_short_does_not_count() -> None:
    request = SearchRequest({PATH: TEXT}, everywhere(TEXT), ["up"], seconds=0.7, judgement_seconds=0.2, progress=None)
    result = search(request, Hanging())
    assert result.ended == "time"
    assert result.outcomes == {"timeout": result.tried}
    assert 1 <= result.tried <= 3


class Broken:
    """A judge whose process is gone."""

    def judge(self, changes: Mapping[str, bytes], ids: Sequence[str], *, seconds: float) -> Judgement:
        raise BrokenPipeError("gone")


def test_the_error_of_a_judge_is_the_caller_s() -> None:
    request = SearchRequest({PATH: TEXT}, everywhere(TEXT), ["up"])
    with pytest.raises(BrokenPipeError):
        search(request, Broken(), Broken())
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("judge")]


def test_a_search_needs_a_judge() -> None:
    with pytest.raises(ValueError, match="at least one judge"):
        search(SearchRequest({PATH: TEXT}, everywhere(TEXT), ["up"]))


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    result = ask(progress=lambda tried, found: told.append((tried, found)))
    assert [tried for tried, _ in told] == list(range(1, result.tried + 1))
    assert told[-1][1] == len(result.survivors)


def test_the_search_goes_on_only_in_the_neighbourhood_of_the_first_survivor() -> None:
    result = ask(further=5)
    assert result.ended == "enough"
    assert result.tried == result.first_found + 5


def test_files_that_cannot_be_read_are_passed_over() -> None:
    suspicions = [Suspicion("broken.py", 1, 1.0, ""), *everywhere(TEXT)]
    result = ask(sources={PATH: TEXT, "broken.py": b"def ("}, suspicions=suspicions)
    assert result.survivors[0].after == "value > best"


def test_nothing_suspected_ends_at_once() -> None:
    result = ask(suspicions=[])
    assert (result.ended, result.tried, result.survivors, result.disagreeing) == ("exhausted", 0, [], 0)


def test_the_time_for_a_candidate_follows_the_base() -> None:
    outcomes = {
        name: TestOutcome(name, "passed", seconds=seconds) for name, seconds in (("a", 0.1), ("b", 0.4), ("c", 9))
    }
    report = TestReport(outcomes, {}, True, "", 0, False, 9.5, "")
    assert seconds_allowed(report, ["a", "unknown"]) == 2.0
    assert seconds_allowed(report, ["a", "b"]) == pytest.approx(5.0)
    assert seconds_allowed(report, ["a", "b", "c"]) == 20.0
    slow = TestReport(outcomes, {}, True, "", 0, False, 11.0, "")  # 1.5 s beside its tests
    assert seconds_allowed(report, ["a"], slow) == pytest.approx(5.0)
