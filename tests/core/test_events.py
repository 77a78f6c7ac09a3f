from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planexec.core import events as e
from planexec.core import plan as p
from planexec.core.plan import Step
from planexec.core.usage import Usage

KINDS: tuple[type[e.Event], ...] = get_args(e.AnyEvent)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
NUMBER = st.floats(0, 1e6, allow_nan=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
PREDICATE = st.one_of(
    *(
        st.builds(
            kind,
            **{
                name: st.lists(TEXT, max_size=2).map(tuple) if name == "subjects" else TEXT
                for name in kind.__struct_fields__
            },
        )
        for kind in get_args(p.Predicate)
    )
)
STEP = st.builds(
    Step, id=TEXT, goal=TEXT, done_when=TEXT, weight=NUMBER, estimate=NUMBER, predicates=st.lists(PREDICATE,
     max_size=2).map(tuple)
)  # fmt: skip
FILES = st.dictionaries(TEXT, TEXT, max_size=2)
for carrier in (e.OutcomeSupport, e.TraceSupport):
    st.register_type_strategy(carrier, st.builds(carrier, files=FILES))
FIELD: dict[str, Any] = {
    "arguments": st.dictionaries(TEXT, JSON, max_size=3),
    "report": st.dictionaries(TEXT, JSON, max_size=3),
}
FIELD |= {"steps": st.lists(STEP, max_size=3).map(tuple), "delay": NUMBER, "files": FILES}
COUNT = st.none() | st.integers(0, 10**9)
FIELD |= {"value": NUMBER, "cost": st.none() | NUMBER, "usage": st.builds(Usage, sent=COUNT, received=COUNT)}
FIELD |= {"seconds": NUMBER, "outcomes": st.dictionaries(TEXT, st.integers(0, 9), max_size=2)}


def test_every_event_has_a_tag_of_its_own_and_every_class_is_in_the_union() -> None:
    tags = [kind.__struct_config__.tag for kind in KINDS]
    assert len(set(tags)) == len(tags)
    defined = {each for each in vars(e).values() if isinstance(each, type) and issubclass(each, e.Event)} - {e.Event}
    assert defined == set(KINDS)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.__struct_config__.tag))
def test_an_event_survives_json(kind: type[e.AnyEvent]) -> None:
    given_fields = {name: FIELD[name] for name in kind.__struct_fields__ if name in FIELD}

    @settings(max_examples=15, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.builds(kind, **given_fields))
    def survives(event: e.AnyEvent) -> None:
        data = e.encode(event)
        assert e.decode(data) == event
        assert msgspec.json.decode(data)["event"] == kind.__struct_config__.tag

    survives()


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"{}", b'{"event": "unheard_of"}', b'{"event": "gate_started"}',
     b'{"event": "gate_started", "snapshot": 3}',
     b'[]', b'{"event": "apply_ended", "outcome": null}'],
)  # fmt: skip
def test_what_is_no_event_is_refused(data: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        e.decode(data)
