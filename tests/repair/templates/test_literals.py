from __future__ import annotations

import pytest

from tests.repair.functions import candidates, last_lines, repair


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("x = True", {"x = False", "x = None"}),
        ("x = None", {"x = False", "x = True", "x = 0", "x = []", "x = ''"}),
        ("x = 5", {"x = 0", "x = 1", "x = -1", "x = 50", "x = None", "x = 10", "x = 5.0"}),
        ("x = 100", {"x = 10", "x = 50", "x = 1000"}),
        ("x = 0.5", {"x = 5.0", "x = 0.05"}),
        ("x = ','", {"x = ';'", "x = ''", "x = ' '"}),
        ("x = 'Ab '", {"x = 'ab '", "x = 'AB '", "x = 'Ab'"}),
        ("x = []", {"x = {}", "x = set()", "x = None", "x = [[]]"}),
        ("x = {}", {"x = []", "x = None"}),
        ("x = [a, b]", {"x = []", "x = [a]", "x = [b]"}),
        ("x = {a, (b), c}", {"x = {(b), c}", "x = {a, c}", "x = {a, (b)}"}),
        ("x = ('a', 'b')", {"x = ('a',)", "x = ('b',)"}),
        ("x = a, b", {"x = a,", "x = b,"}),
        ("x = (a, b,)", {"x = (a,)", "x = (b,)"}),
        ("x = (a + b,)", {"x = (a + b)"}),
        ("x = (\n    'a'\n    'b',)", {"'b')"}),
        ("x = a,", {"x = a"}),
        ("x = (*a, b)", {"x = (*a,)", "x = (b,)"}),
        ("f(a)", {"f(None)", "f(0)"}),
    ],
)
def test_wrong_literals(line: str, wanted: set[str]) -> None:
    assert wanted <= last_lines(line, template="literal")


def test_an_empty_list_is_filled_from_the_function() -> None:
    assert "return [n]" in last_lines("def f(n):\n    return []", template="literal")


def test_a_constant_condition_is_marked() -> None:
    risks = {each.edit.after: each.edit.risk for each in candidates("def f(a):\n    if a.b:\n        return 1\n")}
    assert risks["True"] == risks["False"] == 2


def test_a_literal_is_repaired() -> None:
    result = repair(
        """
        def chosen(items, size):
            if size == 0:
                return []
            return [[each, *rest] for at, each in enumerate(items) for rest in chosen(items[at + 1:], size - 1)]
        """,
        "chosen",
        [(([1, 2, 3], 2), [[1, 2], [1, 3], [2, 3]]), (([1], 2), [])],
    )
    assert result.survivors[0].after == "return [[]]"
