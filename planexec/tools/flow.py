"""Where a value goes and where it is lost: what a traced run and the syntax tree say together.

A value that the contract expects is followed to the key under which it is stored; a key that is read on the way and
written nowhere is where it is lost. Both are facts about places, to be checked again by the observation verifier.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planexec.core import events as e
from planexec.repair.localise import Suspicion
from planexec.repair.mentions import Mention, index
from planexec.repair.source import Source
from planexec.testing.outcomes import Sighting, TraceReport
from planexec.verifiers.observation import lines_digest, occurrences

SOURCES = ("**/*.py", "!test/**", "!tests/**", "!**/tests/**", "!**/test_*.py", "!**/conftest.py")
"""The files in which a key counts as written or read: Python, without the tests."""


@dataclass(frozen=True)
class Run:
    """A traced run of one test: what ran, what was seen, in which sources; ``files`` are what the host laid in for
    it.
    """

    test: str
    trace: TraceReport
    sources: Mapping[str, bytes]
    files: Mapping[str, str]

    def ran(self, path: str) -> set[int]:
        """The lines of a file that the test ran."""
        return set(self.trace.lines.get(self.test, {}).get(path, ()))

    def seen(self, value: str) -> list[Sighting]:
        """Where the value (a repr) was seen, in the order of the run."""
        return [each for each in self.trace.sightings if each.test == self.test and each.value == value]


def stored(run: Run, expected: str) -> e.Claim | None:
    """The last place at which the expected value is put under a key."""
    keys = _keys(run, stored=True)
    for sighting in reversed(run.seen(expected)):
        for path, mention in keys:
            at = (path, mention.line) == (sighting.path, sighting.line)
            if at and sighting.name in line_of(run.sources[path], mention.line):
                text = f"{expected} is accepted and stored as {_written(mention)} ({path}:{mention.line})"
                supports = (lines(run.sources, path, mention.line), _trace(run, sighting))
                return e.Claim(text, "flow.stored", mention.text, supports)
    return None


def lost(run: Run, actual: str, suspicions: Sequence[Suspicion]) -> e.Claim | None:
    """The most suspicious key that the run reads and that no source writes.

    It says something only where the wrong outcome follows it, or, where no outcome is known, where nothing is more
    suspicious: programs read many keys that others write.
    """
    read = _keys(run, stored=False)
    written = _written_keys(run.sources) if read else set()  # that reads every source
    orphans = [(path, mention) for path, mention in read if mention.text not in written]
    rank = {(each.path, each.line): each.score for each in suspicions}
    highest = max(rank.values(), default=0.0)
    for path, mention in sorted(orphans, key=lambda pair: -rank.get((pair[0], pair[1].line), 0.0)):
        followed = [s for s in run.seen(actual) if s.path == path and mention.line <= s.line <= _end(mention)]
        if followed if actual else rank.get((path, mention.line), 0.0) >= highest > 0.0:
            return _lost_claim(run, path, mention, actual, followed)
    return None


def _lost_claim(run: Run, path: str, mention: Mention, actual: str, followed: Sequence[Sighting]) -> e.Claim:
    text = f"{_written(mention)} is read at {path}:{mention.line}, but nothing writes that key"
    supports: list[e.Support] = [lines(run.sources, path, mention.line)]
    supports.append(
        e.OccurrencesSupport(mention.text, SOURCES, occurrences(dict(sorted(run.sources.items())), mention.text))
    )
    if followed:
        text += f", so the outcome is {actual}"
        supports.append(_trace(run, followed[0]))
    return e.Claim(text, "location", f"{path}:{mention.line}", tuple(supports))


def _written_keys(sources: Mapping[str, bytes]) -> set[str]:
    """Keys that some source stores, as a subscript, in a literal or as a keyword argument."""
    found: set[str] = set()
    for path, content in sources.items():
        source = Source.read(path, content)
        if source is not None:
            mentions = index(source)
            found |= {mention.text for mention in mentions.of("key") if mention.stored}
            found |= {mention.text for mention in mentions.of("keyword")}
    return found


def suspected(run: Run, suspicions: Sequence[Suspicion], failure: str) -> e.Claim | None:
    """The most suspicious line, where nothing more is known."""
    for each in suspicions:
        if each.path in run.sources:
            text = f"{each.path}:{each.line} ranks first among the suspected lines ({each.reason})"
            text += f"; the run ends with {failure.strip().splitlines()[0]}" if failure.strip() else ""
            return e.Claim(text, "location", f"{each.path}:{each.line}", (lines(run.sources, each.path, each.line),))
    return None


def lines(sources: Mapping[str, bytes], path: str, start: int, end: int = 0) -> e.LinesSupport:
    """A support for the lines as they stand."""
    end = end or start
    return e.LinesSupport(path, start, end, lines_digest(sources[path], start, end))


def line_of(content: bytes, number: int) -> str:
    """One line as text."""
    found = content.splitlines()[number - 1 : number]
    return found[0].decode("utf-8", "replace") if found else ""


def _trace(run: Run, sighting: Sighting) -> e.TraceSupport:
    return e.TraceSupport(run.test, sighting.path, sighting.line, sighting.name, sighting.value, dict(run.files))


def _keys(run: Run, *, stored: bool) -> list[tuple[str, Mention]]:
    """The keys on lines that the test ran."""
    ran = {path: run.ran(path) for path in run.sources}
    return [
        (path, mention)
        for path, mention in _all_keys({path: content for path, content in run.sources.items() if ran[path]})
        if mention.stored is stored and not mention.asked and mention.receiver and mention.line in ran[path]
    ]


def _all_keys(sources: Mapping[str, bytes]) -> list[tuple[str, Mention]]:
    read = {path: Source.read(path, content) for path, content in sources.items()}
    return [(path, mention) for path, source in read.items() if source for mention in index(source).of("key")]


def _written(mention: Mention) -> str:
    return f"{mention.receiver}[{mention.text!r}]"


def _end(mention: Mention) -> int:
    """The last line of the function in which the key is read."""
    return (mention.function.end_lineno if mention.function else None) or mention.line + 20
