"""What a module mentions: names, attributes, constants, dictionary keys, keywords and calls, with place and role."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from planexec.repair.source import Function, Source

Kind = Literal["name", "attribute", "constant", "key", "keyword", "call"]
LONGEST = 80  # characters of a constant that may be a donor
_KEY_METHODS_READ = {"get", "pop", "getlist"}
_KEY_METHODS_WRITE = {"setdefault"}


@dataclass(frozen=True, slots=True)
class Mention:
    """One mention.

    ``receiver`` is the last word of what an attribute or key hangs on, or of what is called; of a constant, its type.
    A key that is only ``asked`` for (``"a" in x``) may be an element or a part of a text as well.
    """

    kind: Kind
    text: str
    line: int
    function: Function | None
    receiver: str = ""
    stored: bool = False
    asked: bool = False


@dataclass
class ModuleIndex:
    """The mentions of one module by kind, and the names that it defines at its top level."""

    path: str
    by_kind: dict[Kind, list[Mention]] = field(default_factory=dict)
    variables: dict[str, int] = field(default_factory=dict)
    callables: dict[str, int] = field(default_factory=dict)

    def of(self, kind: Kind) -> list[Mention]:
        """All mentions of ``kind`` in order of the source."""
        return self.by_kind.get(kind, [])


def last_word(node: ast.AST) -> str:
    """``session`` for ``session``, ``flask.session``, ``session()``, ``session[0]``, ``x["session"]``; else nothing."""
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            return node.attr
        case ast.Call():
            return last_word(node.func)
        case ast.Subscript(slice=ast.Constant(value=str() as key)):
            return key
        case ast.Subscript() | ast.Await():
            return last_word(node.value)
    return ""


def index(source: Source) -> ModuleIndex:
    """Read all mentions of ``source`` in one walk."""
    found = ModuleIndex(source.path)
    _define(source.tree.body, found)
    waiting: list[tuple[ast.AST, Function | None]] = [(source.tree, None)]
    while waiting:
        node, function = waiting.pop()
        for mention in _mentions(node, function):
            found.by_kind.setdefault(mention.kind, []).append(mention)
        within = node if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else function
        waiting.extend((child, within) for child in reversed(list(ast.iter_child_nodes(node))))
    return found


def _define(body: list[ast.stmt], found: ModuleIndex) -> None:
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.callables.setdefault(node.name, node.lineno)
            case ast.Import() | ast.ImportFrom():
                for alias in node.names:
                    name = alias.asname or alias.name.partition(".")[0]
                    found.callables.setdefault(name, node.lineno)
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.For() | ast.With():
                for each in ast.walk(node):
                    if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                        found.variables.setdefault(each.id, node.lineno)
            case ast.If() | ast.Try():
                for part in ("body", "orelse", "finalbody"):
                    _define(getattr(node, part, []), found)


def _mentions(node: ast.AST, function: Function | None) -> Iterator[Mention]:
    match node:
        case ast.Name():
            yield Mention("name", node.id, node.lineno, function, stored=not isinstance(node.ctx, ast.Load))
        case ast.arg():
            yield Mention("name", node.arg, node.lineno, function, stored=True)
        case ast.Attribute():
            stored = not isinstance(node.ctx, ast.Load)
            yield Mention("attribute", node.attr, node.lineno, function, last_word(node.value), stored)
        case ast.Constant(value=str() | int() | float() | bytes()) if len(repr(node.value)) <= LONGEST:
            yield Mention("constant", repr(node.value), node.lineno, function, type(node.value).__name__)
        case ast.Subscript(slice=ast.Constant(value=str() as key)):
            stored = isinstance(node.ctx, ast.Store)
            yield Mention("key", key, node.lineno, function, last_word(node.value), stored)
        case ast.Dict():
            for each in node.keys:
                if isinstance(each, ast.Constant) and isinstance(each.value, str):
                    yield Mention("key", each.value, each.lineno, function, stored=True)
        case ast.Compare(left=ast.Constant(value=str() as key), ops=[ast.In() | ast.NotIn()]):
            receiver = last_word(node.comparators[0])
            yield Mention("key", key, node.lineno, function, receiver, asked=True)
        case ast.Call():
            yield from _call_mentions(node, function)
        case ast.ClassDef():
            for name, line in _members(node):
                yield Mention("attribute", name, line, function, "self", True)


def _members(node: ast.ClassDef) -> Iterator[tuple[str, int]]:
    """The methods and values that a class body defines."""
    for each in node.body:
        match each:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield each.name, each.lineno
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name, each.lineno


def _call_mentions(node: ast.Call, function: Function | None) -> Iterator[Mention]:
    called = last_word(node.func)
    if called:
        yield Mention("call", called, node.lineno, function)
    for keyword in node.keywords:
        if keyword.arg is not None:
            yield Mention("keyword", keyword.arg, node.lineno, function, called)
            if called in {"dict", "update"}:
                yield Mention("key", keyword.arg, node.lineno, function, stored=True)
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr=method), args=[ast.Constant(value=str() as key), *_]):
            if method in _KEY_METHODS_READ | _KEY_METHODS_WRITE:
                stored = method in _KEY_METHODS_WRITE
                receiver = last_word(owner)
                yield Mention("key", key, node.lineno, function, receiver, stored)


def locals_of(function: Function) -> dict[str, int]:
    """The names that ``function`` binds (parameters, targets, imports, inner definitions) with their first line."""
    found: dict[str, int] = {}
    arguments = function.args
    for arg in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]:
        if arg is not None:
            found.setdefault(arg.arg, arg.lineno)
    waiting: list[ast.AST] = list(reversed(function.body))
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Name(ctx=ast.Store()):
                found.setdefault(node.id, node.lineno)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.setdefault(node.name, node.lineno)
                continue
            case ast.Lambda():
                continue
            case ast.ExceptHandler(name=str()):
                found.setdefault(str(node.name), node.lineno)
            case ast.Import() | ast.ImportFrom():
                for alias in node.names:
                    found.setdefault(alias.asname or alias.name.partition(".")[0], node.lineno)
        waiting.extend(reversed(list(ast.iter_child_nodes(node))))
    return found
