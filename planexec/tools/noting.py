"""``note``: asks the host to check something and keep it as a fact. What the fact says is written by the host.

Whoever acts says only what is to be looked at: lines of a file, places of a text, or a test. Nothing of its own words
becomes a fact (L2).
"""

from __future__ import annotations

import hashlib
from typing import Literal

import msgspec
from msgspec.structs import replace

from planexec.core import events as e
from planexec.core.paths import matches
from planexec.testing.bench import select
from planexec.tools import flow
from planexec.tools.files import read_inside
from planexec.tools.interface import ToolResult, Workbench
from planexec.verifiers.interface import trouble
from planexec.verifiers.observation import occurrences
from planexec.workspace.manifest import scan

MAX_LINES = 12
MAX_PLACES = 20
SHOWN = 300


class NoteArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``lines``: ``path`` from ``start`` to ``end``. ``text``: where ``text`` occurs in the Python sources. ``test``:
    how the test with the id ``text`` does on the base. ``location``: the fault is held to lie at line ``start`` of
    ``path``.
    """

    about: Literal["lines", "text", "test", "location"]
    path: str = ""
    start: int = 1
    end: int = 1
    text: str = ""


class Note:
    """Proposes a fact."""

    name = "note"
    description = (
        "Have the host check something and keep it as a fact for later steps: 'lines' (path, start to end, at most "
        f"{MAX_LINES}), 'text' (where text stands), 'test' (how the test with the id text does before the change), "
        "'location' (you found the fault: path and start)."
    )
    arguments: type[msgspec.Struct] = NoteArguments
    idempotent = True

    def run(self, arguments: NoteArguments, workbench: Workbench) -> ToolResult:
        """One claim, in the host's words."""
        noted = {"lines": _lines, "text": _places, "test": _test, "location": _location}[arguments.about](
            arguments, workbench
        )
        if isinstance(noted, ToolResult):
            return noted
        return ToolResult(True, noted.text, {}, (noted,))


def _lines(arguments: NoteArguments, workbench: Workbench) -> e.Claim | ToolResult:
    content = read_inside(workbench.scratch, arguments.path)
    if content is None:
        return ToolResult(False, f"there is no file '{arguments.path}'", code="NO_FILE")
    total = content.count(b"\n") + 1
    if not 1 <= arguments.start <= arguments.end <= total:
        return ToolResult(False, f"'{arguments.path}' has lines 1 to {total}", code="BAD_ARGUMENTS")
    if arguments.end - arguments.start >= MAX_LINES:
        return ToolResult(False, f"at most {MAX_LINES} lines make one fact", code="BAD_ARGUMENTS")
    shown = b"\n".join(content.splitlines()[arguments.start - 1 : arguments.end]).decode("utf-8", "replace")
    place = f"{arguments.path}:{arguments.start}-{arguments.end}"
    support = flow.lines({arguments.path: content}, arguments.path, arguments.start, arguments.end)
    return e.Claim(f"{place} reads: {shown[:SHOWN]}", f"lines.{place}", support.sha256, (support,))


def _location(arguments: NoteArguments, workbench: Workbench) -> e.Claim | ToolResult:
    """The host vouches for what stands there, not for the fault."""
    noted = _lines(replace(arguments, end=arguments.start), workbench)
    if isinstance(noted, ToolResult):
        return noted
    place = f"{arguments.path}:{arguments.start}"
    return e.Claim(
        f"the fault is held to lie at {place}, which {noted.text.partition(' ')[2]}", "location", place, noted.supports
    )


def _places(arguments: NoteArguments, workbench: Workbench) -> e.Claim | ToolResult:
    if not arguments.text.strip():
        return ToolResult(False, "give the text whose places are to be noted", code="BAD_ARGUMENTS")
    snapshot, store = scan(workbench.scratch, workbench.bench.store, workbench.cache), workbench.bench.store
    chosen = [path for path in sorted(snapshot.entries) if matches(path, flow.SOURCES)]
    sources = {path: store.get(snapshot.entries[path].digest) for path in chosen}
    found = occurrences(sources, arguments.text)
    if len(found) > MAX_PLACES:
        return ToolResult(False, f"'{arguments.text}' stands at {len(found)} places; be more exact", code="TOO_MANY")
    text = f"'{arguments.text[:SHOWN]}' stands at {', '.join(found) or 'no place'} of the sources"
    subject = f"text.{hashlib.sha256(arguments.text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"
    return e.Claim(text, subject, ",".join(found), (e.OccurrencesSupport(arguments.text, flow.SOURCES, found),))


def _test(arguments: NoteArguments, workbench: Workbench) -> e.Claim | ToolResult:
    report = workbench.bench.run((), [arguments.text])
    if problem := trouble(report, "the base", [arguments.text]):
        return ToolResult(False, problem.summary, code=problem.code or "NO_TEST")
    outcomes = select(report, arguments.text)
    if len(outcomes) != 1:
        return ToolResult(False, f"'{arguments.text}' names {len(outcomes)} tests; name one", code="BAD_ARGUMENTS")
    outcome = outcomes[0]
    why = f": {outcome.message.splitlines()[0][:SHOWN]}" if outcome.message else ""
    text = f"on the base '{outcome.id}' is {outcome.status}{why}"
    return e.Claim(text, f"test.{outcome.id}", outcome.status, (e.OutcomeSupport(outcome.id, outcome.status),))
