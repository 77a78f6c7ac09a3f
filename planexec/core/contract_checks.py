"""What the values of a contract may look like: functions that yield objections, and know nothing of files and lines."""

from __future__ import annotations

import ast
import difflib
import keyword
import re
import shlex
import warnings
from collections.abc import Collection, Iterator
from typing import NamedTuple

import msgspec

from planexec.core import contract as c
from planexec.core import example as x
from planexec.core.paths import is_test_path, matches

_CJK_STOP = re.compile(r"[、，。；：]")
_SENTENCE = re.compile(r"\s.*[,;:.!](\s|$)|[,;:.!]\s")


TEST_ID_HINT = "ids are paths from the repository's root, such as tests/test_x.py::test_y"


class Objection(NamedTuple):
    """What is wrong with the value at ``path`` below the thing that was looked at, and what to do."""

    path: tuple[str | int, ...]
    message: str
    hint: str


def did_you_mean(word: str, known: Collection[str]) -> str:
    """A suggestion for a mistyped word, or nothing."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"did you mean '{near[0]}'?" if near else ""


def glob_objection(glob: str) -> Objection | None:
    """A glob is as git writes it, below the repository's root; prose is none."""
    if not glob.strip():
        return Objection((), "an empty glob", "leave it out, or write a glob such as 'src/**'")
    if _is_prose(glob):
        return Objection((), f"'{glob}' is prose, not a glob", "prose goes in scope.note; globs look like 'src/**'")
    if _leaves(glob):
        return Objection((), f"'{glob}' leaves the repository", "globs are relative to the repository's root")
    try:
        matches("x", (glob,))
    except ValueError:
        return Objection((), f"'{glob}' is not a glob", "globs look like 'src/**' or '*.py'")
    if glob.startswith("#"):
        return Objection((), f"'{glob}' is a comment, not a glob", f"write '\\{glob}' for a path that begins so")
    return None


def _is_prose(glob: str) -> bool:
    if "*" in glob:
        return False
    plain = not set(glob) & set("/?[.")
    return bool(_CJK_STOP.search(glob) or _SENTENCE.search(glob) or (plain and re.search(r"\s", glob)))


def is_test_id(name: str) -> bool:
    """Whether a test can be called so: a path below the root, then perhaps ``::`` and a name in the file."""
    return bool(name.strip()) and not name.startswith("-") and not _leaves(name.split("::", maxsplit=1)[0])


def _leaves(path: str) -> bool:
    return path.startswith(("/", "~")) or ".." in path.split("/")


def argument_objections(check: str, kind: str, arguments: c.Arguments, given: frozenset[str]) -> Iterator[Objection]:
    """Whether the arguments make sense for the verifier ``kind``; ``given`` are those that the contract names."""
    for index, name in enumerate(arguments.tests):
        if not is_test_id(name):
            yield Objection(("tests", index), f"'{name}' is not a test id", TEST_ID_HINT)
    if kind == c.REGRESSION_RED:
        yield from _reproduction(check, arguments)
    if kind == c.NAMED_TESTS:
        yield from _named(arguments)
    if kind == c.COMMAND:
        yield from _command(arguments)
    if arguments.runs < 1:
        yield Objection(("runs",), "'runs' must be at least 1", "3 is usual")
    for field in ("max_files", "max_lines"):
        if field in given and getattr(arguments, field) < 1:
            yield Objection((field,), f"'{field}' must be at least 1", "leave it out for no limit")


def _named(arguments: c.Arguments) -> Iterator[Objection]:
    names = arguments.acceptance_files()
    if not (arguments.tests or names):
        hint = "give 'tests' (ids in the repository) or 'acceptance' (a file beside the contract)"
        yield Objection((), "no tests named", hint)
    for index, name in enumerate(names):
        place = ("acceptance",) if isinstance(arguments.acceptance, str) else ("acceptance", index)
        if not name.strip() or _leaves(name):
            yield Objection(
                place, f"'{name}' does not lie beside the contract", "give a path below the contract's folder"
            )
        elif not name.endswith(".py"):
            yield Objection(place, f"'{name}' is not a test module", "acceptance tests are Python files")
    bare = [name.rsplit("/", 1)[-1] for name in names]
    if len(set(bare)) < len(bare):
        yield Objection(("acceptance",), "two acceptance files of one name", "they are laid in one folder: rename one")
    if arguments.at:
        if len(names) != 1:
            yield Objection(("at",), "'at' says where one acceptance file goes", "name exactly one, or leave 'at' out")
        yield from _test_file(("at",), arguments.at)


def _command(arguments: c.Arguments) -> Iterator[Objection]:
    try:
        words = shlex.split(arguments.command) if isinstance(arguments.command, str) else list(arguments.command)
    except ValueError as error:
        yield Objection(("command",), f"'command' cannot be split into words: {error}", "give a list of words")
        return
    if not words or not words[0].strip():
        yield Objection(("command",), "no command given", "give 'command', a list of words")
    if not 0 <= arguments.exit_code <= 255:
        yield Objection(("exit_code",), "'exit_code' must lie between 0 and 255", "0 is usual")
    try:
        re.compile(arguments.output)
    except (re.error, RecursionError, OverflowError) as error:
        yield Objection(("output",), f"'output' is not a regular expression: {error}", "escape it")


def _reproduction(check: str, arguments: c.Arguments) -> Iterator[Objection]:
    if bool(arguments.tests) == bool(arguments.example):
        hint = "name failing tests of the repository, or give set-up lines, 'actual' and 'expected'"
        yield Objection((), "a reproduction needs either 'tests' or an 'example'", hint)
    elif arguments.example is not None:
        if arguments.shows is not None:
            yield Objection(("shows",), "'shows' stands twice", "with an example, it stands within the example")
        found = list(_example(arguments.example)) or list(_generated(check, arguments.example))
        yield from (Objection(("example", *each.path), each.message, each.hint) for each in found)


def _example(example: c.Example) -> Iterator[Objection]:
    if (example.expected is msgspec.UNSET) == (not example.expected_code):
        yield Objection((), "an example needs 'expected' or 'expected_code'", "one of the two")
    if example.shows is not msgspec.UNSET and example.raises:
        yield Objection(("raises",), "the base cannot both show a value and raise", "give 'shows' or 'raises'")
    for field, lines in {"setup": example.setup_lines(), "imports": example.import_lines()}.items():
        yield from _parses((field,), "\n".join(lines), "exec")
    yield from _parses(("actual",), example.actual.strip(), "eval")
    if example.expected_code:
        yield from _parses(("expected_code",), example.expected_code.strip(), "eval")
    if isinstance(example.expected, dict) and set(example.expected) == {"raises"}:
        yield from _parses(("expected", "raises"), str(example.expected["raises"]).strip(), "eval")
    if example.raises:
        yield from _parses(("raises",), example.raises, "eval")
    if example.file:
        yield from _test_file(("file",), example.file)
    if example.name and not (_is_name(example.name) and example.name.startswith("test")):
        yield Objection(("name",), f"'{example.name}' cannot name a test", "a test's name begins with 'test_'")
    if example.style == "unittest" and (example.fixtures or example.fields):
        field = "fixtures" if example.fixtures else "fields"
        yield Objection((field,), f"a TestCase has no '{field}'", "set up in 'setup', or leave 'style' out for pytest")
    yield from _fixtures(example)


def _fixtures(example: c.Example) -> Iterator[Objection]:
    names: list[tuple[str, str | int, str]] = [("fixtures", i, name) for i, name in enumerate(example.fixtures)]
    for field, at, name in [*names, *(("fields", name, name) for name in example.fields)]:
        if not _is_name(name):
            yield Objection((field, at), f"'{name}' cannot name a fixture", "give the name of a pytest fixture")
    for index, each in enumerate(example.also):
        for fixture, values in each.items():
            place = ("also", index, fixture)
            if fixture not in example.fields:
                hint = did_you_mean(fixture, example.fields) or "'also' gives further values for 'fields'"
                yield Objection(place, f"'{fixture}' has no 'fields'", hint)
                continue
            for key in values:
                if key not in example.fields[fixture]:
                    hint = did_you_mean(key, example.fields[fixture]) or "name it in 'fields' first"
                    yield Objection((*place, key), f"'{key}' is no field of '{fixture}'", hint)


def _generated(check: str, example: c.Example) -> Iterator[Objection]:
    """Lines that are Python each may yet not make a test: ``await`` outside a coroutine, two arguments of one name."""
    bound = c.Check(check, check, c.REGRESSION_RED, c.REGRESSION_RED, c.Arguments(example=example))
    sources = [x.regression_source(bound, extended=extended) for extended in (False, True)]
    for source in [*sources, x.expression_probe(bound).source]:
        if problem := _syntax_error(source, "exec"):
            yield Objection((), f"the example makes no test: {problem}", "it becomes the body of one test function")
            return


def _test_file(path: tuple[str, ...], file: str) -> Iterator[Objection]:
    if _leaves(file):
        yield Objection(path, f"'{file}' leaves the repository", "give a path below the repository's root")
    elif not file.endswith(".py") or not is_test_path(file):
        yield Objection(path, f"'{file}' is not a test file", "give a path such as 'tests/test_x.py'")


def _parses(path: tuple[str, ...], source: str, mode: str) -> Iterator[Objection]:
    if problem := _syntax_error(source, mode, ast.PyCF_ONLY_AST):
        kind = "an expression" if mode == "eval" else "Python"
        yield Objection(path, f"'{path[-1]}' is not {kind}: {problem}", f"write {kind}")


def _syntax_error(source: str, mode: str, flags: int = 0) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(source, "example", mode, flags)
        except (SyntaxError, ValueError) as error:
            return error.msg if isinstance(error, SyntaxError) else str(error)
        except (RecursionError, MemoryError):
            return "nested too deeply"
    return ""


def _is_name(word: str) -> bool:
    return word.isidentifier() and not keyword.iskeyword(word)
