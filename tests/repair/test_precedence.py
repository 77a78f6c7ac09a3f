from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planexec.repair.precedence import required, strength, strength_of_text

EXPRESSIONS = [
    "a", "a.b", "a[0]", "f(x)", "-a", "not a", "a + b", "a * b", "a ** b", "a << b", "a | b", "a ^ b", "a & b",
    "a and b", "a or b", "a < b", "a if b else c", "lambda: a", "[a]", "(a, b)", "1", "'s'", "(yield)", "a % b",
]  # fmt: skip
FRAMES = [
    "{} + y", "y + {}", "{} * y", "y - {}", "{} ** y", "y ** {}", "-{}", "not {}", "{} and y", "y or {}",
    "{} < y", "y in {}", "{} if y else z", "y if {} else z", "y if z else {}", "{}.attr", "{}[0]", "{}(1)",
    "f({})", "y[{}]", "[{}]", "y | {}", "{} & y", "y << {}", "(y, {})", "f(*{})", "[i for i in {}]", "lambda: {}",
]  # fmt: skip


@given(st.sampled_from(EXPRESSIONS), st.sampled_from(FRAMES))
def test_without_parentheses_exactly_where_the_meaning_stays(expression: str, frame: str) -> None:
    """The table against the parser: where it says that parentheses are not needed, the tree is the same without."""
    grouped = ast.parse(f"def g():\n    return {frame.format(f'({expression})')}")
    hole = next(
        (parent, field)
        for parent, field, node in _children(ast.parse(frame.format("HOLE")))
        if isinstance(node, ast.Name) and node.id == "HOLE"
    )
    if strength_of_text(expression) >= required(*hole):
        bare = ast.parse(f"def g():\n    return {frame.format(expression)}")
        assert ast.dump(bare) == ast.dump(grouped)


def _children(tree: ast.AST) -> list[tuple[ast.AST, str, ast.AST]]:
    found = []
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            found += [(parent, field, each) for each in (value if isinstance(value, list) else [value])]
    return found


def test_common_places_need_no_parentheses() -> None:
    call = ast.parse("f(a, b)", mode="eval").body
    assert strength_of_text("x if y else z") >= required(call, "args")
    total = ast.parse("a + b", mode="eval").body
    assert strength_of_text("a * b") >= required(total, "right")
    assert strength_of_text("a - b") < required(total, "right")
    assert strength_of_text("a - b") >= required(total, "left")


@pytest.mark.parametrize(("text", "bare"), [("a, b", True), ("(a, b)", False), ("(a), (b)", True), ("()", False)])
def test_a_tuple_is_weak_only_without_its_parentheses(text: str, bare: bool) -> None:
    node = ast.parse(text, mode="eval").body
    assert (strength(node, text) == 0) is bare


def test_what_is_no_expression_counts_as_the_weakest() -> None:
    assert strength_of_text("a +") == 0
    assert strength_of_text("(yield)") == strength_of_text("(a + b)") == 16
    assert strength_of_text("(a) + (b)") == 11
