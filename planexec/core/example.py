"""From a contract's executable example to test source: the host writes the regression test, nobody else (R24).

Three texts come from one example: the *set-up* (fixtures of the same name that carry more fields, pytest's way of
overriding), the
*regression test*, and *probes*, throwaway tests that answer a question about the project's set-up.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planexec.core.contract import Check, Example

MARK = "# Written by planexec from the example of check"

UNITTEST_SHOWS = 80
"""Characters of a value up to which ``assertEqual`` shows it whole."""

_TIGHT = (
    ast.Attribute, ast.BinOp, ast.Call, ast.Constant, ast.Dict, ast.DictComp, ast.JoinedStr, ast.List, ast.ListComp,
    ast.Name, ast.Set, ast.SetComp, ast.Subscript, ast.UnaryOp,
)  # fmt: skip


@dataclass(frozen=True)
class Probe:
    """A throwaway test module: its source, and for each test name the fixture and the field that it asks about."""

    source: str
    questions: dict[str, tuple[str, str]]


def regression_name(check: Check) -> str:
    """The name of the regression test's function."""
    example = _example(check)
    return example.name or "test_" + re.sub(r"\W", "_", check.name)


def regression_id(check: Check, file: str) -> str:
    """The id of the regression test in ``file``."""
    within = f"{_class_name(check)}::" if _example(check).style == "unittest" else ""
    return f"{file}::{within}{regression_name(check)}"


def default_file(check: Check, paths: Collection[str], project: str = "") -> str:
    """Where the regression test goes when the example does not say: beside the project's tests, under a free name.

    ``project`` is the project root, relative like all ``paths``; empty for the repository's root.
    """
    example = _example(check)
    if example.file:
        return example.file
    root = f"{project}/" if project else ""
    folders = [f"{root}{name}/" for name in ("tests", "test")]
    folder = next((each for each in folders if any(path.startswith(each) for path in paths)), root)
    stem = f"{folder}test_{re.sub(r'[^0-9A-Za-z]+', '_', check.name).strip('_').lower()}"
    number, path = 1, f"{stem}.py"
    while path in paths:
        number += 1
        path = f"{stem}_{number}.py"
    return path


def setup_source(check: Check) -> str:
    """A module whose fixtures override the project's ones of the same name and carry the example's fields."""
    example = _example(check)
    imports = _future_first(["import pytest", *example.import_lines()])
    parts = [f'{MARK} "{check.name}".', "", *imports, ""]
    for fixture, fields in example.fields.items():
        parts += [
            "",
            "@pytest.fixture",
            f"def {fixture}(request, {fixture}):",
            f'    """The project\'s `{fixture}` with the fields that this module needs; a parameter gives others."""',
            f'    return {{**{fixture}, **getattr(request, "param", {_literal(fields)})}}',
            "",
        ]
    return "\n".join(parts)


def regression_source(check: Check, *, extended: bool) -> str:
    """The regression test as a module; ``extended`` says that ``setup_source`` is a part of it."""
    example = _example(check)
    if example.style == "unittest":
        return _test_case(check)
    if extended:
        return setup_source(check) + "\n\n" + _test(check, by_hand=False)
    head = [f'{MARK} "{check.name}".', ""]
    imports = _future_first(example.import_lines() + (["import pytest"] if _expected_exception(example) else []))
    return "\n".join([*head, *imports, *([""] if imports else []), "", _test(check, by_hand=True)])


def setup_probe(example: Example, module: str = "") -> Probe:
    """Asks whether each field stands in its fixture; ``module`` is a set-up module that the probe is appended to."""
    questions: dict[str, tuple[str, str]] = {}
    parts = [module, ""] if module else []
    for fixture, fields in example.fields.items():
        for number, field in enumerate(fields):
            name = f"test_{fixture}_carries_{number}"
            questions[name] = (fixture, field)
            parts += ["", f"def {name}({fixture}):", f"    assert {field!r} in dict({fixture})", ""]
    return Probe("\n".join(parts) + "\n", questions)


def expression_probe(check: Check) -> Probe:
    """Asks whether the extended set-up expresses the example's values and every one of ``also``."""
    example = _example(check)
    questions: dict[str, tuple[str, str]] = {}
    parts = [setup_source(check)]
    for fixture, fields in example.fields.items():
        values = [fields, *(each[fixture] for each in example.also if fixture in each)]
        name = f"test_{fixture}_expresses"
        pairs = [(each, each) for each in values]
        questions[name] = (fixture, ", ".join(repr(value) for each in values for value in each.values()))
        parts += [
            "",
            f'@pytest.mark.parametrize("{fixture}, wanted", {pairs!r}, indirect=["{fixture}"])',
            f"def {name}({fixture}, wanted):",
            f"    assert {{key: {fixture}[key] for key in wanted}} == wanted",
            "",
        ]
    return Probe("\n".join(parts), questions)


def expected_values(check: Check) -> tuple[str, ...]:
    """What the failure on the base has to show, as reprs: actual (where the contract states it), then expected."""
    example, shows = check.arguments.example, check.arguments.shows
    if example is not None:
        actual = example.raises or ("" if _unset(example.shows) else repr(example.shows))
        expected = "" if _unset(example.expected) or _expected_exception(example) else repr(example.expected)
        return tuple(value for value in (actual, expected) if value)
    if shows is not None:
        values = [repr(value) for value in (shows.actual, shows.expected) if not _unset(value)]
        return tuple([shows.raises] * bool(shows.raises) + values)
    return ()


def _test(check: Check, *, by_hand: bool) -> str:
    example = _example(check)
    arguments = list(dict.fromkeys([*example.fixtures, *example.fields]))
    lines = [f"def {regression_name(check)}({', '.join(arguments)}):"]
    if by_hand:
        lines += [f"    {name} = {{**{name}, **{_literal(fields)}}}" for name, fields in example.fields.items()]
    lines += _indented(example.setup_lines(), "    ")
    if exception := _expected_exception(example):
        lines += [f"    with pytest.raises({exception}):", f"        {example.actual.strip()}"]
    else:
        lines += [f"    assert {_operand(example.actual)} == {_operand(example.expected_source())}"]
    return "\n".join(lines) + "\n"


def _test_case(check: Check) -> str:
    """The regression test as a module for ``python -m unittest``, and for pytest."""
    example = _example(check)
    imports = _future_first(["import unittest", *example.import_lines()])
    lines = [f'{MARK} "{check.name}".', "", *imports, "", "", f"class {_class_name(check)}(unittest.TestCase):"]
    lines += [f"    def {regression_name(check)}(self):", *_indented(example.setup_lines(), " " * 8)]
    actual, expected = _operand(example.actual), _operand(example.expected_source())
    if exception := _expected_exception(example):
        lines += [f"        with self.assertRaises({exception}):", f"            {example.actual.strip()}"]
    elif max(map(len, expected_values(check)), default=0) <= UNITTEST_SHOWS:
        lines += [f"        self.assertEqual({actual}, {expected})"]
    else:
        lines += [f"        actual, expected = {actual}, {expected}"]
        lines += ['        self.assertEqual(actual, expected, f"{actual!r} != {expected!r}")']
    return "\n".join(lines) + "\n"


def _class_name(check: Check) -> str:
    return "".join(word.capitalize() for word in re.split(r"[\W_]+", check.name)) + "Test"


def _operand(source: str) -> str:
    """An expression that binds tighter than ``==``, or one in brackets."""
    source = source.strip()
    body = ast.parse(source, mode="eval").body
    tight = isinstance(body, _TIGHT) and not (isinstance(body, ast.UnaryOp) and isinstance(body.op, ast.Not))
    if "#" in source:
        return f"({source}\n    )"  # a comment would swallow the comparison
    return source if tight and "\n" not in source else f"({source})"


def _literal(fields: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"{_quoted(key)}: {value!r}" for key, value in fields.items()) + "}"


def _quoted(key: str) -> str:
    return repr(key) if set(key) & {'"', "\\"} or not key.isprintable() else f'"{key}"'


def _future_first(lines: Sequence[str]) -> list[str]:
    """Imports in their order, those from ``__future__`` before all others, as Python demands."""
    return sorted(lines, key=lambda line: not line.startswith("from __future__ "))


def _indented(lines: Sequence[str], indent: str) -> list[str]:
    """The lines as a function's body. What lies within a string that spans lines is a value and stays as it is."""
    within = set(_within_strings("\n".join(lines)))
    return [
        line if number in within else indent + line.rstrip() if line.strip() else ""
        for number, line in enumerate(lines, start=1)
    ]


def _within_strings(source: str) -> Iterator[int]:
    for node in ast.walk(ast.parse(source)):
        text = isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
        )
        if text and isinstance(node, ast.expr):
            yield from range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)


def _expected_exception(example: Example) -> str:
    expected = example.expected
    return str(expected["raises"]) if isinstance(expected, dict) and set(expected) == {"raises"} else ""


def _example(check: Check) -> Example:
    if check.arguments.example is None:
        raise ValueError(f"check '{check.name}' has no example")
    return check.arguments.example


def _unset(value: object) -> bool:
    return type(value).__name__ == "UnsetType"
