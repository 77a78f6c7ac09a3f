from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planexec.core.durations import seconds_of, told
from planexec.core.errors import UsageError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("10m", 600), ("1h", 3600), ("1.5h", 5400), (" 2 m ", 120), ("0.5", 0.5)],
)
def test_a_time_as_it_is_typed(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "0m", "-5", "ten", "1d", "1h30", "inf", "nan", "1e3", "9" * 400, "\u0663"])
def test_what_is_no_time_above_zero_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a time above zero"):
        seconds_of(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(45, "45 s"), (90, "90 s"), (300, "5 min"), (3600, "1 h"), (5400, "1 h 30 min"), (0.5, "0.5 s")],
)
def test_a_time_for_people(seconds: float, text: str) -> None:
    assert told(seconds) == text


@given(st.integers(1, 10**6))
def test_every_whole_number_of_each_unit_is_read(number: int) -> None:
    assert seconds_of(f"{number}h") == 60 * seconds_of(f"{number}m") == 3600 * seconds_of(f"{number}s")
