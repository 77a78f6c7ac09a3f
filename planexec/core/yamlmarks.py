"""YAML with line and column for every value: nodes are composed, never constructed, so nothing is guessed or expanded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

from planexec.core.errors import ContractError

Place = tuple[int, int]
Path = tuple[str | int, ...]

MAX_VALUES = 20_000
"""A contract of more values than this is an alias bomb or not a contract."""


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
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        hint = "YAML is indented with spaces, not tabs" if "\\t" in str(error.problem) else "the file is not valid YAML"
        raise ContractError(str(error.problem or error.context), hint, path=name, line=line, column=column) from None
    except yaml.YAMLError as error:  # an unreadable character has no mark
        raise ContractError(str(error).splitlines()[0], "the file is not valid YAML", path=name) from None
    except RecursionError:
        raise ContractError("nested too deeply", "a contract is a few levels deep", path=name) from None
    if node is None:
        raise ContractError("the file is empty", "a contract needs at least 'goal' and 'success'", path=name)
    builder = _Builder(name)
    data = builder.build(node, ())
    return Document(data, builder.keys, builder.values)


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
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, path)
            if isinstance(node, yaml.SequenceNode):
                return [self.build(child, (*path, index)) for index, child in enumerate(node.value)]
            return self._scalar(node)
        finally:
            self._open.discard(id(node))

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        built: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag == "tag:yaml.org,2002:merge":
                raise self._error(key_node, "a key must be a plain word", "merge keys and compound keys are refused")
            key = str(key_node.value)
            if key in built:
                first = self.keys[(*path, key)][0]
                raise self._error(
                    key_node, f"the key '{key}' stands twice (first in line {first})", "remove one of them"
                )
            self.keys[(*path, key)] = _place(key_node)
            built[key] = self.build(value_node, (*path, key))
        return built

    def _scalar(self, node: yaml.Node) -> Any:
        tag = node.tag
        if tag in {"tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:binary"} or not tag.startswith(
            "tag:yaml.org,2002:"
        ):
            if tag == "tag:yaml.org,2002:timestamp":
                return node.value  # a date is text to us
            raise self._error(node, f"the tag {tag} is not allowed", "use plain text, numbers, true, false or null")
        try:
            return self._scalars.construct_object(node)
        except (yaml.YAMLError, ValueError) as error:
            raise self._error(node, str(error).splitlines()[0], "put the value in quotes") from None

    def _error(self, node: yaml.Node, message: str, hint: str) -> ContractError:
        line, column = _place(node)
        return ContractError(message, hint, path=self.name, line=line, column=column)


def _place(node: yaml.Node) -> Place:
    return node.start_mark.line + 1, node.start_mark.column + 1
