"""YAML with line and column for every value: nodes are composed, never constructed, so nothing is guessed or
expanded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import yaml

from planexec.core.errors import ContractError

Place = tuple[int, int]
Path = tuple[str | int, ...]

MAX_VALUES = 20_000
"""A contract of more values than this is an alias bomb or not a contract."""

MAX_DEPTH = 40
"""A contract that is nested deeper than this, aliases followed, is not a contract."""

_YAML = "tag:yaml.org,2002:"
_DATE = f"{_YAML}timestamp"
_PLAIN = frozenset({f"{_YAML}{kind}" for kind in ("str", "int", "float", "bool", "null")} | {_DATE})
_QUOTES = "put the value in quotes"
_HINTS = {
    "\\t": "YAML is indented with spaces, not tabs",
    "mapping values are not allowed": "put a text that contains ': ' in quotes",
    "cannot start any token": "put a text that begins with this character in quotes",
    "could not find expected ':'": "a key ends in ': '",
    "expected ',' or": "within { } and [ ], put a text with special characters in quotes",
    "undefined alias": "put a text that begins with '*' in quotes",
    "single document": "a contract is one document",
}
"""The YAML library's complaints, and what helps; the rest get a general hint."""


@dataclass(frozen=True)
class Document:
    """A plain value and where each part of it stands: ``keys`` the keys, ``values`` the values, counted from 1."""

    data: Any
    keys: dict[Path, Place]
    values: dict[Path, Place]

    def place(self, path: Path) -> Place:
        """Where ``path`` stands, or the nearest part above it."""
        while path and path not in self.values:
            path = path[:-1]
        return self.values.get(path, (1, 1))


def read(text: str, name: str) -> Document:
    """Read one YAML document. Raises ContractError with file, line and column."""
    node = _compose(text, name)
    if node is None:
        raise ContractError(
            "the file is empty", "a contract needs at least 'goal' and 'success'", path=name, line=1, column=1
        )
    builder = _Builder(name)
    data = builder.build(node, ())
    return Document(data, builder.keys, builder.values)


def _compose(text: str, name: str) -> yaml.Node | None:
    line, column = 1, 1
    try:
        depth = 0
        for event in yaml.parse(text, Loader=yaml.SafeLoader):  # not recursive, where composing is
            if event.start_mark is not None:
                line, column = event.start_mark.line + 1, event.start_mark.column + 1
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > MAX_DEPTH:
                raise _too_deep(name, (line, column))
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (line, column)
        problem = str(error.problem or error.context)
        hint = next((hint for part, hint in _HINTS.items() if part in f"{error.context} {problem}"), None)
        hint = hint or "the file is not valid YAML at this place"
        raise ContractError(problem, hint, path=name, line=line, column=column) from None
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        problem = str(error).splitlines()[0]
        raise ContractError(problem, "remove the character", path=name, line=line, column=column) from None
    except (ValueError, OverflowError):  # "\UFFFFFFFF": the library does not look whether there is such a character
        problem = "an escape sequence that stands for no character, after this place"
        raise ContractError(problem, "correct the escape sequence", path=name, line=line, column=column) from None


class _Builder:
    """Turns nodes into plain values and remembers where each stood."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.keys: dict[Path, Place] = {}
        self.values: dict[Path, Place] = {}
        self._open: set[int] = set()
        self._scalars = yaml.SafeLoader("")

    def build(self, node: yaml.Node, path: Path) -> Any:
        self.values[path] = _place(node)
        if len(self.values) > MAX_VALUES:
            raise self._error(node, f"more than {MAX_VALUES} values", "aliases that multiply are refused")
        if id(node) in self._open:
            raise self._error(node, "an alias that contains itself", "write the value out")
        if len(path) > MAX_DEPTH:
            raise _too_deep(self.name, _place(node))
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                self._untagged(node, f"{_YAML}map")
                return self._mapping(node, path)
            if isinstance(node, yaml.SequenceNode):
                self._untagged(node, f"{_YAML}seq")
                return [self.build(child, (*path, index)) for index, child in enumerate(node.value)]
            return self._scalar(node)
        finally:
            self._open.discard(id(node))

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        built: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag not in _PLAIN:
                raise self._error(key_node, "a key must be a plain word", "merge keys and compound keys are refused")
            key = self._text(key_node)
            if key in built:
                first = self.keys[(*path, key)][0]
                raise self._error(
                    key_node, f"the key '{key}' stands twice (first in line {first})", "remove one of them"
                )
            self.keys[(*path, key)] = _place(key_node)
            built[key] = self.build(value_node, (*path, key))
        return built

    def _untagged(self, node: yaml.Node, tag: str) -> None:
        if node.tag != tag:
            raise self._error(node, f"the tag {node.tag} is not allowed", "use plain text, numbers, lists and mappings")

    def _scalar(self, node: yaml.Node) -> Any:
        text = self._text(node)
        if node.tag in {f"{_YAML}value", f"{_YAML}merge"}:
            raise self._error(node, f"'{text}' has a meaning of its own in YAML", _QUOTES)
        if node.tag not in _PLAIN:
            raise self._error(
                node, f"the tag {node.tag} is not allowed", "use plain text, numbers, true, false or null"
            )
        if node.tag == _DATE:
            return text  # a date is text to us
        if ":" in text and node.tag in {f"{_YAML}int", f"{_YAML}float"}:
            raise self._error(node, f"'{text}' is a number in base 60 to YAML", _QUOTES)
        try:
            value = self._scalars.construct_object(node)
        except (yaml.YAMLError, ValueError, KeyError, IndexError):
            kind = node.tag.removeprefix(_YAML)
            raise self._error(node, f"'{text[:40]}' cannot be read as {kind}", _QUOTES) from None
        if isinstance(value, float) and not math.isfinite(value):
            raise self._error(node, f"'{text}' is not a finite number", f"{_QUOTES}, or use 'expected_code'")
        return value

    def _text(self, node: yaml.Node) -> str:
        """The text of a scalar: what can be written as UTF-8 and holds no NUL."""
        text = str(node.value)
        if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
            raise self._error(node, "a character that no file can hold", "remove the escape sequence")
        return text

    def _error(self, node: yaml.Node, message: str, hint: str) -> ContractError:
        line, column = _place(node)
        return ContractError(message, hint, path=self.name, line=line, column=column)


def _too_deep(name: str, place: Place) -> ContractError:
    line, column = place
    return ContractError("nested too deeply", "a contract is a few levels deep", path=name, line=line, column=column)


def _place(node: yaml.Node) -> Place:
    return node.start_mark.line + 1, node.start_mark.column + 1
