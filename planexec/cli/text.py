"""Untrusted text on its way to a terminal: no escapes, no bidirectional or invisible characters, no undecodable
bytes.
"""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")


def clean(text: str, *, keep_lines: bool = False) -> str:
    """``text`` with everything that could steer a terminal made visible; line ends become spaces unless kept."""
    kept = []
    for character in text:
        if (character == "\n" and keep_lines) or character == "\t":
            kept.append(character)
        elif character in "\r\n":
            kept.append(" ")
        elif 0xDC80 <= ord(character) <= 0xDCFF or 0xD800 <= ord(character) <= 0xDFFF:
            kept.append(f"\\x{ord(character) & 0xFF:02x}")
        elif _INVISIBLE.match(character) or unicodedata.category(character) == "Cc":
            kept.append(f"\\u{ord(character):04x}")
        else:
            kept.append(character)
    return "".join(kept)
