"""An edit is one splice of bytes; a candidate is the file after it, known to parse and to mean something new."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from hashlib import blake2b

from planexec.repair.source import Source, parse


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace ``data[start:end]`` of ``path`` by ``replacement``.

    ``cost`` orders edits: whole numbers are tiers, the fraction ranks donors within one. ``before`` and ``after`` are
    the expression or statement that was acted on, for people. ``risk`` marks shapes that tend to be over-fitted: 1
    takes behaviour away, 2 makes a condition constant or pastes an expected value.
    """

    path: str
    line: int
    start: int
    end: int
    replacement: bytes
    template: str
    cost: float
    before: str
    after: str
    donor: str = ""
    risk: int = 0

    def apply(self, data: bytes) -> bytes:
        """``data`` with the splice made; nothing outside the span changes."""
        return data[: self.start] + self.replacement + data[self.end :]


@dataclass(frozen=True, slots=True)
class Candidate:
    """An edit with the file it gives. ``key`` is equal for candidates with equal trees."""

    edit: Edit
    content: bytes
    key: bytes


def splice(source: Source, start: int, end: int, text: str) -> tuple[int, int, bytes] | None:
    """The smallest byte splice that puts ``text`` in place of the characters ``[start, end)``.

    None when nothing changes or when the file's encoding cannot hold the text.
    """
    old = source.text[start:end]
    if old == text:
        return None
    ahead = 0
    while ahead < min(len(old), len(text)) and old[ahead] == text[ahead]:
        ahead += 1
    behind = 0
    while behind < min(len(old), len(text)) - ahead and old[-1 - behind] == text[-1 - behind]:
        behind += 1
    first, last = source.byte_offset(start + ahead), source.byte_offset(end - behind)
    if first is None or last is None:
        return None
    try:
        return first, last, text[ahead : len(text) - behind].encode(source.encoding)
    except UnicodeEncodeError:
        return None


@dataclass
class Sieve:
    """Lets through the candidates that parse, differ from the base and differ from all before them."""

    _seen: set[bytes] = field(default_factory=set)
    _bases: dict[tuple[str, tuple[int, ...]], bytes] = field(default_factory=dict)

    def admit(self, source: Source, edit: Edit) -> Candidate | None:
        """The candidate of ``edit`` on ``source``, or None when it is broken, idle or known."""
        content = edit.apply(source.data)
        tree = _tree_of(source, content)
        if tree is None:
            return None
        route = _route(source.tree, edit.line)
        key = _key(source.path, tree, route, source.tree)
        if (source.path, route) not in self._bases:
            self._bases[source.path, route] = _key(source.path, source.tree, route, source.tree)
        if key == self._bases[source.path, route] or key in self._seen:
            return None
        self._seen.add(key)
        return Candidate(edit, content, key)


def _tree_of(source: Source, content: bytes) -> ast.Module | None:
    try:
        return parse(content[len(source.bom) :].decode(source.encoding))
    except ValueError:
        return None


def _route(tree: ast.Module, line: int) -> tuple[int, ...]:
    """Positions in bodies that lead to the innermost definition holding ``line``: only that one need be compared."""
    route: list[int] = []
    body = tree.body
    while True:
        at = next((i for i, each in enumerate(body) if each.lineno <= line <= (each.end_lineno or each.lineno)), None)
        if at is None:
            return tuple(route)
        route.append(at)
        node = body[at]
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) or line < node.body[0].lineno:
            return tuple(route)
        body = node.body


def _key(path: str, tree: ast.Module, route: tuple[int, ...], base: ast.Module) -> bytes:
    """A digest of the part of ``tree`` at ``route``; of all of it where the edit changed the shape on the way."""
    body, base_body = tree.body, base.body
    node: ast.AST = tree
    for depth, place in enumerate(route):
        if len(body) != len(base_body):
            if depth == len(route) - 1:
                break
            node = tree
            break
        node = body[place]
        body, base_body = getattr(body[place], "body", []), getattr(base_body[place], "body", [])
    text = f"{path}\0{route}\0{ast.dump(node)}"
    return blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()
