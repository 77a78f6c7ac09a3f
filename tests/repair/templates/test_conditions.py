from __future__ import annotations

import pytest

from tests.repair.functions import last_lines, repair, texts


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("if a and b: pass", {"if a: pass", "if b: pass"}),
        ("x = a or b or c", {"x = b or c", "x = a or c", "x = a or b"}),
        ("if len(a) == 0: pass", {"if len(a) <= 1: pass", "if len(a) > 0: pass"}),
        ("if a is None: pass", {"if not a: pass"}),
        ("if a: pass", {"if a is not None: pass", "if a > 0: pass", "if a and not a: pass"}),
        ("if a.b: pass", {"if a is not None and a.b: pass", "if not a or a.b: pass"}),
        ("x = a.b", {"x = a.b if a is not None else None", "x = a.b or []"}),
        ("for x in a: pass", {"for x in a or []: pass"}),
    ],
)
def test_wrong_conditions(line: str, wanted: set[str]) -> None:
    assert wanted <= last_lines(line, template="condition")


def test_an_endless_loop_gets_a_condition() -> None:
    found = texts("def f(queue):\n    while True:\n        queue.pop()\n", template="condition")
    assert "def f(queue):\n    while queue:\n        queue.pop()\n" in found


def test_a_clause_takes_what_the_function_compares() -> None:
    text = "def f(a, b):\n    if a == 3:\n        b = 1\n    if b: a = 2"
    assert "if b and a == 3: a = 2" in last_lines(text, template="condition")


def test_a_missing_guard_is_repaired() -> None:
    result = repair(
        """
        def ways(coins, total):
            if total == 0:
                return 1
            if total < 0:
                return 0
            first, *rest = coins
            return ways(coins, total - first) + ways(rest, total)
        """,
        "ways",
        [(([1, 5], 7), 2), (([3], 0), 1), (([3], -1), 0), (([2], 3), 0)],
        at="if total < 0",
    )
    assert result.survivors[0].template == "condition"
    assert "not coins" in result.survivors[0].after
