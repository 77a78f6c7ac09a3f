"""The search for a patch: candidates in order of rank, judged by the failing tests, then by the covering ones.

What is returned depends on the order of the candidates and never on which judge is faster: verdicts are taken in
order, and what was judged beyond the end is dropped. Only the limit on time depends on the clock.
"""

from __future__ import annotations

import ast
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Literal, Protocol

from planexec.repair.canonical import canonical
from planexec.repair.donors import Donors
from planexec.repair.edits import Candidate, Sieve
from planexec.repair.localise import Suspicion
from planexec.repair.overfit import expected_values, risk_of
from planexec.repair.stream import Ranked, Reach, places, stream
from planexec.testing.outcomes import Judgement, TestReport

Ended = Literal["exhausted", "time", "candidates", "enough"]
# How far beyond the rank of the first survivor its neighbourhood reaches: two tiers of templates.
NEIGHBOURHOOD = 2.0


class Judge(Protocol):
    """Who runs tests on a candidate. ``WarmJudge`` of ``planexec.testing.harness`` is one."""

    def judge(self, changes: Mapping[str, bytes], ids: Sequence[str], *, seconds: float) -> Judgement:
        """Run ``ids`` with ``changes`` (path to whole file) on the base; the base is unchanged afterwards."""
        ...


@dataclass(frozen=True)
class SearchRequest:
    """What to repair and how long to try.

    ``sources`` are the files of the repository by path (posix, relative): those that ``editable`` allows are changed,
    all are donors. ``failing`` must pass on a survivor, then ``covering`` (which pass on the base). ``seconds`` and
    ``candidates`` bound the whole search, ``judgement_seconds`` one run of the failing tests, ``covering_seconds`` one
    of the covering ones. After the first survivor up to ``further`` candidates of its neighbourhood are judged, for
    some times what finding it took and at most ``further_seconds``, so that other patches that pass are known: where
    they do something else, the chosen one is doubtful. ``expected`` holds reprs of the values that the failing tests
    ask for. ``failed`` holds the keys of candidates that the same tests refuted before: they are passed over, and those
    that this search refutes are added; so is a whole file that ``refuted`` knows not to stand up to other tests.
    ``progress`` is told candidates judged and survivors.
    """

    sources: Mapping[str, bytes]
    suspicions: Sequence[Suspicion]
    failing: Sequence[str]
    covering: Sequence[str] = ()
    reach: Reach = "suspicious"
    seconds: float = 300.0
    candidates: int = 20_000
    editable: Callable[[str], bool] = lambda path: True
    progress: Callable[[int, int], None] | None = None
    judgement_seconds: float = 10.0
    covering_seconds: float = 60.0
    further: int = 1500
    further_seconds: float = 45.0
    expected: Sequence[str] = ()
    failed: set[bytes] = field(default_factory=set)
    refuted: Callable[[bytes], bool] = lambda content: False


@dataclass(frozen=True)
class Survivor:
    """A candidate that passes all tests asked for. ``path`` gets ``content``; ``line`` is where it differs first.

    ``score`` is the suspicion of the place (0 to 1), ``rank`` its place in the order of trying, ``risk`` and ``doubt``
    say whether and why it looks over-fitted.
    """

    path: str
    content: bytes
    line: int
    template: str
    before: str
    after: str
    donor: str
    score: float
    rank: float
    risk: int = 0
    doubt: str = ""


@dataclass(frozen=True)
class SearchResult:
    """How a search ended.

    ``survivors`` are best first. ``tried`` were judged, ``generated`` made (idle and broken ones included).
    ``disagreeing`` counts survivors that are not the first one in other words. ``by_template`` counts judged
    candidates, ``outcomes`` how their tests ended. ``first_found`` is how many were tried when the first survivor was
    found; 0 if there is none.
    """

    survivors: list[Survivor]
    tried: int
    generated: int
    seconds: float
    ended: Ended
    disagreeing: int
    by_template: dict[str, int]
    outcomes: dict[str, int] = field(default_factory=dict)
    first_found: int = 0


def search(request: SearchRequest, *judges: Judge) -> SearchResult:
    """Look for single edits of ``request.sources`` with which all its tests pass. Several judges work at once."""
    if not judges:
        raise ValueError("a search needs at least one judge")
    hunt = _Hunt(request)
    pool = ThreadPoolExecutor(max_workers=len(judges), thread_name_prefix="judge")
    try:
        hunt.run(pool, judges)
    finally:
        hunt.over = True
        pool.shutdown(wait=True, cancel_futures=True)
    return hunt.result()


def seconds_allowed(report: TestReport, ids: Iterable[str], base: TestReport | None = None) -> float:
    """Seconds for one run of ``ids`` on a candidate: ten times what they took in ``report``, between 2 and 20.

    What the whole suite takes beside its tests in ``base`` (imports, a framework's set-up) is allowed twice on
    top, up to 20 in all. A candidate that hangs costs all of it, so a limit that is far above the usual time makes a
    search slow.
    """
    usual = sum(report.outcomes[test].seconds for test in ids if test in report.outcomes)
    beside = base.seconds - sum(each.seconds for each in base.outcomes.values()) if base else 0.0
    return min(20.0, max(2.0, 10.0 * usual) + 2.0 * max(0.0, beside))


@dataclass(frozen=True, slots=True)
class _Verdict:
    outcome: str
    in_time: bool


_Waiting = tuple[Ranked, Candidate, "Future[_Verdict]"]


class _Hunt:
    """One search: the candidates in order, those being judged, and what has been found so far."""

    def __init__(self, request: SearchRequest) -> None:
        self.request = request
        self.started = time.monotonic()
        self.over = False
        order = dict.fromkeys(each.path for each in request.suspicions)
        self.donors = Donors(request.sources, order)
        self.generated = 0
        self.tried = 0
        self.ended: Ended = "exhausted"
        self.found: list[tuple[Ranked, Candidate]] = []
        self.first_found = 0
        self.found_at = 0.0
        self.by_template: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.started + self.request.seconds - time.monotonic()

    def candidates(self) -> Iterator[tuple[Ranked, Candidate]]:
        """The different, working candidates in order of rank."""
        request, sieve = self.request, Sieve()
        located = places(request.suspicions, self.donors, request.editable, request.reach)
        for ranked in stream(located, self.donors, request.reach):
            self.generated += 1
            source = self.donors.source(ranked.edit.path)
            candidate = sieve.admit(source, ranked.edit) if source is not None else None
            if candidate is not None:
                if candidate.key not in request.failed and not request.refuted(candidate.content):
                    yield ranked, candidate
            elif self.left <= 0:
                return

    def run(self, pool: ThreadPoolExecutor, judges: Sequence[Judge]) -> None:
        """Keep the judges busy and take their verdicts in the order of the candidates."""
        free: SimpleQueue[Judge] = SimpleQueue()
        for judge in judges:
            free.put(judge)
        waiting: deque[_Waiting] = deque()
        coming = self.candidates()
        while True:
            while len(waiting) < 2 * len(judges) and self.left > 0:
                item = next(coming, None)
                if item is None:
                    break
                waiting.append((*item, pool.submit(self._judge, free, item[1])))
            if not waiting:
                if self.left <= 0:
                    self.ended = "time"
                return
            if self._settled(*waiting.popleft()):
                return

    def _judge(self, free: SimpleQueue[Judge], candidate: Candidate) -> _Verdict:
        judge = free.get()
        try:
            outcome = "passed"
            request = self.request
            phases = (request.failing, request.judgement_seconds), (request.covering, request.covering_seconds)
            for ids, limit in phases:
                if not ids:
                    continue
                left = self.left
                if left <= 0 or self.over:
                    return _Verdict("timeout", False)
                changes = {candidate.edit.path: candidate.content}
                allowed = min(left, limit)
                outcome = judge.judge(changes, ids, seconds=allowed).outcome
                if outcome != "passed":
                    # A run that the end of the search cut short says nothing about the candidate.
                    cut = outcome == "timeout" and allowed < limit
                    return _Verdict(outcome, not cut)
            return _Verdict(outcome, True)
        finally:
            free.put(judge)

    def _settled(self, ranked: Ranked, candidate: Candidate, future: Future[_Verdict]) -> bool:
        """Count one verdict; True when the search is over, with the reason in ``ended``."""
        if self.found and ranked.rank > self.found[0][0].rank + NEIGHBOURHOOD:
            self.ended = "enough"
            return True
        verdict = future.result()
        if not verdict.in_time:
            self.ended = "time"
            return True
        self.tried += 1
        self.by_template[candidate.edit.template] += 1
        self.outcomes[verdict.outcome] += 1
        if verdict.outcome != "passed":
            self.request.failed.add(candidate.key)
        else:
            self.first_found = self.first_found or self.tried
            self.found_at = self.found_at or time.monotonic()
            self.found.append((ranked, candidate))
        if self.request.progress is not None:
            self.request.progress(self.tried, len(self.found))
        if self.found and self._has_compared():
            self.ended = "enough"
            return True
        if self.tried >= self.request.candidates:
            self.ended = "candidates"
            return True
        return False

    def _has_compared(self) -> bool:
        """Whether enough was judged since the first survivor."""
        request = self.request
        many = self.tried >= self.first_found + request.further
        allowed = min(request.further_seconds, 5.0 + 3 * (self.found_at - self.started))
        return many or time.monotonic() > self.found_at + allowed

    def result(self) -> SearchResult:
        """The survivors ranked: sound shapes first, then by rank, size of the change and suspicion."""
        request = self.request
        expected = expected_values(request.sources, request.failing, request.expected)
        known = self._known_constants()
        survivors = []
        for ranked, candidate in self.found:
            risk, doubt = risk_of(candidate, expected, known)
            edit = candidate.edit
            survivors.append(
                Survivor(
                    edit.path, candidate.content, edit.line, edit.template, edit.before, edit.after, edit.donor,
                    ranked.score, ranked.rank, risk, doubt,
                )
            )  # fmt: skip
        survivors.sort(key=lambda each: (each.risk, _cost(each), -each.score, each.path, each.content))
        return SearchResult(
            survivors,
            self.tried,
            self.generated,
            time.monotonic() - self.started,
            self.ended,
            disagreeing(survivors),
            dict(self.by_template),
            dict(self.outcomes),
            self.first_found,
        )

    def _known_constants(self) -> frozenset[str]:
        found: set[str] = set()
        for path in {candidate.edit.path for _, candidate in self.found}:
            source = self.donors.source(path)
            for node in ast.walk(source.tree) if source is not None else ():
                if isinstance(node, ast.Constant):
                    found.add(repr(node.value))
        for each in self.donors.modules if self.found else ():
            if self.request.editable(each.path):
                found |= {repr(mention.text) for mention in each.of("key")}
        return frozenset(found)


def _cost(survivor: Survivor) -> float:
    """Rank, with a little for the amount of text that changes."""
    return survivor.rank + 0.01 * abs(len(survivor.after) - len(survivor.before))


def disagreeing(survivors: Sequence[Survivor]) -> int:
    """How many survivors say something else than the first."""
    if not survivors:
        return 0
    chosen = (survivors[0].path, _form(survivors[0].content))
    return sum((each.path, _form(each.content)) != chosen for each in survivors[1:])


def _form(content: bytes) -> str | bytes:
    try:
        return canonical(content)
    except RecursionError:
        return content
