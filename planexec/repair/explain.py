"""What to show where no patch was found: the suspected lines with their text, and how far the search came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planexec.core.counting import count_of
from planexec.repair.localise import Suspicion
from planexec.repair.search import SearchResult
from planexec.repair.source import Source, qualified_name


@dataclass(frozen=True, slots=True)
class SuspectedLine:
    """A suspected line as a person reads it. ``function`` is empty at the top of a module."""

    path: str
    line: int
    score: float
    function: str
    text: str
    reason: str


def suspected(suspicions: Sequence[Suspicion], sources: Mapping[str, bytes], *, limit: int = 20) -> list[SuspectedLine]:
    """The first ``limit`` suspicions with text and function; equal scores stay in order of path and line."""
    read: dict[str, Source | None] = {}
    found: list[SuspectedLine] = []
    for each in sorted(suspicions, key=lambda each: (-each.score, each.path, each.line))[:limit]:
        if each.path not in read:
            read[each.path] = Source.read(each.path, sources[each.path]) if each.path in sources else None
        source = read[each.path]
        text = source.line_text(each.line).strip() if source else ""
        function = qualified_name(source, each.line) if source else ""
        found.append(SuspectedLine(each.path, each.line, each.score, function, text, each.reason))
    return found


def account(result: SearchResult) -> str:
    """One sentence on a search: what was tried, how it ended, whether the patches that pass agree."""
    why = {
        "exhausted": "all of them",
        "time": "until time ran out",
        "candidates": "the most that were allowed",
        "enough": "enough to compare",
    }[result.ended]
    time = f"in {result.seconds:.0f} s" if result.seconds else "by the search before"
    tried = f"{count_of(result.tried, 'candidate')} tried {time} ({why})"
    if not result.survivors:
        return f"{tried}; none passes"
    if len(result.survivors) == 1:
        return f"{tried}; 1 patch passes"
    if not result.disagreeing:
        return f"{tried}; {len(result.survivors)} patches pass, all the same in other words"
    differ = count_of(result.disagreeing, "of them differs", "of them differ")
    return f"{tried}; {len(result.survivors)} patches pass, {differ} from the chosen one"
