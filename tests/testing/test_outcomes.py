from __future__ import annotations

import msgspec
import pytest

from planexec.testing.outcomes import Judgement, TestOutcome, TestReport


def report(*outcomes: TestOutcome, trusted: bool = True, errors: dict[str, str] | None = None) -> TestReport:
    return TestReport({each.id: each for each in outcomes}, errors or {}, trusted, "", 1, False, 0.1, "")


@pytest.mark.parametrize(
    ("outcome", "red"),
    [
        (TestOutcome("a", "failed", "call", "AssertionError"), True),
        (TestOutcome("a", "failed", "call", ""), False),  # a strict xfail that passed
        (TestOutcome("a", "error", "setup", "RuntimeError"), False),
        (TestOutcome("a", "error", "teardown", "RuntimeError"), False),
        (TestOutcome("a", "passed"), False),
        (TestOutcome("a", "xfailed", "call", "AssertionError"), False),
    ],
)
def test_red_in_body_is_an_exception_of_the_test_itself(outcome: TestOutcome, red: bool) -> None:
    assert outcome.red_in_body is red


def test_green_needs_trust_a_passed_test_and_nothing_red() -> None:
    passed, failed = TestOutcome("a", "passed"), TestOutcome("b", "failed")
    assert report(passed, TestOutcome("c", "skipped")).green
    assert not report(passed, failed).green
    assert not report(TestOutcome("c", "skipped")).green
    assert not report(passed, trusted=False).green
    assert not report(passed, errors={"test_x.py": "SyntaxError"}).green


def test_ids_by_status_keep_their_order() -> None:
    found = report(TestOutcome("b", "failed"), TestOutcome("a", "error"), TestOutcome("c", "passed"))
    assert found.with_status("failed", "error") == ["b", "a"]


@pytest.mark.parametrize("value", [report(TestOutcome("a", "passed")), Judgement("timeout", ["a"], "late", 3.0)])
def test_they_can_be_stored_and_read_back(value: object) -> None:
    assert msgspec.json.decode(msgspec.json.encode(value), type=type(value)) == value
