"""What the host knows about the repository before there is a plan: files, tests, what fails and where it may be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import PurePosixPath

import msgspec

from planexec.core.contract import Contract
from planexec.core.paths import is_test_path
from planexec.repair.explain import SuspectedLine, suspected
from planexec.testing.bench import Bench
from planexec.tools.failing import failing_run
from planexec.tools.printed import readable

SHOWN_SUSPECTS = 8
EXCERPTS = 3
MISSING = frozenset({"ImportError", "ModuleNotFoundError", "NotImplementedError"})
"""Exceptions that say that something has yet to be written."""


class Survey(msgspec.Struct, frozen=True):
    """Plain facts for a planner. ``files`` are the sources and ``tests`` the test files, both by path; ``failing`` maps
    each red test to what it says, ``exceptions`` to the class it raised; ``suspects`` come best first. ``problem`` is
    one line where the failing tests could not be run, or are not red.
    """

    files: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    failing: dict[str, str] = {}
    exceptions: dict[str, str] = {}
    suspects: tuple[SuspectedLine, ...] = ()
    excerpts: dict[str, str] = {}
    problem: str = ""

    def folders(self) -> list[str]:
        """``folder/ (n files)`` for every folder that holds sources or tests, in order."""
        counts = Counter(str(PurePosixPath(path).parent) for path in (*self.files, *self.tests))
        return [f"{folder}/ ({count} files)" for folder, count in sorted(counts.items())]


def survey(bench: Bench, contract: Contract) -> Survey:
    """Look at the base: list the Python files, run what fails under the tracer, rank the lines."""
    paths = sorted(path for path in bench.workspace.base.entries if path.endswith(".py"))
    tests = tuple(path for path in paths if is_test_path(path))
    files = tuple(path for path in paths if not is_test_path(path))
    if not contract.names_tests:
        return Survey(files, tests, problem="no check of the contract names a test")
    run, suspicions, trouble = failing_run(bench, contract)
    if trouble is not None:
        return Survey(files, tests, problem=trouble.summary)
    red = {test: each for test, each in run.trace.report.outcomes.items() if each.status in {"failed", "error"}}
    wanted = {name: each for name, each in red.items() if name == run.test or name in _named(contract)}
    lines = tuple(suspected(suspicions, run.sources, limit=SHOWN_SUSPECTS))
    return Survey(
        files,
        tests,
        {name: readable(each.detail or each.message, str(bench.harness.root)) for name, each in wanted.items()},
        {name: each.exception for name, each in wanted.items()},
        lines,
        _excerpts(lines, run.sources),
        "" if wanted else "nothing that the contract names is red on the base",
    )


def _named(contract: Contract) -> set[str]:
    return {name for check in contract.checks.values() for name in check.arguments.tests}


def _excerpts(lines: tuple[SuspectedLine, ...], sources: Mapping[str, bytes], around: int = 12) -> dict[str, str]:
    """The source around the most suspected lines, by ``path:first-last``; three places, what touches put together."""
    ranges: dict[str, list[tuple[int, int]]] = {}
    texts = {each.path: sources[each.path].decode("utf-8", "replace").splitlines() for each in lines}
    for each in lines:
        if sum(map(len, ranges.values())) == EXCERPTS and each.path not in ranges:
            break
        span = max(each.line - around, 1), min(each.line + around, len(texts[each.path]))
        ranges[each.path] = _joined([*ranges.get(each.path, []), span])[:EXCERPTS]
    spans = [(path, first, last) for path, found in ranges.items() for first, last in found][:EXCERPTS]
    return {f"{path}:{first}-{last}": "\n".join(texts[path][first - 1 : last]) for path, first, last in spans}


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges of lines in order, those that overlap or touch as one."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(last, joined[-1][1])
        else:
            joined.append((first, last))
    return joined
