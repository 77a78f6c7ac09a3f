"""Reading, searching and editing the scratch tree, by the host: no link is followed, nothing outside is touched.

Edits keep every byte outside the edited span; a text that matches nowhere or more than once is refused with the
lines.
"""

from __future__ import annotations

import ast
import difflib
import io
import os
import re
import tokenize
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import msgspec

from planexec.core.errors import SafetyViolation
from planexec.core.paths import allows, is_protected, is_test_path, matches
from planexec.core.state import EDIT, UNDO
from planexec.tools.differences import unified
from planexec.tools.interface import NoArguments, ToolResult, Workbench
from planexec.workspace.entries import LINK, look, open_file, opened, parent_of, put_file
from planexec.workspace.manifest import Manifest, restore, scan

MAX_MATCHES = 200
MAX_READ = 400
READ_CHARACTERS, OVERRUN = 5600, 1200
"""How much of a file one look shows; a little more where that is the rest."""
MAX_LINE = 400


class SearchArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A regular expression, and a glob that limits the files."""

    pattern: str
    glob: str = "**"


class Search:
    """Finds a pattern in the tree."""

    name = "search"
    description = "Find a regular expression in the files of the repository."
    arguments: type[msgspec.Struct] = SearchArguments
    idempotent = True

    def run(self, arguments: SearchArguments, workbench: Workbench) -> ToolResult:
        """Matches as ``path:line: text``, at most MAX_MATCHES."""
        try:
            pattern = re.compile(arguments.pattern)
        except re.error as error:
            return ToolResult(False, f"'{arguments.pattern}' is not a regular expression: {error}", code="BAD_PATTERN")
        found: list[dict[str, object]] = []
        looked_at = _sources(workbench, arguments.glob)
        for path, content in looked_at:
            for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), start=1):
                if pattern.search(line) and len(found) < MAX_MATCHES:
                    found.append({"path": path, "line": number, "text": line[:MAX_LINE]})
        more = " (and more)" if len(found) == MAX_MATCHES else ""
        none = "" if looked_at else f"; no file matches the glob '{arguments.glob}': one glob, with *, ** and ?"
        return ToolResult(True, f"{len(found)} lines match{more}{none}", {"matches": found})


class ListArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A glob."""

    glob: str = "**"


class ListFiles:
    """Lists files."""

    name = "list"
    description = "List the files of the repository that match a glob."
    arguments: type[msgspec.Struct] = ListArguments
    idempotent = True

    def run(self, arguments: ListArguments, workbench: Workbench) -> ToolResult:
        """Paths, at most a thousand."""
        paths = [path for path, _ in _sources(workbench, arguments.glob)]
        return ToolResult(True, f"{len(paths)} files", {"paths": paths[:1000]})


class ReadArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file and a range of lines, counted from 1."""

    path: str
    start: int = 1
    end: int = MAX_READ


class Read:
    """Reads lines of a file."""

    name = "read"
    description = "Read lines of a file, with their numbers; of a long range as many lines as fit, about 120."
    arguments: type[msgspec.Struct] = ReadArguments
    idempotent = True

    def run(self, arguments: ReadArguments, workbench: Workbench) -> ToolResult:
        """The numbered lines, at most MAX_READ of them and READ_CHARACTERS in all."""
        content = read_inside(workbench.scratch, arguments.path)
        if content is None:
            return _no_file(arguments.path, workbench)
        lines = content.decode("utf-8", "replace").splitlines()
        start = max(arguments.start, 1)
        wanted = min(arguments.end, start + MAX_READ - 1, len(lines))
        shown = _fitting(numbered(lines[start - 1 : wanted], start))
        end = start + len(shown) - 1
        more = f"; the range goes on: read from {end + 1}" if end < wanted else ""
        summary = f"{arguments.path} lines {start} to {end} of {len(lines)}{more}"
        return ToolResult(True, summary, {"text": "\n".join(shown)})


class EditArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Replace ``old`` (which occurs exactly once) by ``new``; without ``old`` create the file; or take a stored
    content.
    """

    path: str
    old: str = ""
    new: str = ""
    content: str = ""


class Edit:
    """Changes one file."""

    name = EDIT
    description = (
        "Replace the text 'old', which stands exactly once in the file, by 'new'; without 'old' create the file with "
        "'new'. 'content' takes, in place of both, the id of a content that repair found."
    )
    arguments: type[msgspec.Struct] = EditArguments
    idempotent = True

    def run(self, arguments: EditArguments, workbench: Workbench) -> ToolResult:
        """Refuses what is outside the scope, frozen, ambiguous or not Python any more; then writes atomically."""
        path = arguments.path
        if objection := write_objection(path, workbench):
            return ToolResult(False, objection, code="REFUSED")
        before = read_inside(workbench.scratch, path)
        after, objection = self._after(arguments, before, workbench)
        if objection:
            return ToolResult(False, objection, code="NO_MATCH")
        if after == before:
            return ToolResult(True, f"'{path}' is so already", {"changed": False})
        if broken := syntax_error(path, after):
            return ToolResult(False, f"the edit breaks '{path}': {broken}", code="SYNTAX")
        write_inside(workbench.scratch, path, after)
        data = {"changed": True, "diff": unified(path, before, after)[:READ_CHARACTERS]}
        return ToolResult(True, f"'{path}' {'changed' if before is not None else 'created'}", data)

    def _after(self, arguments: EditArguments, before: bytes | None, workbench: Workbench) -> tuple[bytes, str]:
        if arguments.content:
            store = workbench.bench.store
            return (
                (store.get(arguments.content), "") if store.has(arguments.content) else (b"", "no such stored content")
            )
        old, new = arguments.old.encode(), arguments.new.encode()
        if not old:
            exists = before is not None and before != new
            return new, f"'{arguments.path}' exists; give the text to replace" if exists else ""
        if before is None:
            return b"", f"there is no file '{arguments.path}'"
        converted = as_in_file(arguments.path, before, (arguments.old, arguments.new))
        if isinstance(converted, str):
            return b"", converted
        return _replace_once(before, *converted)


class Undo:
    """Puts the tree back to the step's checkpoint."""

    name = UNDO
    description = "Undo every change of this step."
    arguments: type[msgspec.Struct] = NoArguments
    idempotent = True

    def run(self, arguments: NoArguments, workbench: Workbench) -> ToolResult:
        """Restores the checkpoint."""
        store = workbench.bench.store
        checkpoint = workbench.state.record(workbench.step.id).checkpoint
        restore(workbench.scratch, Manifest.decode(store.get(checkpoint)), store)
        return ToolResult(True, "the tree is as it was when the step began")


def as_in_file(path: str, content: bytes, texts: Sequence[str]) -> list[bytes] | str:
    """``texts`` in the encoding and with the line ends of a file; where it cannot hold them, what stands against it."""
    if all(end == b"\r\n" for end in re.findall(rb"\r?\n", content)) and b"\n" in content:
        texts = [re.sub(r"\r?\n", "\r\n", text) for text in texts]
    try:
        encoding = tokenize.detect_encoding(io.BytesIO(content).readline)[0] if path.endswith(".py") else "utf-8"
        content.decode(encoding)
    except (SyntaxError, ValueError, LookupError):
        encoding = "ascii"  # not known: what is ASCII is the same in nearly all of them
    try:
        # Only the file has a byte order mark.
        return [text.encode("utf-8" if encoding == "utf-8-sig" else encoding) for text in texts]
    except UnicodeEncodeError as error:
        return f"'{path}' is not UTF-8, and its encoding cannot hold {error.object[error.start : error.start + 1]!r}"


def _replace_once(before: bytes, old: bytes, new: bytes) -> tuple[bytes, str]:
    count = before.count(old)
    if count == 1:
        return before.replace(old, new), ""
    if count > 1:
        lines = [str(before[: match.start()].count(b"\n") + 1) for match in re.finditer(re.escape(old), before)]
        return b"", f"the text stands {count} times, in lines {', '.join(lines)}; give more of it"
    if new and before.count(new) == 1:
        return before, ""
    if all(re.match(rb"\s*\d+ ", line) for line in old.splitlines()):
        return b"", "the text does not occur; leave out the line numbers that read shows"
    near = difflib.get_close_matches(
        old.decode("utf-8", "replace").strip(),
        [line.strip() for line in before.decode("utf-8", "replace").splitlines()],
        n=1,
    )
    return b"", "the text does not occur" + (f"; did you mean: {near[0]}" if near else "")


def numbered(lines: Sequence[str], first: int) -> list[str]:
    """Lines with their numbers before them, for reading."""
    return [f"{number:5d} {line[:MAX_LINE]}" for number, line in enumerate(lines, start=first)]


def _fitting(lines: list[str]) -> list[str]:
    """As many whole lines as one look shows, at least one."""
    size = sum(len(line) + 1 for line in lines)
    if size <= READ_CHARACTERS + OVERRUN:
        return lines
    size = 0
    for count, line in enumerate(lines):
        size += len(line) + 1
        if size > READ_CHARACTERS:
            return lines[: max(count, 1)]
    return lines


def write_objection(path: str, workbench: Workbench) -> str:
    """Why a file may not be written: outside, protected, out of scope, frozen, or a test of the base."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or is_protected(path):
        return f"'{path}' is outside the repository or protected"
    if path in workbench.state.frozen.files:
        return f"'{path}' is the frozen regression test"
    if is_test_path(path) and path in workbench.bench.workspace.base.entries:
        return f"'{path}' is a test of the base; tests are only added"
    scope = workbench.contract.scope
    if not is_test_path(path) and not allows(path, scope.allow, scope.deny):
        return f"'{path}' is outside the contract's scope"
    return ""


def syntax_error(path: str, content: bytes) -> str:
    """What makes a Python file unreadable; empty for other files and for sound ones."""
    if not path.endswith(".py"):
        return ""
    try:
        ast.parse(content)
    except (SyntaxError, ValueError) as error:
        return str(error)
    return ""


def read_inside(tree: Path, path: str) -> bytes | None:
    """The content of a regular file below ``tree``; None when there is none. No link is followed on the way."""
    try:
        with (
            opened(tree) as root,
            parent_of(root, path) as (folder, name),
            os.fdopen(open_file(folder, name), "rb") as file,
        ):
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise SafetyViolation(f"'{path}' cannot be read safely: {error.strerror}", "links are not followed") from None


def write_inside(tree: Path, path: str, content: bytes) -> None:
    """Write a file below ``tree`` at once, keeping its mode. No link is followed; what is no ordinary file is
    refused.
    """
    try:
        with opened(tree) as root, parent_of(root, path, create=True) as (folder, name):
            before = look(root, path)
            if before is not None and (before.mode == LINK or not before.digest):
                raise SafetyViolation(f"'{path}' is not an ordinary file", "links are not written through")
            put_file(folder, name, content, before.mode if before else 0o100644)
    except OSError as error:
        raise SafetyViolation(
            f"'{path}' cannot be written safely: {error.strerror}", "links are not followed"
        ) from None


def _sources(workbench: Workbench, glob: str) -> list[tuple[str, bytes]]:
    manifest = scan(workbench.scratch, workbench.bench.store, workbench.cache)
    chosen = [(path, entry) for path, entry in sorted(manifest.entries.items()) if matches(path, [glob])]
    return [(path, workbench.bench.store.get(entry.digest)) for path, entry in chosen]


def _no_file(path: str, workbench: Workbench) -> ToolResult:
    near = difflib.get_close_matches(path, workbench.bench.workspace.base.entries, n=1)
    return ToolResult(
        False, f"there is no file '{path}'" + (f"; did you mean '{near[0]}'?" if near else ""), code="NO_FILE"
    )
