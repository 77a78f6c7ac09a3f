from __future__ import annotations

import pytest

from tests.repair.functions import last_lines, repair


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x = a + b * c", {"x = a", "x = b * c", "x = a + b", "x = a + c"}),
        (
            "def f(a, b):\n    return a",
            {"return a - b", "return b + a", "return a ** 2", "return a[b]", "return a[b:]"},
        ),
        ("x = f(a)", {"x = max(0, f(a))", "x = max(x, f(a))", "x = f(a)[1:]", "x = f(a[0])", "x = f(a[::-1])"}),
        ("x = a[i]", {"x = a"}),
    ],
)
def test_wrong_expressions(text: str, wanted: set[str]) -> None:
    assert wanted <= last_lines(text, template="expression")


def test_wrong_return_values() -> None:
    found = last_lines("def f(a, depth):\n    g(a)\n    return True", template="return")
    assert {"return a", "return depth == 0", "return not depth", "return g(a)", "return [a]"} <= found
    assert last_lines("def f(a):\n    return", template="return") == set()


def test_a_missing_term_is_repaired() -> None:
    result = repair(
        """
        def best(values):
            here = top = 0
            for value in values:
                here = here + value
                top = max(top, here)
            return top
        """,
        "best",
        [(([4, -5, 2, 1, -1, 3],), 5), (([3, 4],), 7), (([-4],), 0)],
        at="here = here",
    )
    assert result.survivors[0].after == "here = max(0, here + value)"


def test_a_return_value_is_repaired() -> None:
    result = repair(
        """
        def balanced(text):
            depth = 0
            for letter in text:
                depth += 1 if letter == "(" else -1
                if depth < 0:
                    return False
            return True
        """,
        "balanced",
        [(("()",), True), (("((",), False), ((")(",), False), (("",), True)],
    )
    assert result.survivors[0].template == "return"
