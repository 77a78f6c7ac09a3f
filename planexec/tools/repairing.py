"""``repair``: searches for a patch without a model and returns what survived the failing and the covering tests."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import msgspec

from planexec.core.durations import told
from planexec.core.events import Claim, RecordSupport
from planexec.core.example import expected_values
from planexec.core.paths import allows, is_test_path, matches
from planexec.core.state import SEARCH
from planexec.journal.artifacts import digest_of
from planexec.repair.explain import account, suspected
from planexec.repair.ground import ground, left_over
from planexec.repair.localise import Suspicion, beyond, localise
from planexec.repair.search import SearchRequest, SearchResult, Survivor, disagreeing, search, seconds_allowed
from planexec.testing.bench import select
from planexec.testing.outcomes import TraceReport
from planexec.testing.screen import Screening
from planexec.tools.budget import RESERVED, budget_of
from planexec.tools.failing import sources_of, target_ids
from planexec.tools.interface import ToolResult, Workbench
from planexec.verifiers.interface import Candidate, trouble
from planexec.verifiers.named import visible_tests

COVERING_SECONDS = 60.0
"""How long the covering tests may take together, by their traced times: a survivor has to pass all of them."""

MAX_JUDGES = 4
MAX_SURVIVORS = 20
SHOWN_SUSPECTS = 12


class RepairArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``suspicious`` tries the lines that the failing tests run; ``wide`` everything that the scope allows."""

    reach: Literal["suspicious", "wide"] = "suspicious"


@dataclass(frozen=True)
class Located:
    """What a search starts from: the traced run, the sources, suspected lines, and the tests that judge."""

    trace: TraceReport
    sources: dict[str, bytes]
    suspicions: list[Suspicion]
    failing: list[str]
    covering: list[str]

    def seconds(self, tests: Sequence[str]) -> float:
        """How long the tests took together, under the tracer."""
        return sum(self.trace.report.outcomes[test].seconds for test in tests)


class Repair:
    """The search engine as a tool. It keeps its last search, for a plan that wants another survivor of it, and
    which candidates were refuted, for a plan that wants a wider one.
    """

    name = SEARCH
    description = "Search for a small change that makes the failing tests pass; no model is used."
    arguments: type[msgspec.Struct] = RepairArguments
    idempotent = True

    def __init__(self) -> None:
        self._last: tuple[object, SearchResult, dict[str, Any]] | None = None
        self._failed: tuple[object, set[bytes]] = (None, set())

    def run(self, arguments: RepairArguments, workbench: Workbench) -> ToolResult:
        """Survivors, best first, as stored contents; a claim about the search where nothing survived."""
        budget = budget_of(workbench.contract, workbench.state)
        left = budget - workbench.searched()
        if left <= 0:
            return _spent(arguments, workbench, budget)
        candidate = workbench.candidate()
        shown = visible_tests(workbench.contract, candidate.base.entries)
        targets = [*(candidate.frozen.ids or target_ids(workbench.contract)), *shown]
        workbench.progress("locating the fault")
        trace = workbench.bench.trace_among(candidate.tests, targets, extra=shown)
        if problem := trouble(trace.report, "the base", targets):
            return ToolResult(False, problem.summary, problem.detail, code="ENVIRONMENT", environment=True)
        failing = [o.id for name in targets for o in select(trace.report, name) if o.status in {"failed", "error"}]
        if not failing:
            return ToolResult(False, "no target test is red, so there is nothing to search for", code="NOT_RED")
        sources = sources_of(workbench.bench)
        suspicions = localise(trace, set(failing), sources)
        if arguments.reach == "wide":
            suspicions = beyond(trace, suspicions, sources)
        located = Located(trace, sources, suspicions, failing, _covering(trace, suspicions, failing))
        key = (workbench.bench, arguments, candidate.tests, failing, located.covering)
        refuted = frozenset(workbench.state.refuted) | workbench.given_up()
        if self._last is None or self._last[0] != key or _is_over(self._last[1], refuted):
            result, spent = self._search(arguments, workbench, candidate, located, left, refuted)
            self._last = (key, result, {**spent, "reused": True})
        else:
            _, result, spent = self._last
            kept = [survivor for survivor in result.survivors if digest_of(survivor.content) not in refuted]
            # None of the run's time goes into it again.
            result = replace(result, survivors=kept, disagreeing=disagreeing(kept), seconds=0.0)
        return _result(arguments, workbench, result, located, spent)

    def _search(
        self,
        arguments: RepairArguments,
        workbench: Workbench,
        candidate: Candidate,
        located: Located,
        left: float,
        refuted: frozenset[str],
    ) -> tuple[SearchResult, dict[str, Any]]:
        contract = workbench.contract
        check = contract.reproduction

        def editable(path: str) -> bool:
            allowed = allows(path, contract.scope.allow, contract.scope.deny) and not is_test_path(path)
            return allowed and not matches(path, contract.forbidden)

        reserved = RESERVED * budget_of(contract, workbench.state) if arguments.reach == "suspicious" else 0.0
        allowed, in_run = max(left - reserved, left / 4), workbench.seconds()
        request = SearchRequest(
            sources=located.sources,
            suspicions=located.suspicions,
            failing=located.failing,
            covering=located.covering,
            reach=arguments.reach,
            seconds=min(allowed, in_run),
            candidates=contract.limits.repair_candidates,
            editable=editable,
            progress=lambda tried, found: workbench.progress(f"{tried} candidates tried, {found} survive"),
            expected=expected_values(check)[-1:] if check else (),
            failed=self._refuted_by((workbench.bench, candidate.tests, located.failing)),
            refuted=(lambda content: digest_of(content) in refuted) if refuted else SearchRequest.refuted,
            judgement_seconds=seconds_allowed(located.trace.report, located.failing, workbench.bench.baseline()[0]),
            covering_seconds=15.0 + 3 * located.seconds(located.covering),
        )
        with ExitStack() as stack:
            shown = visible_tests(contract, candidate.base.entries)
            many = min(workbench.bench.workers, MAX_JUDGES)
            screening = Screening(
                located.failing, located.covering, request.covering_seconds, located.trace.import_lines
            )
            bench = workbench.bench
            judges = [stack.enter_context(bench.screened(candidate.tests, screening, shown)) for _ in range(many)]
            result = search(request, *judges)
        bounds = {"seconds": round(request.seconds, 1), "candidates": request.candidates, "run": in_run < allowed}
        return result, {"bounds": bounds, "left": 0 if result.survivors else left_over(request, result)}

    def _refuted_by(self, tests: object) -> set[bytes]:
        """The candidates that these tests refuted in this process: a wider search does not try them again."""
        if self._failed[0] != tests:
            self._failed = (tests, set())
        return self._failed[1]


def _covering(trace: TraceReport, suspicions: Sequence[Suspicion], failing: Sequence[str]) -> list[str]:
    """Passing tests that run suspicious lines, those that run most of the suspicion first."""
    weight = {(each.path, each.line): each.score for each in suspicions}
    passing = set(trace.report.with_status("passed")) - set(failing)
    scores = {
        test: sum(weight.get((path, line), 0.0) for path, lines in files.items() for line in lines)
        for test, files in trace.lines.items()
        if test in passing
    }
    chosen: list[str] = []
    left = COVERING_SECONDS
    for test in sorted((test for test, score in scores.items() if score > 0), key=lambda test: (-scores[test], test)):
        left -= trace.report.outcomes[test].seconds
        if left > 0:
            chosen.append(test)
    return chosen


def _result(
    arguments: RepairArguments, workbench: Workbench, result: SearchResult, located: Located, spent: dict[str, Any]
) -> ToolResult:
    kept = result.survivors
    data: dict[str, Any] = {
        "reach": arguments.reach,
        "tried": result.tried,
        "generated": result.generated,
        "seconds": round(result.seconds, 1),
        "budget": budget_of(workbench.contract, workbench.state),
        "ended": result.ended,
        "survivors": [_survivor(survivor, workbench) for survivor in kept[:MAX_SURVIVORS]],
        "surviving": len(kept),
        "disagreeing": result.disagreeing,
        "by_template": result.by_template,
        "outcomes": result.outcomes,
        **spent,
        "ground": asdict(ground(located.trace, located.failing, located.suspicions, located.sources)),
        "failing": located.failing,
        "suspects": [
            {**asdict(each), "score": round(each.score, 3)}
            for each in suspected(located.suspicions, located.sources, limit=SHOWN_SUSPECTS)
        ],
    }  # fmt: skip
    if kept:
        return ToolResult(True, account(result), data)
    data["outcome"] = "no_survivor"
    text = f"the {arguments.reach} search found no patch: {account(result)}"
    support = RecordSupport(workbench.observation, "outcome", "no_survivor")
    return ToolResult(True, text, data, (Claim(text, f"search.{arguments.reach}", "no_survivor", (support,)),))


def _spent(arguments: RepairArguments, workbench: Workbench, budget: float) -> ToolResult:
    """No time is left: that no patch was found stands in the record like any other search without one."""
    text = f"the {arguments.reach} search was not begun: the {told(budget)} for searching are used up"
    support = RecordSupport(workbench.observation, "outcome", "no_survivor")
    claim = Claim(text, f"search.{arguments.reach}", "no_survivor", (support,))
    data: dict[str, Any] = {
        "reach": arguments.reach,
        "seconds": 0.0,
        "budget": budget,
        "survivors": [],
        "outcome": "no_survivor",
    }
    return ToolResult(True, text, data, (claim,))


def _survivor(survivor: Survivor, workbench: Workbench) -> dict[str, Any]:
    return {
        "path": survivor.path,
        "line": survivor.line,
        "template": survivor.template,
        "before": survivor.before,
        "after": survivor.after,
        "donor": survivor.donor,
        "doubt": survivor.doubt,
        "content": workbench.bench.store.put(survivor.content),
    }


def _is_over(result: SearchResult, refuted: frozenset[str]) -> bool:
    """Whether nothing of an earlier search can be used: it was cut off, or all that it compared does not stand."""
    compared = result.ended == "enough" and all(digest_of(each.content) in refuted for each in result.survivors)
    return result.ended == "time" or compared
