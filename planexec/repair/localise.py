"""Which lines to suspect: a coverage spectrum with Ochiai, raised by tracebacks and by where wrong values were seen.

Ochiai (Abreu, Zoeteweij, van Gemund 2007): of a line, failing tests that ran it over the root of (all failing tests) x
(tests that ran it). Without a passing test it cannot tell lines apart; then the traceback and the executed functions
count. Lines that run only at import cannot be told apart by tests; they keep a low score in modules that are used.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from planexec.repair.source import Function, Source, header_lines
from planexec.testing.outcomes import TraceReport

IMPORTED = 0.05
UNEXECUTED = 0.3
EXECUTED = 0.5
DEFINITION_SHARE = 0.4
IMPORT_SHARE = 0.8
IMPORT_DEPTH = 3  # a value that was worked out from values that were worked out, and so on
FRAME_WEIGHTS = (0.6, 0.4, 0.3, 0.2)
SIGHTING_WEIGHTS = (0.4, 0.3, 0.2)


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A line (from 1) with a score above 0 and at most 1, and the reason in a few words."""

    path: str
    line: int
    score: float
    reason: str


@dataclass
class _Scores:
    """Scores and reasons that grow; a raise moves a score a part of the way to 1, so that order is kept."""

    values: dict[tuple[str, int], float] = field(default_factory=dict)
    reasons: dict[tuple[str, int], list[str]] = field(default_factory=dict)

    def atleast(self, path: str, line: int, score: float, reason: str) -> None:
        """Set a floor; the reason is kept only if it is what decides."""
        if score > self.values.get((path, line), 0.0):
            self.values[path, line] = score
            self.reasons[path, line] = [reason]

    def raised(self, path: str, line: int, weight: float, reason: str) -> None:
        """Go ``weight`` of the way from the present score to 1."""
        old = self.values.get((path, line), 0.0)
        self.values[path, line] = old + (1 - old) * weight
        reasons = self.reasons.setdefault((path, line), [])
        if reason not in reasons:
            reasons.append(reason)

    def ranked(self) -> list[Suspicion]:
        """What was scored, most suspicious first."""
        found = [
            Suspicion(path, line, min(1.0, score), "; ".join(self.reasons[path, line]))
            for (path, line), score in self.values.items()
        ]
        return sorted(found, key=lambda each: (-each.score, each.path, each.line))


def localise(trace: TraceReport, failing: Set[str], sources: Mapping[str, bytes]) -> list[Suspicion]:
    """The suspected lines of ``sources``, most suspicious first. ``failing`` are ids of ``trace``."""
    read: dict[str, Source] = {}
    for path in _touched(trace, failing):
        source = Source.read(path, sources[path]) if path in sources else None
        if source is not None:
            read[path] = source
    scores = _Scores()
    _spectrum(trace, failing, read, scores)
    _frames(trace, failing, read, scores)
    _sightings(trace, failing, read, scores)
    if not scores.values:
        _everything(read, scores)
    used = {path for path, _ in scores.values}
    for path in sorted(used):
        _definitions(read[path], scores)
        for line in trace.import_lines.get(path, []):
            scores.atleast(path, line, IMPORTED, "runs at import of a module that the failing test uses")
    return scores.ranked()


def _touched(trace: TraceReport, failing: Set[str]) -> list[str]:
    """The files that failing tests ran or name in a traceback; those that were imported if there are none."""
    paths = {path for test in failing for path in trace.lines.get(test, {})}
    paths |= {frame.path for test in failing for frame in trace.frames.get(test, [])}
    return sorted(paths | set(trace.import_lines))


def _spectrum(trace: TraceReport, failing: Set[str], read: Mapping[str, Source], scores: _Scores) -> None:
    outcomes = trace.report.outcomes
    passing = [
        test for test in trace.lines if test not in failing and test in outcomes and outcomes[test].status == "passed"
    ]
    bad, good = _counts(trace, failing), _counts(trace, passing)
    tests = max(1, sum(1 for test in failing if trace.lines.get(test)))
    for (path, line), hits in bad.items():
        if path not in read:
            continue
        also = good.get((path, line), 0)
        if good:
            score = hits / math.sqrt(tests * (hits + also))
            reason = f"run by {hits} of {tests} failing and {also} of {len(passing)} passing tests"
            scores.atleast(path, line, score, reason)
        else:
            scores.atleast(path, line, EXECUTED, f"run by {hits} of {tests} failing tests; none passes")
    if not good:
        for path, source in read.items():
            ran = {line for where, line in bad if where == path}
            for function in _functions(source):
                if ran & set(range(function.body[0].lineno, (function.end_lineno or function.lineno) + 1)):
                    _whole(source, function, UNEXECUTED, "in a function that the failing test ran", scores)


def _counts(trace: TraceReport, tests: Set[str] | list[str]) -> dict[tuple[str, int], int]:
    found: dict[tuple[str, int], int] = {}
    for test in tests:
        for path, lines in trace.lines.get(test, {}).items():
            for line in set(lines):
                found[path, line] = found.get((path, line), 0) + 1
    return found


def _frames(trace: TraceReport, failing: Set[str], read: Mapping[str, Source], scores: _Scores) -> None:
    for test in sorted(failing):
        inner = [frame for frame in reversed(trace.frames.get(test, [])) if frame.path in read]
        seen: set[tuple[str, int]] = set()
        for frame in inner:
            if (frame.path, frame.line) not in seen and len(seen) < len(FRAME_WEIGHTS):
                weight = FRAME_WEIGHTS[len(seen)]
                seen.add((frame.path, frame.line))
                scores.raised(frame.path, frame.line, weight, f"in the traceback, in {frame.function}")


def _sightings(trace: TraceReport, failing: Set[str], read: Mapping[str, Source], scores: _Scores) -> None:
    """Raise where a watched value was born: the assignments of the name that first held it, the return that gave it."""
    first: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for sighting in trace.sightings:
        if sighting.test in failing and sighting.path in read:
            places = first.setdefault((sighting.test, sighting.value), [])
            lines = _births(read[sighting.path], sighting.line, sighting.name)
            places.extend((sighting.path, line) for line in lines if (sighting.path, line) not in places)
    raised: set[tuple[str, int]] = set()
    for (_, value), places in first.items():
        for weight, (path, line) in zip(SIGHTING_WEIGHTS, places, strict=False):
            if (path, line) in scores.values and (path, line) not in raised:
                raised.add((path, line))
                scores.raised(path, line, weight, f"where the value {value[:40]} came up")


def _births(source: Source, line: int, name: str) -> list[int]:
    if name == "return":
        return [line]
    around = [each for each in _functions(source) if each.lineno <= line <= (each.end_lineno or each.lineno)]
    if not around:
        return [line]
    function = max(around, key=lambda each: each.lineno)
    stored = [
        each.lineno
        for each in ast.walk(function)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store) and each.id == name
    ]
    return sorted(stored) or [line]


def _everything(read: Mapping[str, Source], scores: _Scores) -> None:
    """Nothing is known (a crash, a hang before the first line): all functions of what was imported."""
    for source in read.values():
        for function in _functions(source):
            _whole(source, function, UNEXECUTED, "in a module that was imported; nothing else is known", scores)


def _whole(source: Source, function: Function, score: float, reason: str, scores: _Scores) -> None:
    for node in ast.walk(function):
        if isinstance(node, (ast.stmt, ast.ExceptHandler)) and node is not function:
            scores.atleast(source.path, node.lineno, score, reason)


def _definitions(source: Source, scores: _Scores) -> None:
    """Give headers of suspected functions, and module or class values that they read, a share of their score."""
    peak: dict[str, float] = {}
    for function in _functions(source):
        lines = range(function.body[0].lineno, (function.end_lineno or function.lineno) + 1)
        best = max((scores.values.get((source.path, line), 0.0) for line in lines), default=0.0)
        if best <= 0:
            continue
        share = best * DEFINITION_SHARE
        if function.args.defaults or function.args.kw_defaults or function.decorator_list:
            first, last = header_lines(function)
            for line in range(first, last + 1):
                scores.atleast(source.path, line, share, f"header of {function.name}")
        for node in ast.walk(function):
            name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", None)
            at = scores.values.get((source.path, getattr(node, "lineno", 0)), 0.0)
            if isinstance(name, str) and at > peak.get(name, 0.0):
                peak[name] = at
    for unit in _values(source.tree):
        targets = [each.id for each in ast.walk(unit) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]
        best = max((peak.get(name, 0.0) for name in targets), default=0.0)
        for line in range(unit.lineno, (unit.end_lineno or unit.lineno) + 1):
            scores.atleast(source.path, line, best * DEFINITION_SHARE, f"defines {', '.join(targets[:3])}")


def _values(tree: ast.Module) -> list[ast.Assign | ast.AnnAssign]:
    """Assignments at the top of the module and of its classes."""
    bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
    return [node for body in bodies for node in body if isinstance(node, (ast.Assign, ast.AnnAssign))]


def _functions(source: Source) -> list[Function]:
    return [node for node in ast.walk(source.tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def beyond(trace: TraceReport, suspicions: Sequence[Suspicion], sources: Mapping[str, bytes]) -> list[Suspicion]:
    """``suspicions`` and what lies beyond the lines that failing tests run: code that ran when modules were imported.

    A value that a suspected line reads may have been worked out at import, in a module of which no test runs a line:
    its definition comes first, with the lines that ran at import of the functions which it calls, and of those that
    they call. All else that ran at import keeps the least score.
    """
    scores = _Scores({(each.path, each.line): each.score for each in suspicions})
    scores.reasons = {(each.path, each.line): [each.reason] for each in suspicions}
    read = {
        path: source
        for path in sorted({*trace.import_lines, *(each.path for each in suspicions)})
        if path in sources and (source := Source.read(path, sources[path])) is not None
    }
    ran = {(path, line) for path, lines in trace.import_lines.items() for line in lines}
    for _ in range(IMPORT_DEPTH):
        wanted = _names_read(read, scores.values)
        for source in read.values():
            for unit in _values(source.tree):
                stored = {each.id for each in ast.walk(unit) if isinstance(each, ast.Name) and not _loads(each)}
                if best := max((wanted.get(name, 0.0) for name in stored), default=0.0):
                    _worked_out(unit, source, ", ".join(sorted(stored)), best * IMPORT_SHARE, read, ran, scores)
    for path, line in sorted(ran):
        if path in read:
            scores.atleast(
                path, line, IMPORTED / 2, "runs at import of a module of which the failing test runs nothing"
            )
    return scores.ranked()


def _names_read(read: Mapping[str, Source], scores: Mapping[tuple[str, int], float]) -> dict[str, float]:
    """Each name that suspected lines read, with the score of the most suspicious of them."""
    found: dict[str, float] = {}
    for source in read.values():
        for node in ast.walk(source.tree):
            name = node.id if isinstance(node, ast.Name) and _loads(node) else getattr(node, "attr", None)
            score = scores.get((source.path, getattr(node, "lineno", 0)), 0.0)
            if isinstance(name, str) and score > IMPORTED:
                found[name] = max(score, found.get(name, 0.0))
    return found


def _worked_out(
    unit: ast.AST,
    source: Source,
    value: str,
    score: float,
    read: Mapping[str, Source],
    ran: Set[tuple[str, int]],
    scores: _Scores,
) -> None:
    """Score the definition of ``value`` and the lines that ran at import of the functions that it rests on."""
    waiting, seen = [(source, unit)], {unit}
    while waiting:
        where, node = waiting.pop()
        first = node.body[0] if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else node
        for line in range(getattr(first, "lineno", 0), (getattr(node, "end_lineno", 0) or 0) + 1):
            if (where.path, line) in ran:
                scores.atleast(where.path, line, score, f"works out {value} at import, which a suspected line reads")
        called = {_last(each.func) for each in ast.walk(node) if isinstance(each, ast.Call)}
        for other in read.values():
            for function in _functions(other):
                if function.name in called and function not in seen:
                    seen.add(function)
                    waiting.append((other, function))


def _last(node: ast.AST) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _loads(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)
