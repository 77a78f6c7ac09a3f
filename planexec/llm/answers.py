"""The JSON object in what a model said. Strict: cut or ambiguous JSON is never mended, only reported."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn

LONGEST = 200_000
"""Characters; a longer answer is no answer."""
MOST_OBJECTS = 8
_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*?)```", re.DOTALL)
_THINKING = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)


def json_object(text: str) -> tuple[Mapping[str, Any] | None, str]:
    """The one JSON object in ``text`` (alone, fenced, or within prose), or None and what is wrong, in one line."""
    if len(text) > LONGEST:
        return None, f"the answer has {len(text)} characters; at most {LONGEST} are read"
    text = _THINKING.sub("", text).strip().lstrip("\ufeff")
    if not text:
        return None, "the answer is empty"
    for candidate in (text, *_fenced(text)):
        try:
            value = _decoder.decode(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return _whole(value)
        return None, f"the answer is a JSON {_KINDS.get(type(value), 'value')}, and one object is asked for"
    return _within(text)


def _fenced(text: str) -> list[str]:
    found = [each.strip() for each in _FENCE.findall(text)]
    return found if len(found) == 1 else []


def _within(text: str) -> tuple[Mapping[str, Any] | None, str]:
    """Objects that stand in prose: one is the answer, several with different content are not."""
    found: list[dict[str, Any]] = []
    place = 0
    while (start := text.find("{", place)) >= 0 and len(found) < MOST_OBJECTS:
        try:
            value, place = _decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            if found or not _OBJECT.match(text, start):
                place = start + 1
                continue
            return None, f"the answer's JSON is broken or cut off: {str(error)[:120]}"
        if value not in found:
            found.append(value)
    if len(found) == 1:
        return _whole(found[0])
    several = f"the answer holds {len(found)} JSON objects, and one is asked for"
    return None, several if found else "the answer holds no JSON object"


def _whole(value: dict[str, Any]) -> tuple[Mapping[str, Any] | None, str]:
    """An object whose texts can be kept: JSON's escapes can spell half of a surrogate pair."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError):
        return None, "the answer holds half a character (a lone surrogate) or is nested too deeply"
    return value, ""


_OBJECT = re.compile(r"\{\s*[\"}]")
_KINDS: Mapping[type, str] = {
    list: "list",
    str: "text",
    int: "number",
    float: "number",
    bool: "word",
    type(None): "null",
}


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key stands twice")
    return made


def _refused(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


_decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refused)
