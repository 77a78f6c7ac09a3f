from __future__ import annotations

import pytest

from planexec.repair.canonical import canonical


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a > b", "b < a"),
        ("a >= b", "b <= a"),
        ("a == b", "b == a"),
        ("not a == b", "a != b"),
        ("not a in b", "a not in b"),
        ("not a is None", "a is not None"),
        ("len(a) > 0", "len(a) >= 1"),
        ("len(a) != 0", "len(a) > 0"),
        ("len(a) == 0", "len(a) < 1"),
        ("0 == len(a)", "len(a) <= 0"),
        ("a + 0", "a"),
        ("a - 0", "a"),
        ("1 + a", "a + 1"),
        ("range(0, n)", "range(n)"),
        ("max(a, 0)", "max(0, a)"),
        ("a[0:n]", "a[:n]"),
        ("(a)", "a"),
        ("-1", "- 1"),
    ],
)
def test_the_same_in_other_words(one: str, other: str) -> None:
    assert canonical(one.encode()) == canonical(other.encode())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a > b", "a < b"),
        ("a > 0", "a >= 1"),
        ("not a < b", "a >= b"),
        ("a + b", "b + a"),
        ("a < b < c", "c > b > a"),
        ("range(1, n)", "range(n)"),
        ("a[0:n:2]", "a[:n:2][1]"),
        ("len(a) > 1", "len(a) > 0"),
        ("f(a, b)", "f(b, a)"),
        ("a - b", "b - a"),
        ("-a", "a"),
    ],
)
def test_what_differs_stays_different(one: str, other: str) -> None:
    assert canonical(one.encode()) != canonical(other.encode())
