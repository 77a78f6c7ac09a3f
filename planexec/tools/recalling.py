"""``recall``: the whole of an earlier observation, a page at a time: what a prompt shows of it is cut."""

from __future__ import annotations

import msgspec

from planexec.core import wire
from planexec.tools.interface import ToolResult, Workbench

PAGE = 6000


class RecallArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An observation's id, and the character from which to show it."""

    observation: str
    start: int = 0


class Recall:
    """Shows a stored observation."""

    name = "recall"
    description = "Show an earlier observation in full, a page at a time."
    arguments: type[msgspec.Struct] = RecallArguments
    idempotent = True

    def run(self, arguments: RecallArguments, workbench: Workbench) -> ToolResult:
        """At most PAGE characters of the stored data."""
        digest = workbench.observed(arguments.observation)
        if not digest:
            return ToolResult(False, f"there is no observation '{arguments.observation}'", code="NO_OBSERVATION")
        stored = wire.decode(workbench.bench.store.get(digest))
        text = as_text(stored.get("data", {}))
        start = min(max(arguments.start, 0), len(text))
        end = min(start + PAGE, len(text))
        return ToolResult(
            True, f"{arguments.observation}, characters {start} to {end} of {len(text)}", {"text": text[start:end]}
        )


def as_text(data: object) -> str:
    """An observation's data for reading: texts as they are, the rest as JSON, a heading for each key."""
    if isinstance(data, str):
        return data
    if isinstance(data, dict):
        if len(data) == 1 and isinstance(next(iter(data.values())), str):
            return str(next(iter(data.values())))
        return "\n".join(_entry(str(key), value) for key, value in data.items())
    return wire.encode(data).decode()


def _entry(key: str, value: object) -> str:
    if isinstance(value, str):
        return f"{key}:\n{value}" if "\n" in value else f"{key}: {value}"
    if isinstance(value, list | tuple) and value:
        return f"{key}:\n" + "\n".join(f"- {_item(each)}" for each in value)
    return f"{key}: {wire.encode(value).decode()}"


def _item(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and all(isinstance(each, str | int | float) for each in value.values()):
        if {"path", "line", "text"} <= value.keys():
            return f"{value['path']}:{value['line']}: {value['text']}"
        return ", ".join(f"{key}: {each}" for key, each in value.items())
    return wire.encode(value).decode()
