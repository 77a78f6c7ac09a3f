from __future__ import annotations

import pytest

from tests.repair.functions import last_lines, repair, texts


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("if a < b: pass", {"if a <= b: pass", "if a > b: pass", "if a >= b: pass", "if a == b: pass"}),
        ("x = a<b", {"x = a<=b"}),
        ("x = a==b", {"x = a!=b", "x = a in b", "x = a is b"}),
        ("x = a is None", {"x = a is not None", "x = a == None"}),
        ("x = a is not b", {"x = a is b", "x = a != b"}),
        ("x = a not in b", {"x = a in b"}),
        ("x = a < b <= c", {"x = a <= b <= c", "x = a < b < c"}),
        ("x = a + b", {"x = a - b", "x = a * b"}),
        ("x = a + b * c", {"x = a * (b * c)", "x = a + b / c"}),
        ("x = a * (b - c)", {"x = a ** (b - c)", "x = a + (b - c)", "x = a * (b + c)"}),
        ("x = (a - b) ** 2", {"x = (a - b) * 2"}),
        ("x = -a * b", {"x = (-a) ** b", "x = a * b"}),
        ("x = a // b", {"x = a / b", "x = a % b"}),
        ("x = a << b", {"x = a >> b"}),
        ("x = a and b or c", {"x = (a and b) and c", "x = (a or b) or c"}),
        ("x = a and (b or c)", {"x = a or (b or c)", "x = a and (b and c)"}),
        ("x += a", {"x -= a", "x = a", "x *= a"}),
        ("x = a", {"x += a", "x |= a"}),
        ("x = not a", {"x = a"}),
        ("x = ~a", {"x = a", "x = -a"}),
        ("x = -a + b", {"x = a + b"}),
        ("if a: pass", {"if not a: pass"}),
        ("if a and b: pass", {"if not (a and b): pass", "if not a and b: pass", "if a or b: pass"}),
        ("x = [i for i in a if i.ok]", {"x = [i for i in a if not i.ok]"}),
        ("f(a, b)", {"f(-a, b)", "f(a, -b)"}),
    ],
)
def test_wrong_operators(line: str, wanted: set[str]) -> None:
    assert wanted <= last_lines(line, template="operator")


def test_formatting_and_joining_of_text_are_left_alone() -> None:
    found = last_lines("x = 'a %s' % b", template="operator") | last_lines("x = a + 'b'", template="operator")
    assert found
    assert not {each for each in found if each.startswith(("x = 'a %s' ", "x = a ")) and "-b" not in each}


def test_a_row_of_operands_keeps_its_layout() -> None:
    assert "x = (a  # why\n     or b)" in texts("x = (a  # why\n     and b)", template="operator")


def test_a_boundary_is_repaired() -> None:
    result = repair(
        """
        def grade(points):
            if points > 50:
                return "pass"
            return "fail"
        """,
        "grade",
        [((50,), "pass"), ((51,), "pass"), ((49,), "fail"), ((10,), "fail")],
    )
    best = result.survivors[0]
    assert (best.template, best.before, best.after) == ("operator", "points > 50", "points >= 50")


def test_an_augmented_operator_is_repaired() -> None:
    result = repair(
        """
        def ones(n):
            count = 0
            while n and count < 99:
                n ^= n - 1
                count += 1
            return count
        """,
        "ones",
        [((7,), 3), ((8,), 1), ((0,), 0)],
    )
    assert result.survivors[0].after == "n &= n - 1"
