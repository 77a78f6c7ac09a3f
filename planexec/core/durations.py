"""Durations as people type them."""

from __future__ import annotations

import math
import re

from planexec.core.errors import UsageError

_DURATION = re.compile(r"(?P<count>\d+(\.\d+)?)\s*(?P<unit>s|m|h|)", re.ASCII)
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds_of(text: str, what: str = "--budget") -> float:
    """``90``, ``90s``, ``10m``, ``1.5h`` as seconds. Raises UsageError for anything else, and for nothing at all."""
    found = _DURATION.fullmatch(text.strip())
    seconds = float(found["count"]) * _SECONDS[found["unit"]] if found else 0.0
    if not 0 < seconds < math.inf:
        raise UsageError(f"{what} '{text}' is not a time above zero", "give seconds, or a number with m or h: 10m, 1h")
    return seconds


def told(seconds: float) -> str:
    """Seconds for people: ``45 s``, ``5 min``, ``1 h 30 min``."""
    if seconds < 60 or (seconds < 3600 and seconds % 60):
        return f"{seconds:g} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return " ".join([*([f"{hours} h"] if hours else []), *([f"{minutes} min"] if minutes or not hours else [])])
