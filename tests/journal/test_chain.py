from __future__ import annotations

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from planexec.journal.chain import ROOT, Stored, event_digest, first_broken, link

AT = "2024-01-01T00:00:00.000000+00:00"


def chain(run_id: str, payloads: list[bytes]) -> list[Stored]:
    events: list[Stored] = []
    previous = ROOT
    for seq, payload in enumerate(payloads, 1):
        events.append(link(previous, run_id, seq, AT, payload))
        previous = events[-1].digest
    return events


@given(st.text(min_size=1), st.lists(st.binary(), max_size=6))
def test_an_honest_chain_is_whole(run_id: str, payloads: list[bytes]) -> None:
    assert first_broken(run_id, chain(run_id, payloads)) is None


@given(st.lists(st.binary(), min_size=1, max_size=6), st.data())
def test_any_altered_field_is_found_where_it_is(payloads: list[bytes], data: st.DataObject) -> None:
    events = chain("run", payloads)
    at = data.draw(st.integers(0, len(events) - 1))
    field = data.draw(st.sampled_from(["payload", "at", "digest", "previous"]))
    old = getattr(events[at], field)
    events[at] = dataclasses.replace(events[at], **{field: old + (b"!" if field == "payload" else "!")})
    assert first_broken("run", events) == at + 1


@given(st.lists(st.binary(), min_size=2, max_size=6), st.data())
def test_a_missing_event_is_found(payloads: list[bytes], data: st.DataObject) -> None:
    events = chain("run", payloads)
    gone = data.draw(st.integers(0, len(events) - 2))
    del events[gone]
    assert first_broken("run", events) == gone + 1


def test_events_of_another_run_do_not_fit() -> None:
    assert first_broken("b", chain("a", [b"x"])) == 1


def test_fields_cannot_be_shifted_into_each_other() -> None:
    assert event_digest("a", "bc", 1, AT, b"") != event_digest("ab", "c", 1, AT, b"")
    assert event_digest("", "r", 1, "1", b"2") != event_digest("", "r", 11, "", b"2")
