"""Host-supplied: hidden from whoever writes the fix."""

from __future__ import annotations

import pytest
from parcelrates.listing import price_list


@pytest.mark.parametrize(
    ("line", "prices"), [(5, "12.20 15.40 20.10"), (6, "20.10 23.30 28.00"), (8, "28.80 32.00 36.70")]
)
def test_the_handling_charge_is_in_the_list_from_20_kg(line: int, prices: str) -> None:
    assert price_list().splitlines()[line].split()[2:] == prices.split()
