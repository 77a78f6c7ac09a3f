from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planexec.llm.answers import LONGEST, json_object

READ = {
    "alone": '{"a": 1}',
    "fenced": 'Here it is:\n```json\n{"a": 1}\n```\nDone.',
    "in prose": 'I would do {"a": 1} now.',
    "after thoughts": '<think>{"b": 2}</think>\n{"a": 1}',
    "with a mark": '\ufeff{"a": 1}',
    "twice the same": '{"a": 1} I say again {"a": 1}',
    "braces before": 'f{x} gives {"a": 1}',
}
NOT_READ = {
    "nothing": ("", "empty"),
    "prose": ("I fixed it, all tests pass.", "no JSON object"),
    "cut": ('{"a": {"b": 1}', "broken or cut off"),
    "cut text": ('{"a": "b', "broken or cut off"),
    "a list": ('[{"a": 1}]', "JSON list"),
    "a number": ("3", "JSON number"),
    "two objects": ('{"a": 1}\n{"a": 2}', "2 JSON objects"),
    "a key twice": ('{"a": 1, "a": 2}', "broken"),
    "no number": ('{"a": NaN}', "broken"),
    "half a character": ('{"a": "\\ud83d"}', "surrogate"),
    "deep": ("[" * 100_000, "no JSON object"),
    "deep object": ('{"a":' * 20_000, ""),
    "a megabyte": ('{"a": "' + "x" * 1_000_000 + '"}', f"at most {LONGEST}"),
}


@pytest.mark.parametrize("text", READ.values(), ids=READ.keys())
def test_one_object_is_found(text: str) -> None:
    assert json_object(text) == ({"a": 1}, "")


@pytest.mark.parametrize(("text", "problem"), NOT_READ.values(), ids=NOT_READ.keys())
def test_what_is_no_object_is_told_in_one_line(text: str, problem: str) -> None:
    value, said = json_object(text)
    assert value is None and problem in said and said and "\n" not in said


leaves = st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"]))
objects = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), leaves | st.lists(leaves), max_size=5)


@given(objects, st.booleans())
def test_every_object_is_read_as_it_was_meant(value: dict[str, object], fenced: bool) -> None:
    text = json.dumps(value, indent=2)
    assert json_object(f"```json\n{text}\n```" if fenced else text) == (value, "")


@given(st.text())
def test_any_text_gives_an_object_or_one_line(text: str) -> None:
    value, said = json_object(text)
    assert (value is None) == bool(said)
