"""What tests print, for reading: no colours, no paths of this machine, and what repeats only once."""

from __future__ import annotations

import re

_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_LONGEST = 12
"""Lines of a piece that may repeat: two frames of a traceback with their source."""


def readable(text: str, root: str) -> str:
    """``text`` without escapes of terminals, with paths relative to ``root``, repeated pieces folded."""
    text = _COLOUR.sub("", text).replace(f"{root.rstrip('/')}/", "")
    return "\n".join(folded(text.split("\n")))


def folded(lines: list[str]) -> list[str]:
    """The lines with each piece that follows itself, such as the frames of a recursion, told once with a count."""
    kept: list[str] = []
    place = 0
    while place < len(lines):
        size, times = _repetition(lines, place)
        if times > 2:
            kept += [*lines[place : place + size], f"[... the last {size} lines {times - 1} more times ...]"]
            place += size * times
        else:
            kept.append(lines[place])
            place += 1
    return kept


def _repetition(lines: list[str], place: int) -> tuple[int, int]:
    """The size of the piece at ``place`` that follows itself most lines long, and how often it stands there."""
    best = (1, 1)
    for size in range(1, _LONGEST + 1):
        piece, times = lines[place : place + size], 1
        while any(piece) and lines[place + size * times : place + size * (times + 1)] == piece:
            times += 1
        if times > 2 and size * times > best[0] * best[1]:
            best = (size, times)
    return best
