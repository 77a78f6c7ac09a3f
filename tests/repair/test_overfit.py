from __future__ import annotations

import pytest

from planexec.repair.edits import Candidate, Edit
from planexec.repair.overfit import expected_values, risk_of

TESTS = {
    "tests/test_a.py": b"""
import pytest

class TestPage:
    @pytest.mark.parametrize("path", ["/x"])
    def test_page(self, path):
        assert page(path) == '/settings'
        assert count() == 42 and ok() is True

def test_other():
    assert page() == '/other'
"""
}


def candidate(before: str, after: str, risk: int = 0) -> Candidate:
    return Candidate(Edit("a.py", 1, 0, 0, b"", "t", 1.0, before, after, "", risk), b"", b"")


def test_expected_values_are_those_of_the_failing_tests_and_not_the_common_ones() -> None:
    found = expected_values(
        TESTS, ["tests/test_a.py::TestPage::test_page[/x]", "tests/gone.py::test"], ["'/stated'", "0"]
    )
    assert found >= {"'/settings'", "42", "'/stated'"}
    assert not found & {"'/other'", "True", "0"}


def test_a_test_file_that_cannot_be_read_expects_nothing() -> None:
    assert expected_values({"tests/t.py": b"("}, ["tests/t.py::test_a"], []) == frozenset()


@pytest.mark.parametrize(
    ("before", "after", "risk", "expected"),
    [
        ("return s['next']", "return s['other']", 0, 0),
        ("return page", "return '/settings'", 0, 2),
        ("n + 1", "n + 42", 0, 2),
        ("return f(n)", "return 7", 0, 2),
        ("x > 1", "True", 2, 2),
        ("a and b", "a", 1, 1),
        ("x + n", "x * 1", 0, 1),
        ("x + n", "x + 0", 0, 1),
        ("x + n", "x ** 1", 0, 1),
        ("sum(x) / len(x)", "len(x) / len(x)", 0, 1),
        ("x + n", "1 * n", 0, 1),
        ("a == b", "a == a", 0, 1),
        ("a and b", "b and b", 0, 1),
        ("a = b", "a = a", 0, 1),
        ("if a < b:", "if a <= b:", 0, 0),
        ("except A", "except B", 0, 0),
        ("else", "))", 0, 0),
    ],
)
def test_risks(before: str, after: str, risk: int, expected: int) -> None:
    found, doubt = risk_of(candidate(before, after, risk), frozenset({"'/settings'", "42", "7"}), frozenset())
    assert found == expected
    assert bool(doubt) == bool(expected)


def test_a_value_that_the_source_writes_itself_is_not_pasted() -> None:
    change = candidate("s['next']", "s['/settings']")
    assert risk_of(change, frozenset({"'/settings'"}), frozenset({"'/settings'"}))[0] == 0
