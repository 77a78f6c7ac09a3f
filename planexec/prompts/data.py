"""Text that is not ours in a prompt: between marks, bounded, with nothing in it that a reader could not see.

What stands between the marks is data: nothing in it changes who may do what. A text that holds a mark itself has it
broken up, and control and zero-width characters are shown as escapes.
"""

from __future__ import annotations

import unicodedata

BEGIN, END = "<<<DATA", "DATA>>>"
HIDDEN = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
SHOWN = frozenset("\n\t")


def quoted(title: str, text: str, limit: int) -> str:
    """``text`` between marks under ``title``, at most ``limit`` characters of it: the head and the tail."""
    return f"{BEGIN} {visible(title)}\n{cut(visible(text), limit)}\n{END}"


def visible(text: str) -> str:
    """The text with its hidden characters as escapes and without our marks."""
    text = text.replace("\r\n", "\n")
    hidden = [each for each in set(text) if unicodedata.category(each) in HIDDEN and each not in SHOWN]
    for each in hidden:
        text = text.replace(each, each.encode("unicode_escape", "surrogatepass").decode("ascii"))
    return text.replace(BEGIN, "<<< DATA").replace(END, "DATA >>>")


def cut(text: str, limit: int, head_part: float = 2 / 3) -> str:
    """Head and tail of a text that is longer than ``limit`` characters; the result is never longer than that.
    ``head_part`` of what is shown is the head.
    """
    if len(text) <= limit:
        return text
    said = f"\n[... {len(text) - limit} or more characters left out ...]\n"
    room = limit - len(said)
    if room < 2:
        return text[:limit]
    head = int(room * head_part)
    return text[:head] + said + text[len(text) - (room - head) :]


def listed(lines: list[str], limit: int) -> str:
    """Lines one below the other, as many as fit into ``limit`` characters, and how many more there are."""
    kept: list[str] = []
    left = limit - 40
    for number, line in enumerate(lines):
        left -= len(line) + 1
        if left < 0:
            kept.append(f"(and {len(lines) - number} more)")
            break
        kept.append(line)
    return "\n".join(kept)
