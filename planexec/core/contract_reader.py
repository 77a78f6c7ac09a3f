"""From the text of a contract to a bound ``Contract``: each error with file, line, column and a suggestion (R2)."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable, Collection
from typing import Any

import msgspec

from planexec.core import contract as c
from planexec.core.errors import ContractError
from planexec.core.plan import ID_PATTERN
from planexec.core.yamlmarks import Document, Path, read

Load = Callable[[str], bytes]
"""Gives the bytes of a file beside the contract; raises OSError where there is none."""

_AT = re.compile(r" - at `(?P<path>[^`]*)`$")
_FIELD = re.compile(r"unknown field `(?P<field>[^`]*)`")
_PROSE = re.compile(r"[\s、，。；：]")


def read_contract(text: str, name: str, load: Load | None = None, plugins: Collection[str] = ()) -> c.Contract:
    """Read and bind the contract ``text`` of file ``name``; ``plugins`` are the installed verifiers' names.

    Raises ContractError. Nothing is guessed: what cannot be bound is refused.
    """
    document = read(text, name)
    return _Binder(document, name, load, frozenset(plugins)).bind(_convert(document, name))


def _convert(document: Document, name: str) -> c.ContractFile:
    try:
        return msgspec.convert(document.data, c.ContractFile)
    except msgspec.ValidationError as error:
        text = str(error)
        found = _AT.search(text)
        path = _path_of(found["path"] if found else "$", document)
        message = text[: found.start()] if found else text
        unknown = _FIELD.search(message)
        line, column = document.place(path)
        hint = "see docs/contract.md for the keys and their types"
        if unknown:
            field = unknown["field"]
            line, column = document.keys.get((*path, field), (line, column))
            message = f"unknown key '{field}'"
            hint = did_you_mean(field, _fields_at(path)) or hint
        where = ".".join(map(str, path))
        message = message[:1].lower() + message[1:]
        raise ContractError(
            f"{message} in '{where}'" if where else message, hint, path=name, line=line, column=column
        ) from None


def _path_of(text: str, document: Document) -> Path:
    """msgspec's path (``$.success[...].runs``) as a path of ours; ``[...]`` is a key that it does not name."""
    path: Path = ()
    for part in re.findall(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]", text):
        key, index = part
        if key:
            path = (*path, key)
        elif index != "...":
            path = (*path, int(index))
        else:
            path = _bad_child(path, document)
    return path


def _bad_child(path: Path, document: Document) -> Path:
    """The first child of ``path`` that does not convert by itself: msgspec does not say which key it was."""
    children = [known for known in document.values if len(known) == len(path) + 1 and known[: len(path)] == path]
    types: dict[str, Any] = {"success": str | c.CheckSpec, "verifiers": c.VerifierSpec}
    expected = types.get(str(path[0])) if len(path) == 1 else None
    for child in children:
        value: Any = document.data
        for part in child:
            value = value[part]
        try:
            msgspec.convert(value, expected or dict[str, Any])
        except msgspec.ValidationError:
            return child
    return path


def _fields_at(path: Path) -> list[str]:
    """The keys that may stand at ``path``."""
    shapes: dict[str, type[msgspec.Struct]] = {
        "scope": c.ScopeSpec,
        "limits": c.Limits,
        "environment": c.EnvironmentSpec,
        "success": c.CheckSpec,
        "verifiers": c.VerifierSpec,
    }
    if path and path[-1] == "example":
        shape: type[msgspec.Struct] = c.Example
    elif path and path[-1] == "shows":
        shape = c.Shows
    else:
        shape = shapes.get(str(path[0]), c.ContractFile) if path else c.ContractFile
    return list(shape.__struct_fields__)


def did_you_mean(word: str, known: Collection[str]) -> str:
    """A suggestion for a mistyped word, or nothing."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"did you mean '{near[0]}'?" if near else ""


class _Binder:
    """Binds names to verifiers; holds the document for places."""

    def __init__(self, document: Document, name: str, load: Load | None, plugins: frozenset[str]) -> None:
        self.document, self.name, self.load, self.plugins = document, name, load, plugins

    def bind(self, file: c.ContractFile) -> c.Contract:
        if not file.goal.strip():
            raise self._error(("goal",), "'goal' is empty", "say in one line what shall be true afterwards")
        if not file.success:
            raise self._error(("success",), "'success' names no check", "name at least one check, such as 'tests'")
        self._check_numbers(file.limits)
        checks = {name: self._check(name, spec, file.verifiers) for name, spec in file.success.items()}
        reds = [name for name, check in checks.items() if check.kind == c.REGRESSION_RED]
        if len(reds) > 1:
            raise self._error(
                ("success", reds[1]), "a second reproduction", f"'{reds[0]}' is one already; join their tests"
            )
        if file.success and not any(True for check in checks.values() if check.kind != c.DIFF_SCOPE):
            raise self._error(("success",), "no check runs anything", "add 'tests', 'reproduction' or a command")
        self._check_unused(file, checks)
        return c.Contract(
            goal=file.goal.strip(),
            scope=c.Scope(
                self._globs("allow", file.scope.allow), self._globs("deny", file.scope.deny), file.scope.note
            ),
            checks=checks,
            limits=file.limits,
            context=file.context,
            environment=file.environment,
            forbidden=self._each_glob(("forbidden",), file.forbidden),
            files=self._files(checks),
            source=self.name,
        )

    def _check(self, name: str, spec: str | c.CheckSpec, declared: dict[str, c.VerifierSpec]) -> c.Check:
        path: Path = ("success", name)
        if not ID_PATTERN.match(name):
            raise self._error(path, f"'{name}' cannot name a check", "use letters, digits, '_' and '-'")
        if isinstance(spec, str):
            spec = c.CheckSpec(text=spec)
        verifier = spec.verifier or c.BOUND_BY_NAME.get(name, f"verify_{name}")
        kind, arguments, options = self._resolve(path, name, verifier, spec, declared)
        if spec.step and not ID_PATTERN.match(spec.step):
            raise self._error((*path, "step"), f"'{spec.step}' cannot name a step", "use letters, digits, '_' and '-'")
        self._check_arguments(path, kind, arguments)
        return c.Check(name, spec.text or name, verifier, kind, arguments, spec.step, options)

    def _resolve(
        self, path: Path, check: str, verifier: str, spec: c.CheckSpec, declared: dict[str, c.VerifierSpec]
    ) -> tuple[str, c.Arguments, dict[str, Any]]:
        """Which code judges ``verifier``, with which arguments."""
        if verifier in declared:
            entry = declared[verifier]
            own = _given(spec)
            if own:
                raise self._error(
                    path, f"'{own[0]}' belongs in verifiers.{verifier}", "arguments stand in one place only"
                )
            return self._kind(("verifiers", verifier), entry), entry, entry.options
        if verifier in c.ARGUMENTS_OF or verifier in self.plugins:
            return verifier, spec, spec.options
        known = [*declared, *c.ARGUMENTS_OF, *self.plugins]
        used = f"verifier '{verifier}'"
        nearest = next((each for each in declared if each.startswith(verifier)), None)
        hint = f"did you mean '{nearest}'? then write: {check}: {{verifier: {nearest}}}" if nearest else ""
        hint = (
            hint or did_you_mean(verifier, known) or f"declare it under 'verifiers:', or bind one of {', '.join(known)}"
        )
        raise self._error(path, f"check '{check}' has no {used}", hint)

    def _kind(self, path: Path, entry: c.VerifierSpec) -> str:
        """The built-in verifier that an entry of ``verifiers:`` stands for."""
        if entry.uses:
            if entry.uses in c.ARGUMENTS_OF or entry.uses in self.plugins:
                return entry.uses
            known = [*c.ARGUMENTS_OF, *self.plugins]
            hint = did_you_mean(entry.uses, known) or f"known: {', '.join(known)}"
            raise self._error((*path, "uses"), f"no verifier '{entry.uses}' is installed", hint)
        if entry.command:
            return c.COMMAND
        if entry.tests or entry.acceptance:
            return c.NAMED_TESTS
        raise self._error(
            path, f"'{path[-1]}' is bound to nothing", "give it 'tests', 'acceptance', 'command' or 'uses'"
        )

    def _check_arguments(self, path: Path, kind: str, arguments: c.Arguments) -> None:
        allowed = c.ARGUMENTS_OF.get(kind, frozenset())
        for field in _given(arguments):
            if field not in allowed and field in c.Arguments.__struct_fields__:
                where = (*path, field) if (*path, field) in self.document.values else path
                raise self._error(
                    where,
                    f"{kind} takes no '{field}'",
                    f"it takes: {', '.join(sorted(allowed)) or 'options'}",
                )
        if kind == c.REGRESSION_RED:
            self._check_reproduction(path, arguments)
        if kind == c.NAMED_TESTS and not (arguments.tests or arguments.acceptance):
            raise self._error(
                path,
                "no tests named",
                "give 'tests' (ids in the repository) or 'acceptance' (a file beside the contract)",
            )
        if kind == c.COMMAND:
            if not arguments.command:
                raise self._error(path, "no command given", "give 'command', a list of words")
            _compiles_as_regex(self, path, arguments.output)
        if arguments.runs < 1:
            raise self._error(path, "'runs' must be at least 1", "3 is usual")

    def _check_reproduction(self, path: Path, arguments: c.Arguments) -> None:
        example = arguments.example
        if bool(arguments.tests) == bool(example):
            raise self._error(
                path,
                "a reproduction needs either 'tests' or an 'example'",
                "name failing tests of the repository, or give set-up lines, 'actual' and 'expected'",
            )
        if example is None:
            return
        path = (*path, "example")
        if (example.expected is msgspec.UNSET) == (not example.expected_code):
            raise self._error(path, "an example needs 'expected' or 'expected_code'", "one of the two")
        sources = {"setup": "\n".join(example.setup_lines()), "imports": "\n".join(example.import_lines())}
        for field, source in sources.items():
            self._parses((*path, field), source, "exec")
        for field, source in {
            "actual": example.actual,
            "expected_code": example.expected_code or "0",
        }.items():
            self._parses((*path, field), source.strip(), "eval")
        for fixture in (*example.fixtures, *example.fields):
            if not fixture.isidentifier():
                raise self._error(path, f"'{fixture}' cannot name a fixture", "give the name of a pytest fixture")

    def _parses(self, path: Path, source: str, mode: str) -> None:
        try:
            compile(source, str(path[-1]), mode, ast.PyCF_ONLY_AST)
        except (SyntaxError, ValueError) as error:
            kind = "an expression" if mode == "eval" else "Python"
            raise self._error(path, f"'{path[-1]}' is not {kind}: {error}", f"write {kind}") from None

    def _check_numbers(self, limits: c.Limits) -> None:
        for field in limits.__struct_fields__:
            value = getattr(limits, field)
            if value < 0 or (value == 0 and field not in {"replan_budget", "corrections"}):
                raise self._error(("limits", field), f"'{field}' is {value}", "give a positive number")

    def _check_unused(self, file: c.ContractFile, checks: dict[str, c.Check]) -> None:
        used = {check.verifier for check in checks.values()}
        for name in file.verifiers:
            if name not in used:
                unbound = next((check for check in checks if name.startswith(f"verify_{check}")), None)
                hint = f"bind it: {unbound}: {{verifier: {name}}}" if unbound else "name it in a check, or remove it"
                raise self._error(("verifiers", name), f"no check uses '{name}'", hint)

    def _globs(self, field: str, value: str | tuple[str, ...]) -> tuple[str, ...]:
        items = (value,) if isinstance(value, str) else value
        return self._each_glob(("scope", field), tuple(item for item in items if item != c.CURRENT_REPOSITORY))

    def _each_glob(self, path: Path, globs: tuple[str, ...]) -> tuple[str, ...]:
        for index, glob in enumerate(globs):
            at = (*path, index) if (*path, index) in self.document.values else path
            if _PROSE.search(glob) and not set(glob) & set("/*?[."):
                raise self._error(
                    at, f"'{glob}' is prose, not a glob", "prose goes in scope.note; globs look like 'src/**'"
                )
            if glob.startswith(("/", "~")) or ".." in glob.split("/") or not glob.strip():
                raise self._error(at, f"'{glob}' leaves the repository", "globs are relative to the repository's root")
        return globs

    def _files(self, checks: dict[str, c.Check]) -> dict[str, bytes]:
        """The host-supplied tests that lie beside the contract, by the name it gives them."""
        files: dict[str, bytes] = {}
        for check in checks.values():
            for name in check.arguments.acceptance_files():
                place: Path = ("verifiers", check.verifier, "acceptance")
                if name.startswith("/") or ".." in name.split("/"):
                    raise self._error(
                        place,
                        f"'{name}' does not lie beside the contract",
                        "give a path below the contract's folder",
                    )
                if self.load is None:
                    continue
                try:
                    files[name] = self.load(name)
                except OSError as error:
                    raise self._error(
                        place,
                        f"cannot read '{name}': {error.strerror or error}",
                        "it lies beside the contract",
                    ) from None
        return files

    def _error(self, path: Path, message: str, hint: str) -> ContractError:
        line, column = self.document.keys.get(path) or self.document.place(path)
        return ContractError(message, hint, path=self.name, line=line, column=column)


def _given(arguments: c.Arguments) -> list[str]:
    """The arguments that were really given: those that are not their defaults."""
    empty = c.Arguments()
    return [field for field in c.Arguments.__struct_fields__ if getattr(arguments, field) != getattr(empty, field)]


def _compiles_as_regex(binder: _Binder, path: Path, pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise binder._error(path, f"'output' is not a regular expression: {error}", "escape it") from None
