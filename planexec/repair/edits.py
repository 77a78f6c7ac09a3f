"""An edit is one splice of bytes; a candidate is the file after it, known to parse and to mean something new."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from hashlib import blake2b

from planexec.repair.source import Source, first_line, parse


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
    """Lets through the candidates that parse, differ from the base and differ from all before them.

    Only the function around the edit is parsed again: whole files would take longer than their tests.
    """

    _seen: set[bytes] = field(default_factory=set)
    _chunks: dict[tuple[str, int, int], bytes | None] = field(default_factory=dict)
    _lines: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)

    def admit(self, source: Source, edit: Edit) -> Candidate | None:
        """The candidate of ``edit`` on ``source``, or None when it is broken, idle or known."""
        chunk = self._chunk(source, edit)
        key = _key(source, edit.apply(source.data), chunk, len(edit.replacement) - (edit.end - edit.start))
        if key is None or key == self._chunks[source.path, *chunk] or key in self._seen:
            return None
        self._seen.add(key)
        return Candidate(edit, edit.apply(source.data), key)

    def _chunk(self, source: Source, edit: Edit) -> tuple[int, int]:
        """Bytes of the whole lines around the edit that parse alone: a function, a statement, or the file."""
        whole = (len(source.bom), len(source.data))
        if (source.path, edit.line) not in self._lines:
            self._lines[source.path, edit.line] = _lines_around(source, edit.line)
        for chunk in (self._lines[source.path, edit.line], whole):
            if (source.path, *chunk) not in self._chunks:
                self._chunks[source.path, *chunk] = _key(source, source.data, chunk, 0)
            inside = chunk[0] <= edit.start and edit.end <= chunk[1]
            if inside and self._chunks[source.path, *chunk] is not None:
                return chunk
        return whole


def _lines_around(source: Source, line: int) -> tuple[int, int]:
    """Bytes of the lines of the innermost function that holds ``line``; outside of functions of the statement."""
    body, found = source.tree.body, (0, 0)
    in_function = False
    while True:
        node = next((each for each in body if first_line(each) <= line <= (each.end_lineno or each.lineno)), None)
        definition = isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        if node is None or (in_function and not definition):
            return found
        first = source.byte_offset(source.line_start(first_line(node)))
        last = source.byte_offset(source.line_end(node.end_lineno or node.lineno))
        if first is None or last is None:
            return found
        found = (first, last)
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) or line < first_line(
            node.body[0]
        ):
            return found
        in_function = not isinstance(node, ast.ClassDef)
        body = node.body


def _key(source: Source, content: bytes, chunk: tuple[int, int], growth: int) -> bytes | None:
    """A digest of the tree of ``chunk``, whose end moved by ``growth``; None where it does not parse."""
    start, end = chunk
    try:
        text = content[start : end + growth].decode(source.encoding)
    except ValueError:
        return None
    # Indented lines parse as a body.
    tree = parse(f"class _:\n{text}" if text[:1] in {" ", "\t"} else text)
    if tree is None:
        return None
    identity = f"{source.path}\0{start}\0{end}\0{ast.dump(tree)}"
    return blake2b(identity.encode(errors="surrogatepass"), digest_size=16).digest()
