from __future__ import annotations

import pytest

from planexec.core.counting import count_of


@pytest.mark.parametrize(("number", "text"), [(0, "0 tests"), (1, "1 test"), (2, "2 tests")])
def test_a_number_has_its_noun(number: int, text: str) -> None:
    assert count_of(number, "test") == text


def test_an_odd_plural_is_given() -> None:
    assert [count_of(n, "test passes", "tests pass") for n in (1, 3)] == ["1 test passes", "3 tests pass"]
