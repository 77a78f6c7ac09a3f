from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planexec.cli.text import clean


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, ünï and 中文", "plain text, ünï and 中文"),
        ("\x1b[31mred\x1b[0m", "\\u001b[31mred\\u001b[0m"),
        ("two\nlines\r\n", "two lines  "),
        ("a\u202eb", "a\\u202eb"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("caf\udce9", "caf\\xe9"),
        ("tab\tstays", "tab\tstays"),
    ],
)
def test_what_a_terminal_gets(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_lines_are_kept_where_asked() -> None:
    assert clean("a\nb\x07", keep_lines=True) == "a\nb\\u0007"


@given(st.text(st.characters()))
def test_nothing_steers_a_terminal(text: str) -> None:
    shown = clean(text, keep_lines=True)
    assert not [c for c in shown if unicodedata.category(c) in {"Cc", "Cs"} and c not in "\n\t"]
    shown.encode("utf-8")
