"""An edit is one splice of bytes; a candidate is the file after it, known to parse and to mean something new."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from hashlib import blake2b

from planexec.repair.source import Source, first_line, header_lines, parse


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


Chunk = tuple[int, int, str, str]
"""First and last byte of whole lines, and what makes them parse alone when put before and behind them."""


@dataclass
class Sieve:
    """Lets through the candidates that parse, differ from the base and differ from all before them.

    Only what is around the edit is parsed again, a statement or the header of one where that is enough, else the
    function: whole files would take longer than their tests, and so do functions of hundreds of lines.
    """

    _seen: set[bytes] = field(default_factory=set)
    _before: dict[tuple[str, Chunk], bytes | None] = field(default_factory=dict)
    _around: dict[tuple[str, int], list[Chunk]] = field(default_factory=dict)

    def admit(self, source: Source, edit: Edit) -> Candidate | None:
        """The candidate of ``edit`` on ``source``, or None when it is broken, idle or known."""
        chunk = self._chunk(source, edit)
        content = edit.apply(source.data)
        key = _key(source, content, chunk, len(edit.replacement) - (edit.end - edit.start))
        if key is None or key == self._before[source.path, chunk] or key in self._seen:
            return None
        self._seen.add(key)
        return Candidate(edit, content, key)

    def _chunk(self, source: Source, edit: Edit) -> Chunk:
        """The smallest part around the edit that parses alone: a statement, a header, a function, or the file.

        New lines are looked at with the function: two places beside each other can stand for one.
        """
        whole = (len(source.bom), len(source.data), "", "")
        if (source.path, edit.line) not in self._around:
            self._around[source.path, edit.line] = [*_statement(source, edit.line), _lines_around(source, edit.line)]
        around = self._around[source.path, edit.line]
        for chunk in (*(around[-1:] if b"\n" in edit.replacement or b"\r" in edit.replacement else around), whole):
            if (source.path, chunk) not in self._before:
                self._before[source.path, chunk] = _key(source, source.data, chunk, 0)
            inside = chunk[0] <= edit.start and edit.end <= chunk[1]
            if inside and self._before[source.path, chunk] is not None:
                return chunk
        return whole


def _statement(source: Source, line: int) -> list[Chunk]:
    """The innermost statement on ``line`` or its header, where its lines hold nothing else; else nothing."""
    units = source.units.get(line, [])
    if not units or isinstance(units[-1], (ast.match_case, ast.ClassDef)):
        return []
    first, last = header_lines(units[-1])
    text = source.line_text(first)
    indent = text[: len(text) - len(text.lstrip())]
    has_body = bool(getattr(units[-1], "body", None))
    behind = f"\n{indent}    pass" if has_body else ""
    word = text.strip()
    before = ""
    if word.startswith("elif"):
        before = f"{indent}if 1:\n{indent}    pass\n"
    elif isinstance(units[-1], ast.ExceptHandler):
        before = f"{indent}try:\n{indent}    pass\n"
    elif isinstance(units[-1], (ast.Try, ast.Match)):
        return []
    if any(source.units.get(each, [])[-1:] != [units[-1]] for each in (first, last)):
        return []
    start, end = source.byte_offset(source.line_start(first)), source.byte_offset(source.line_end(last))
    return [] if start is None or end is None else [(start, end, before, behind)]


def _lines_around(source: Source, line: int) -> Chunk:
    """Bytes of the lines of the innermost function that holds ``line``; outside of functions of the statement."""
    body: list[ast.stmt] = source.tree.body
    found = (0, 0, "", "")
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
        found = (first, last, "", "")
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) or line < first_line(
            node.body[0]
        ):
            return found
        in_function = not isinstance(node, ast.ClassDef)
        body = node.body


def _key(source: Source, content: bytes, chunk: Chunk, growth: int) -> bytes | None:
    """A digest of the tree of ``chunk``, whose end moved by ``growth``; None where it does not parse."""
    start, end, before, behind = chunk
    try:
        text = before + content[start : end + growth].decode(source.encoding) + behind
    except ValueError:
        return None
    # Indented lines parse as a body.
    tree = parse(f"class _:\n{text}" if text[:1] in {" ", "\t"} else text)
    if tree is None:
        return None
    identity = f"{source.path}\0{start}\0{end}\0{ast.dump(tree)}"
    return blake2b(identity.encode(errors="surrogatepass"), digest_size=16).digest()
