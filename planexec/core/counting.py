"""Numbers with their nouns."""

from __future__ import annotations


def count_of(number: int, one: str, many: str = "") -> str:
    """``1 test``, ``2 tests``; ``many`` is the plural where it is not ``one`` with an s."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"
