"""What a model is told of tools: a line for each, and the JSON Schema of one action in the strict form.

The strict form knows no optional properties: each is required, and may be null where the tool has a default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

import msgspec

from planexec.tools.interface import Tool

FINISH, GIVE_UP = "finish", "give_up"


class NoReason(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``finish`` takes nothing."""


class Reason(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why a step cannot be done."""

    reason: str = ""


MOVES: Mapping[str, type[msgspec.Struct]] = {FINISH: NoReason, GIVE_UP: Reason}
"""What an executor may do besides using a tool."""


def signature(tool: Tool) -> str:
    """``name(argument, argument=default): description`` on one line."""
    arguments = []
    for field in msgspec.structs.fields(tool.arguments):
        choices = "|".join(_default(each) for each in get_args(field.type)) if get_origin(field.type) is Literal else ""
        default = "" if field.required else f"={_default(field.default)}"
        arguments.append(f"{field.name}{': ' if choices else ''}{choices}{default}")
    return f"- {tool.name}({', '.join(arguments)}): {tool.description}"


def _default(value: object) -> str:
    return "[]" if value == () else msgspec.json.encode(value).decode()


def action_schema(tools: Sequence[Tool]) -> dict[str, Any]:
    """The schema of an answer: thought, tool, and the arguments of one of ``tools`` or of a move."""
    kinds = {**{tool.name: tool.arguments for tool in tools}, **MOVES}
    shapes: list[dict[str, Any]] = []
    for kind in kinds.values():
        shape = strict(kind)
        if shape not in shapes:
            shapes.append(shape)
    properties = {
        "thought": {"type": "string"},
        "tool": {"type": "string", "enum": list(kinds)},
        "arguments": {"anyOf": shapes},
    }
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def strict(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The strict JSON Schema of a struct, without references."""
    document = msgspec.json.schema(kind)
    shaped: dict[str, Any] = _strict(document, document.get("$defs", {}))
    return shaped


def _strict(node: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_strict(each, definitions) for each in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _strict(definitions[node["$ref"].rsplit("/", 1)[-1]], definitions)
    kept = {key: each for key, each in node.items() if key not in {"$defs", "default", "title", "description"}}
    if node.get("type") != "object":
        if all(isinstance(each, str) for each in kept.get("enum", [0])):
            kept["type"] = "string"
        return {key: _strict(each, definitions) for key, each in kept.items()}
    required = set(node.get("required", ()))
    properties = {
        name: _strict(each, definitions) if name in required else _nullable(_strict(each, definitions))
        for name, each in node.get("properties", {}).items()
    }
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _nullable(shape: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [shape, {"type": "null"}]}


def without_nulls(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as the tool takes them: what is null was left to its default."""
    return {name: value for name, value in arguments.items() if value is not None}
