from __future__ import annotations

import pytest

from tests.repair.functions import last_lines, repair, texts


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("x = a - b", {"x = b - a"}),
        ("x = a + b", {"x = b + a"}),
        ("x = a - (b + c)", {"x = (b + c) - a", "x = a - (c + b)"}),
        ("x = (a - b) / c", {"x = c / (a - b)"}),
        ("x = a - b - c", {"x = c - (a - b)", "x = b - a - c"}),
        ("x = a ** b", {"x = b ** a"}),
        ("x = a in b", {"x = b in a"}),
        ("f(a, b, c)", {"f(b, a, c)", "f(a, c, b)", "f(c, b, a)"}),
        ("f(a, k=b, m=c)", {"f(a, k=c, m=b)", "f(b, k=a, m=c)"}),
        ("x, y = a, b", {"x, y = b, a", "y, x = a, b"}),
        ("x = [a, b]", {"x = [b, a]"}),
        ("x = {k: v for k, v in a}", {"x = {v: k for k, v in a}", "x = {k: v for v, k in a}"}),
        ("x = a[b:c]", {"x = a[c:b]"}),
        ("x = a if c else b", {"x = b if c else a"}),
        ("x = (a if c else b) if d else e", {"x = e if d else (a if c else b)"}),
        ("x = a.f(b)", {"x = b.f(a)"}),
        ("x = a[b]", {"x = b[a]"}),
    ],
)
def test_wrong_order(line: str, wanted: set[str]) -> None:
    assert wanted <= last_lines(line, template="swap")


def test_the_text_between_the_places_stays() -> None:
    assert "f(b ,  # one\n  a)" in texts("f(a ,  # one\n  b)", template="swap")
    result = repair(
        """
        def ratio(part, whole):
            return divide(whole,  # of what
                          part)


        def divide(a, b):
            return a / b
        """,
        "ratio",
        [((1, 2), 0.5), ((3, 3), 1.0)],
    )
    assert any(b"divide(part,  # of what\n                  whole)" in each.content for each in result.survivors)


def test_swapped_arguments_are_repaired() -> None:
    result = repair(
        """
        def gcd(a, b):
            if b == 0:
                return a
            return gcd(a % b, b)
        """,
        "gcd",
        [((17, 0), 17), ((12, 18), 6), ((35, 21), 7)],
    )
    assert result.survivors[0].after == "return gcd(b, a % b)"
