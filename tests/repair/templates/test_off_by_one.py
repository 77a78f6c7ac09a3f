from __future__ import annotations

import pytest

from tests.repair.functions import last_lines, repair


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("x = a[3]", {"x = a[4]", "x = a[2]"}),
        ("x = a[-1]", {"x = a[-2]", "x = a[0]"}),
        ("x = a + 1", {"x = a", "x = a + 2", "x = a + 0"}),
        ("x = 1 + f(a)", {"x = f(a)"}),
        ("x = (a - 1) * b", {"x = a * b"}),
        ("x = range(n)", {"x = range(n + 1)", "x = range(n - 1)", "x = range(1, n)", "x = range(1, n + 1)"}),
        ("x = range(a, b)", {"x = range(b)", "x = range(a, b + 1)", "x = range(a + 1, b)", "x = range(a, b, -1)"}),
        ("x = range(len(a))", {"x = range(len(a) - 1)", "x = range(1, len(a))"}),
        ("x = range(a if b else c)", {"x = range((a if b else c) + 1)"}),
        ("x = a[:k]", {"x = a[:k + 1]", "x = a[:k - 1]", "x = a[k:]", "x = a[:]"}),
        ("x = a[k:]", {"x = a[:k]", "x = a[k + 1:]", "x = a[k:-1]"}),
        ("x = a[i:j]", {"x = a[i:]", "x = a[:j]", "x = a[i + 1:j]"}),
        ("x = a[i]", {"x = a[i + 1]", "x = a[i - 1]"}),
        ("x = a[i, j]", {"x = a[i - 1, j]", "x = a[i, j + 1]"}),
        ("x = a < b", {"x = a < b + 1", "x = a - 1 < b"}),
        ("f(a, b * c)", {"f(a + 1, b * c)", "f(a, b * c - 1)"}),
    ],
)
def test_one_too_many_or_too_few(line: str, wanted: set[str]) -> None:
    assert wanted <= last_lines(line, template="off-by-one")


def test_truth_values_and_text_have_no_neighbours() -> None:
    assert last_lines("x = True", template="off-by-one") == set()
    assert last_lines("x = 'a' < 'b'", template="off-by-one") == set()


def test_a_bound_is_repaired() -> None:
    result = repair(
        """
        def triangle(n):
            total = 0
            for i in range(n):
                total += i
            return total
        """,
        "triangle",
        [((3,), 6), ((4,), 10), ((0,), 0)],
    )
    assert any(each.after == "range(n + 1)" for each in result.survivors)
