"""What a replacement may be made of: names, attributes, constants and keys that the repository already uses.

Ordered by locality: the same function, the module, the repository. A key or attribute that is read and never written in
the repository, and one that is written and never read, are two halves of one slip and come first.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property, lru_cache

from planexec.repair.mentions import Kind, Mention, ModuleIndex, index, locals_of
from planexec.repair.source import Function, Source

MAX_FILES = 400
MAX_BYTES = 1_000_000
MAX_DONORS = 60
MAX_CONSTANTS = 300
BUILTINS = frozenset(name for name in dir(builtins) if not name.startswith("_"))
# Functions that are taken for each other, in the habit of those who write them.
CONFUSED = (
    ("any", "all"),
    ("min", "max"),
    ("sum", "len", "max", "min"),
    ("int", "float", "round", "str", "bool"),
    ("list", "tuple", "set", "sorted", "reversed", "frozenset"),
    ("str", "repr"),
    ("isinstance", "issubclass"),
    ("append", "extend", "add", "insert"),
    ("add", "update", "discard", "remove"),
    ("strip", "lstrip", "rstrip"),
    ("split", "rsplit", "partition", "splitlines"),
    ("find", "rfind", "index"),
    ("startswith", "endswith"),
    ("lower", "upper", "casefold", "title"),
    ("keys", "values", "items"),
    ("read", "readline", "readlines"),
    ("pop", "popleft", "get"),
    ("append", "appendleft"),
    ("union", "intersection", "difference", "symmetric_difference"),
    ("floor", "ceil", "trunc", "round"),
    ("heappush", "heappop", "heappushpop", "heapreplace"),
    ("encode", "decode"),
    ("removeprefix", "removesuffix", "lstrip", "rstrip"),
    ("ljust", "rjust", "center"),
    ("match", "search", "fullmatch"),
    ("bisect_left", "bisect_right"),
    ("dumps", "dump"),
    ("loads", "load"),
)


@dataclass(frozen=True, slots=True)
class Donor:
    """A text to put in, its ``penalty`` (0 is the likeliest, about 1 the farthest) and where it was found."""

    text: str
    penalty: float
    origin: str


@lru_cache(maxsize=65536)
def is_alike(one: str, other: str) -> bool:
    """Whether two names look so alike that one may be a slip for the other."""
    if not one or not other or 2 * min(len(one), len(other)) < 0.7 * (len(one) + len(other)):
        return False  # the ratio below cannot reach 0.7
    if len(one) + len(other) > 80 or not {one[0], one[-1]} & {other[0], other[-1]}:
        return False
    return SequenceMatcher(None, one.lower(), other.lower(), autojunk=False).ratio() >= 0.7


class Donors:
    """The donors of a repository. Files are read when first asked for, the suspicious ones by the caller first."""

    def __init__(self, sources: Mapping[str, bytes], order: Iterable[str] = ()) -> None:
        self._data = sources
        first = [path for path in order if path in sources]
        near = sorted(sources, key=lambda path: (-_shared_folders(path, first[0] if first else ""), path))
        self._order = list(dict.fromkeys([*first, *near]))
        self._sources: dict[str, Source | None] = {}
        self._modules: dict[str, ModuleIndex] = {}
        self._locals: dict[Function, dict[str, int]] = {}
        self._read: dict[Function, frozenset[str]] = {}
        self._constant_donors: dict[tuple[str, str], list[tuple[str, float, str]]] = {}
        self._tables: dict[tuple[Kind, str], dict[tuple[str, str, bool], str]] = {}

    def source(self, path: str) -> Source | None:
        """The file as read once; None when it is not there or cannot be repaired."""
        if path not in self._sources:
            known = path in self._data and path.endswith(".py")
            self._sources[path] = Source.read(path, self._data[path]) if known else None
        return self._sources[path]

    def module(self, source: Source) -> ModuleIndex:
        """The index of ``source``."""
        if source.path not in self._modules:
            self._modules[source.path] = index(source)
        return self._modules[source.path]

    @cached_property
    def modules(self) -> list[ModuleIndex]:
        """The indexed modules of the repository, bounded in number and size; tests are no donors."""
        found: list[ModuleIndex] = []
        spent = 0
        for path in self._order:
            if len(found) >= MAX_FILES or spent > MAX_BYTES:
                break
            source = None if is_test(path) else self.source(path)
            if source is not None:
                spent += len(source.data)
                found.append(self.module(source))
        return found

    # Names

    def locals(self, function: Function) -> dict[str, int]:
        """The names bound in ``function`` with their first line."""
        if function not in self._locals:
            self._locals[function] = locals_of(function)
        return self._locals[function]

    def names(self, source: Source, node: ast.AST, *, called: bool = False) -> list[Donor]:
        """Names in scope at ``node``; with ``called`` those that are called or defined as callables come first."""
        name = node.id if isinstance(node, ast.Name) else ""
        line = getattr(node, "lineno", 1)
        module = self.module(source)
        found: dict[str, tuple[float, str]] = {}
        for depth, function in enumerate(functions_around(source, node)):
            read = self._names_read(module, function)
            for text, at in self.locals(function).items():
                penalty = 0.1 + 0.2 * depth + min(0.15, abs(line - at) * 0.005) - 0.1 * (text not in read)
                found.setdefault(text, (penalty + 0.3 * called, f"{source.path}:{at}"))
        for text, at in module.variables.items():
            found.setdefault(text, (0.45 + 0.3 * called, f"{source.path}:{at}"))
        for text, at in module.callables.items():
            found.setdefault(text, (0.3 if called else 0.75, f"{source.path}:{at}"))
        for text in confused_with(name):
            if text in BUILTINS:
                found.setdefault(text, (0.1, "builtin"))
        return self._ranked(name, found)

    def _names_read(self, module: ModuleIndex, function: Function) -> frozenset[str]:
        if function not in self._read:
            mentions = module.of("name")
            self._read[function] = frozenset(
                each.text for each in mentions if not each.stored and _within(each, function)
            )
        return self._read[function]

    # Attributes, constants, keys, keywords

    def attributes(self, source: Source, node: ast.Attribute, receiver: str) -> list[Donor]:
        """Attributes seen on ``receiver`` (its last word), then elsewhere; the confusable ones of the language too."""
        found: dict[str, tuple[float, str]] = {}
        misspelt = receiver == "self" and node.attr not in self._stored_attributes
        for place, other, text, stored, origin in self._table("attribute", source):
            same = bool(receiver) and other == receiver
            penalty = (0.1 if same else 0.55) + 0.2 * place - 0.1 * (same and stored)
            _keep(found, text, penalty - 0.4 * (misspelt and same and stored), origin)
        for text in confused_with(node.attr):
            _keep(found, text, 0.1, "language")
        return self._ranked(node.attr, found)

    def keys(self, source: Source, key: str, receiver: str, *, stored: bool) -> list[Donor]:
        """String keys for a subscript or ``get`` on ``receiver``; the lost half of a slip has a negative penalty.

        What reads a key that nobody writes is wrong for certain; what writes one that nobody reads may serve others.
        """
        found: dict[str, tuple[float, str]] = {}
        lost = key in (self.never_read if stored else self.never_written)
        halves = self.never_written if stored else self.never_read
        for place, other, text, _, origin in self._table("key", source):
            same = bool(receiver) and other == receiver
            penalty = (0.1 if same else 0.4) + 0.2 * place
            if lost and text in halves and (same or not other or not receiver):
                penalty = (-0.6 if stored else -1.0) + 0.1 * (not same)
            _keep(found, text, penalty, origin)
        return self._ranked(key, found)

    def constants(self, source: Source, value: object, function: Function | None) -> list[Donor]:
        """Constants, as ``repr``, of the type of ``value``: same function, module, repository."""
        wanted = type(value).__name__
        found: dict[str, tuple[float, str]] = {}
        for each in self.module(source).of("constant"):
            if function is not None and _within(each, function) and each.receiver == wanted:
                _keep(found, each.text, 0.1, f"{source.path}:{each.line}")
        for text, penalty, origin in self._constants(source, wanted):
            _keep(found, text, penalty, origin)
        return self._ranked(repr(value), found)

    def _constants(self, source: Source, wanted: str) -> list[tuple[str, float, str]]:
        """Constants of a type outside the function: text, penalty, origin. Of long tables only the beginning."""
        if (source.path, wanted) not in self._constant_donors:
            found: dict[str, tuple[str, float, str]] = {}
            for place, module in enumerate([self.module(source), *self.modules]):
                mentions = [each for each in module.of("constant") if each.receiver == wanted][:MAX_CONSTANTS]
                for each in mentions if len(found) < 2 * MAX_CONSTANTS else ():
                    penalty = 0.3 if place == 0 else 0.6
                    found.setdefault(each.text, (each.text, penalty, f"{module.path}:{each.line}"))
            self._constant_donors[source.path, wanted] = list(found.values())
        return self._constant_donors[source.path, wanted]

    def keywords(self, called: str) -> list[Donor]:
        """Keyword names used in calls of ``called`` or declared by functions of that name anywhere."""
        found: dict[str, tuple[float, str]] = {}
        for module in self.modules:
            for each in module.of("keyword"):
                if each.receiver == called:
                    _keep(found, each.text, 0.2, f"{module.path}:{each.line}")
        for name, definition, path in self.definitions:
            if name == called:
                for arg in [*definition.args.args, *definition.args.kwonlyargs]:
                    if arg.arg not in {"self", "cls"}:
                        _keep(found, arg.arg, 0.0, f"{path}:{arg.lineno}")
        return self._ranked("", found)

    @cached_property
    def definitions(self) -> list[tuple[str, Function, str]]:
        """All functions of the indexed modules: name (the class's for ``__init__``), definition, path."""
        found: list[tuple[str, Function, str]] = []
        for module in self.modules:
            source = self.source(module.path)
            for node in ast.walk(source.tree) if source else ():
                if isinstance(node, ast.ClassDef):
                    for each in node.body:
                        if isinstance(each, ast.FunctionDef) and each.name == "__init__":
                            found.append((node.name, each, module.path))
                elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    found.append((node.name, node, module.path))
        return found

    def mentions(self, kind: Kind) -> Iterable[Mention]:
        """All mentions of ``kind`` in the indexed modules."""
        for module in self.modules:
            yield from module.of(kind)

    @cached_property
    def never_written(self) -> frozenset[str]:
        """String keys that the repository reads and nowhere writes."""
        return frozenset(self._key_texts(stored=False) - self._key_texts(stored=True))

    @cached_property
    def never_read(self) -> frozenset[str]:
        """String keys that the repository writes and nowhere reads."""
        return frozenset(self._key_texts(stored=True) - self._key_texts(stored=False))

    def _key_texts(self, *, stored: bool) -> set[str]:
        return {each.text for each in self.mentions("key") if each.stored == stored}

    @cached_property
    def _stored_attributes(self) -> frozenset[str]:
        return frozenset(each.text for each in self.mentions("attribute") if each.stored)

    def _table(self, kind: Kind, source: Source) -> Iterator[tuple[int, str, str, bool, str]]:
        """Each different mention once: 0 (in ``source``) or 1 (anywhere), receiver, text, stored, origin."""
        for place, path in ((0, source.path), (1, "")):
            if (kind, path) not in self._tables:
                modules = [self.module(source)] if path else self.modules
                table = self._tables.setdefault((kind, path), {})
                for module in modules:
                    for each in module.of(kind):
                        origin = f"{module.path}:{each.line}"
                        table.setdefault((each.receiver, each.text, each.stored), origin)
            for (receiver, text, stored), origin in self._tables[kind, path].items():
                yield place, receiver, text, stored, origin

    def _ranked(self, name: str, found: Mapping[str, tuple[float, str]]) -> list[Donor]:
        donors = [
            Donor(text, penalty - (0.1 if is_alike(name, text) else 0.0), origin)
            for text, (penalty, origin) in found.items()
            if text != name
        ]
        return sorted(donors, key=lambda each: (each.penalty, each.text))[:MAX_DONORS]


def is_test(path: str) -> bool:
    """Whether ``path`` looks like a test: what it expects is not to be pasted into the source."""
    *folders, name = path.split("/")
    named = name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py"
    return named or bool({"tests", "test"} & set(folders))


def functions_around(source: Source, node: ast.AST) -> list[Function]:
    """The functions whose names ``node`` sees, innermost first."""
    around = source.ancestors(node)
    return [each for each in around if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))]


def confused_with(name: str) -> list[str]:
    """Names of the language that are often taken for ``name``."""
    return list(dict.fromkeys(other for group in CONFUSED if name in group for other in group if other != name))


def _within(mention: Mention, function: Function) -> bool:
    return function.lineno <= mention.line <= (function.end_lineno or function.lineno)


def _shared_folders(one: str, other: str) -> int:
    """How many leading folders two paths have in common."""
    shared = 0
    for left, right in zip(one.split("/")[:-1], other.split("/")[:-1], strict=False):
        if left != right:
            break
        shared += 1
    return shared


def _keep(found: dict[str, tuple[float, str]], text: str, penalty: float, origin: str) -> None:
    if text not in found or penalty < found[text][0]:
        found[text] = (penalty, origin)
