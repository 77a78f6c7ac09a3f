"""From the text of a contract to a bound ``Contract``: each error with file, line, column and a suggestion (R2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

import msgspec

from planexec.core import contract as c
from planexec.core.contract_checks import argument_objections, did_you_mean, glob_objection
from planexec.core.errors import ContractError
from planexec.core.plan import ID_PATTERN
from planexec.core.yamlmarks import Document, Path, read

Load = Callable[[str], bytes]
"""Gives the bytes of a file beside the contract; raises OSError where there is none."""

_AT = re.compile(r" - at `(?P<path>[^`]*)`$")
_FIELD = re.compile(r"unknown field `(?P<field>[^`]*)`")


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
            known = _fields_at(path)
            hint = did_you_mean(field, known) or f"known keys: {', '.join(known)}"
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
        kind, entry, where = self._resolve(path, name, verifier, spec, declared)
        if spec.step and not ID_PATTERN.match(spec.step):
            raise self._error(
                (*path, "step"), f"'{spec.step}' cannot name a step", "use letters, digits, '_' and '-'", value=True
            )
        arguments = c.Arguments(**{field: getattr(entry, field) for field in c.Arguments.__struct_fields__})
        self._check_arguments(where, name, kind, arguments)
        return c.Check(name, spec.text or name, verifier, kind, arguments, spec.step, entry.options)

    def _resolve(
        self, path: Path, check: str, verifier: str, spec: c.CheckSpec, declared: dict[str, c.VerifierSpec]
    ) -> tuple[str, c.CheckSpec | c.VerifierSpec, Path]:
        """Which code judges ``verifier``, with which arguments, and where these stand."""
        if verifier in declared:
            where: Path = ("verifiers", verifier)
            if own := self._given(path):
                raise self._error(
                    (*path, own[0]), f"'{own[0]}' belongs in verifiers.{verifier}", "arguments stand in one place only"
                )
            return self._kind(where, declared[verifier]), declared[verifier], where
        if verifier in c.ARGUMENTS_OF or verifier in self.plugins:
            return verifier, spec, path
        known = [*declared, *c.ARGUMENTS_OF, *self.plugins]
        nearest = next((each for each in declared if each.startswith(verifier)), None)
        hint = f"did you mean '{nearest}'? then write: {check}: {{verifier: {nearest}}}" if nearest else ""
        hint = (
            hint or did_you_mean(verifier, known) or f"declare it under 'verifiers:', or bind one of {', '.join(known)}"
        )
        at = (*path, "verifier") if spec.verifier else path
        raise self._error(at, f"check '{check}' has no verifier '{verifier}'", hint, value=bool(spec.verifier))

    def _kind(self, path: Path, entry: c.VerifierSpec) -> str:
        """The built-in or plug-in verifier that an entry of ``verifiers:`` stands for; their own names stand for
        themselves.
        """
        name = str(path[-1])
        if name in c.ARGUMENTS_OF or name in self.plugins:
            if entry.uses not in {"", name}:
                raise self._error(
                    (*path, "uses"), f"'{name}' cannot stand for another verifier", "choose another name", value=True
                )
            return name
        if entry.uses:
            if entry.uses in c.ARGUMENTS_OF or entry.uses in self.plugins:
                return entry.uses
            known = [*c.ARGUMENTS_OF, *self.plugins]
            hint = did_you_mean(entry.uses, known) or f"known: {', '.join(known)}"
            raise self._error((*path, "uses"), f"no verifier '{entry.uses}' is installed", hint, value=True)
        if entry.command:
            return c.COMMAND
        if entry.tests or entry.acceptance:
            return c.NAMED_TESTS
        raise self._error(
            path, f"'{path[-1]}' is bound to nothing", "give it 'tests', 'acceptance', 'command' or 'uses'"
        )

    def _check_arguments(self, path: Path, check: str, kind: str, arguments: c.Arguments) -> None:
        allowed = c.ARGUMENTS_OF.get(kind, frozenset({"options"}))
        given = self._given(path)
        for field in given:
            if field not in allowed:
                hint = f"it takes: {', '.join(sorted(allowed))}"
                raise self._error((*path, field), f"{kind} takes no '{field}'", hint)
        for objection in argument_objections(check, kind, arguments, frozenset(given)):
            whole = (*path, *objection.path)
            raise self._error(whole, objection.message, objection.hint, value=bool(objection.path))

    def _given(self, path: Path) -> list[str]:
        """The arguments that stand in the mapping at ``path``, defaults that are written out included."""
        fields = (*c.Arguments.__struct_fields__, "options")
        return [field for field in fields if (*path, field) in self.document.keys]

    def _check_numbers(self, limits: c.Limits) -> None:
        for field in limits.__struct_fields__:
            value = getattr(limits, field)
            if value < 0 or (value == 0 and field not in {"replan_budget", "corrections", "model_cost"}):
                raise self._error(("limits", field), f"'{field}' is {value}", "give a positive number")

    def _check_unused(self, file: c.ContractFile, checks: dict[str, c.Check]) -> None:
        used = {check.verifier for check in checks.values()}
        for name in file.verifiers:
            if name not in used:
                unbound = next((check for check in checks if name.startswith(f"verify_{check}")), None)
                hint = f"bind it: {unbound}: {{verifier: {name}}}" if unbound else "name it in a check, or remove it"
                raise self._error(("verifiers", name), f"no check uses '{name}'", hint)

    def _globs(self, field: str, value: str | tuple[str, ...]) -> tuple[str, ...]:
        path: Path = ("scope", field)
        items = (value,) if isinstance(value, str) else value
        if c.CURRENT_REPOSITORY not in items:
            if not items and path in self.document.keys and field == "allow":
                raise self._error(path, "'allow' is empty", "leave it out for the whole repository, or name globs")
            return self._each_glob(path, items)
        if field == "deny":
            raise self._error(path, f"'{c.CURRENT_REPOSITORY}' denies everything", "leave 'deny' out to deny nothing")
        if len(items) > 1:
            raise self._error(path, f"'{c.CURRENT_REPOSITORY}' stands beside globs", "the word alone, or globs alone")
        return ()

    def _each_glob(self, path: Path, globs: tuple[str, ...]) -> tuple[str, ...]:
        for index, glob in enumerate(globs):
            if objection := glob_objection(glob):
                raise self._error((*path, index), objection.message, objection.hint, value=True)
        return globs

    def _files(self, checks: dict[str, c.Check]) -> dict[str, bytes]:
        """The host-supplied tests that lie beside the contract, by the name it gives them."""
        files: dict[str, bytes] = {}
        for check in checks.values():
            for index, name in enumerate(check.arguments.acceptance_files()):
                if self.load is None:
                    continue
                try:
                    files[name] = self.load(name)
                except OSError as error:
                    declared: Path = ("verifiers", check.verifier, "acceptance")
                    own: Path = ("success", check.name, "acceptance")
                    raise self._error(
                        (*(declared if declared in self.document.values else own), index),
                        f"cannot read '{name}': {error.strerror or error}",
                        "it lies beside the contract",
                        value=True,
                    ) from None
        return files

    def _error(self, path: Path, message: str, hint: str, *, value: bool = False) -> ContractError:
        """At the key; with ``value`` at the value, when it is no mapping; else at the nearest part above."""
        keys, values = self.document.keys, self.document.values
        if path and isinstance(path[-1], int) and path not in values:
            path = path[:-1]  # one text where a list may stand
        value = value and path in values and all(known[:-1] != path for known in keys)
        while path and path not in keys and path not in values:
            path = path[:-1]
        line, column = (None if value else keys.get(path)) or self.document.place(path)
        return ContractError(message, hint, path=self.name, line=line, column=column)
