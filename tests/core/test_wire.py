from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planexec.core import events as e
from planexec.core import wire
from planexec.core.state import RunState

TEXT = st.text(st.characters(codec="utf-8") | st.characters(min_codepoint=0xDC80, max_codepoint=0xDCFF))
DOCUMENT = st.recursive(
    TEXT | st.integers(-(2**63), 2**63) | st.booleans() | st.none(),
    lambda below: st.lists(below) | st.dictionaries(TEXT, below),
)


@given(DOCUMENT)
def test_any_document_comes_back(document: Any) -> None:
    assert wire.decode(wire.encode(document)) == document
    assert json.loads(wire.indented(document)) == document


def test_a_path_that_is_no_utf_8_survives_in_events_and_states() -> None:
    event = e.RunStarted(
        "r", "g", "c", "d", "s", {}, 2, 3, 40, {"repository": "/raw\udcff", "commit": "\U0001f600"}, {}, "m",
    )  # fmt: skip
    assert e.decode(e.encode(event)) == event
    state = RunState(base={"repository": "/raw\udcff"})
    assert wire.decode(wire.encode(state), RunState) == state


def test_ordinary_events_are_written_as_ever() -> None:
    event = e.ApplyEnded("fin\u00eded")
    assert e.encode(event) == msgspec.json.encode(event)


@pytest.mark.parametrize("data", [b"", b'{"event":', b'{"event": "\\udcff"', b'{"event": "\\udcff"}', b'["\\udcff"]'])
def test_what_is_no_event_is_refused(data: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        e.decode(data)
