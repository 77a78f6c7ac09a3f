"""``verify_related_tests``: nothing that passed on the base may fail, vanish or be skipped on the candidate (R24)."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import PurePosixPath
from typing import Any

from planexec.core.contract import RELATED_TESTS
from planexec.core.counting import count_of
from planexec.core.paths import is_test_path
from planexec.testing.bench import Bench, flaky, status_of
from planexec.testing.outcomes import TestReport
from planexec.verifiers.interface import (
    ERROR,
    FAILED,
    INCONCLUSIVE,
    PASSED,
    Candidate,
    Request,
    Verdict,
    first_line,
    trouble,
)


def verify_related_tests(request: Request) -> Verdict:
    """Compare the candidate with two runs of the base; the whole suite unless it is named or too long."""
    ids = request.check.arguments.tests or selection(request.candidate, request.bench)
    first, second = request.bench.baseline(ids)
    if first.timed_out and not ids:
        return Verdict(
            INCONCLUSIVE, "the suite takes longer than limits.suite_seconds, and no test file names what was changed"
        )
    if problem := trouble(first, "the base") or trouble(second, "the base"):
        return problem
    candidate = request.bench.run(request.candidate.changes, [*ids, *_own(request, ids)] if ids else ())
    if problem := trouble(candidate, "the candidate"):
        return problem
    return _compare(request, first, second, candidate, ids)


def _own(request: Request, ids: Sequence[str]) -> list[str]:
    """The regression test's ids, where the selection would leave them out."""
    return [name for name in request.candidate.frozen.ids if not any(name.startswith(each) for each in ids)]


def _compare(
    request: Request, first: TestReport, second: TestReport, candidate: TestReport, ids: Sequence[str]
) -> Verdict:
    held = {name for name, outcome in first.outcomes.items() if outcome.status == "passed"}
    disagreeing = flaky(first, second)
    held -= set(disagreeing)
    reproduction = request.contract.reproduction
    own = {*request.candidate.frozen.ids, *(reproduction.arguments.tests if reproduction else ())}
    broken = {name: status_of(candidate, name) for name in sorted(held) if status_of(candidate, name) != "passed"}
    broken |= {
        n: o.status
        for n, o in candidate.outcomes.items()
        if n not in first.outcomes and o.status in {"failed", "error"}
    }
    errors = sorted(set(candidate.collection_errors) - set(first.collection_errors))
    detail: dict[str, Any] = {
        "selection": list(ids) or "the whole suite",
        "passed": sum(outcome.status == "passed" for outcome in candidate.outcomes.values()),
        "failed_before": sorted(
            n for n, o in first.outcomes.items() if o.status in {"failed", "error"} and n not in own
        ),
        "quarantined": disagreeing,
        "broken": broken,
        "collection_errors": {path: candidate.collection_errors[path] for path in errors},
    }
    if errors:
        return Verdict(FAILED, f"'{errors[0]}' can no longer be collected", detail)
    if broken:
        return _confirm(request, broken, detail)
    if not detail["passed"]:
        return _nothing_shown(request, held, detail)
    notes = [f"{len(detail[key])} {text}" for key, text in _NOTES.items() if detail[key]]
    passed = count_of(detail["passed"], "test passes", "tests pass")
    return Verdict(PASSED, ", ".join([f"{passed} as before", *notes]), detail)


_DEFAULT_NAME = re.compile(r"test_.*\.py|.*_test\.py|tests\.py")
_NOTES = {"failed_before": "failed before", "quarantined": "quarantined as flaky"}


def _nothing_shown(request: Request, held: Collection[str], detail: dict[str, Any]) -> Verdict:
    """No test passes. Where none did on the base, no patch can mend that: whoever runs the tests has to."""
    if held or request.check.arguments.tests:
        return Verdict(FAILED, "no test passed, so nothing is shown", detail)
    chosen = "the suite" if isinstance(detail["selection"], str) else f"{', '.join(detail['selection'][:3])}"
    name = request.check.name
    return Verdict(
        ERROR,
        f"no test of {chosen} passes on the base, so that nothing breaks cannot be shown; name the tests that count: "
        f"{name}: {{verifier: {RELATED_TESTS}, tests: [...]}}",
        detail,
        "NOTHING_PASSES",
    )


def _confirm(request: Request, broken: dict[str, str], detail: dict[str, Any]) -> Verdict:
    """Run what broke once more: a disagreement on the candidate's side alone is inconclusive, never a pass."""
    again = request.bench.run(request.candidate.changes, list(broken)[:50])
    steady = {name: status for name, status in broken.items() if status_of(again, name) != "passed"}
    if not steady:
        return Verdict(INCONCLUSIVE, f"'{next(iter(broken))}' failed once and passed once on the candidate", detail)
    name, status = next(iter(steady.items()))
    outcome = again.outcomes.get(name)
    why = f": {first_line(outcome.message)}" if outcome else ""
    many = count_of(len(steady), "test that passed on the base does", "tests that passed on the base do")
    return Verdict(FAILED, f"{many} not; first '{name}' is {status}{why}", detail)


def selection(candidate: Candidate, bench: Bench) -> tuple[str, ...]:
    """The related tests: everything (no ids) where the suite ends in its time, else the files that name what was
    changed.
    """
    return tuple(related_files(candidate, bench)) if bench.baseline()[0].timed_out else ()


def related_files(candidate: Candidate, bench: Bench) -> list[str]:
    """Test files that name a changed module, by its import path or its file's stem."""
    stems = {PurePosixPath(change.path).stem for change in candidate.source}
    stems |= {
        PurePosixPath(change.path).parent.name for change in candidate.source if change.path.endswith("__init__.py")
    }
    stems -= {"__init__", ""}
    if not stems:
        return []
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, sorted(stems))) + r")\b")
    return [
        path
        for path in _test_files(candidate, bench)
        if pattern.search(bench.store.get(candidate.base.entries[path].digest).decode("utf-8", "replace"))
    ]


def _test_files(candidate: Candidate, bench: Bench) -> list[str]:
    """The files from which the project's own run collects tests; scripts and data beside them may do anything. Where
    that run did not come so far, the files that look like it.
    """
    entries = candidate.base.entries
    collected = {name.partition("::")[0] for name in bench.baseline()[0].collected}
    named = (path for path in entries if path.endswith(".py") and is_test_path(path))
    default = [path for path in named if _DEFAULT_NAME.fullmatch(PurePosixPath(path).name)]
    return sorted(path for path in collected if path in entries) or sorted(default)
