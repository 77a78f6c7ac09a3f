"""The test bench: clean trees with a candidate's changes, and what the target's tests say of them.

Nothing here looks at the scratch copy: a tree is the pristine copy plus recorded changes plus files that the host
lays in.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from planexec.journal.artifacts import ArtifactStore
from planexec.sandbox.interface import CommandResult, FileTree
from planexec.testing.harness import Harness
from planexec.testing.outcomes import TestOutcome, TestReport, TraceReport
from planexec.testing.screen import ScreenedJudge, Screening
from planexec.testing.testids import stands_for
from planexec.testing.warmjudge import WarmJudge
from planexec.workspace.copies import Workspace
from planexec.workspace.layers import refuse_existing
from planexec.workspace.manifest import Change

Extra = Mapping[str, bytes]
"""Files that the host lays into a tree for one judgement: path to content. They are never a part of the patch."""


TRACE_SECONDS = 90.0
"""The limit of one run under the tracer."""

COMPANION_SECONDS = 4.0
"""How long the passing tests that are traced may take untraced; the tracer makes them ten to thirty times slower."""


class Bench:
    """Runs tests on clean trees. ``suite_seconds`` bounds a run of the whole suite."""

    def __init__(self, workspace: Workspace, harness: Harness, store: ArtifactStore, suite_seconds: float) -> None:
        self.workspace, self.harness, self.store = workspace, harness, store
        self.suite_seconds = suite_seconds
        self._baseline: dict[tuple[str, ...], tuple[TestReport, TestReport]] = {}
        self._locks: dict[tuple[str, ...], Lock] = {}
        self._traced: tuple[object, TraceReport] | None = None

    @contextmanager
    def tree(self, changes: Sequence[Change] = (), extra: Extra | None = None) -> Iterator[FileTree]:
        """A fresh tree: pristine copy, changes, extra files; a layer over the pristine copy where the sandbox can.

        Raises ConflictError when an extra file exists already.
        """
        if self.harness.layers(self.workspace.folder):
            with self.workspace.layer(changes, extra) as layer:
                yield layer
        else:
            with self.whole_tree(changes, extra) as folder:
                yield folder

    @contextmanager
    def whole_tree(self, changes: Sequence[Change] = (), extra: Extra | None = None) -> Iterator[Path]:
        """The same, and always one folder."""
        with self.workspace.clean_tree(changes) as folder:
            for path, content in (extra or {}).items():
                target = folder / path
                refuse_existing(path, os.path.lexists(target))
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
            yield folder

    def run(
        self,
        changes: Sequence[Change],
        ids: Sequence[str] = (),
        extra: Extra | None = None,
        seconds: float | None = None,
    ) -> TestReport:
        """Run tests (all without ``ids``) on a clean tree."""
        with self.tree(changes, extra) as tree:
            return self.harness.run(tree, ids, seconds=seconds or self.suite_seconds)

    def trace(
        self, changes: Sequence[Change], ids: Sequence[str], watch: Sequence[str] = (), extra: Extra | None = None
    ) -> TraceReport:
        """Run tests under the tracer on a clean tree; the last trace is kept, for the next step often asks the same."""
        key = (tuple(changes), tuple(ids), tuple(watch), tuple(sorted((extra or {}).items())))
        if self._traced is None or self._traced[0] != key:
            with self.tree(changes, extra) as tree:
                seconds = min(self.suite_seconds, TRACE_SECONDS)
                self._traced = (key, self.harness.trace(tree, ids, watch=watch, seconds=seconds))
        return self._traced[1]

    def trace_among(
        self, changes: Sequence[Change], failing: Sequence[str], watch: Sequence[str] = (), extra: Extra | None = None
    ) -> TraceReport:
        """Trace failing tests among passing ones; alone where that takes too long."""
        report = self.trace(changes, [*failing, *self.companions(failing)], watch, extra)
        return self.trace(changes, failing, watch, extra) if report.report.timed_out else report

    def companions(self, failing: Sequence[str]) -> list[str]:
        """Passing tests to trace beside the failing ones: those of their own files first, as many as time allows."""
        first, _ = self.baseline()
        files = {name.split("::")[0] for name in failing}
        passing = [name for name in first.with_status("passed") if name not in failing]
        left, chosen = COMPANION_SECONDS, []
        for name in sorted(passing, key=lambda name: name.split("::")[0] not in files):
            seconds = first.outcomes[name].seconds
            if seconds < left:
                left -= seconds
                chosen.append(name)
        return chosen

    def command(self, changes: Sequence[Change], argv: Sequence[str], seconds: float) -> CommandResult:
        """Run a program on a clean tree."""
        with self.tree(changes) as tree:
            return self.harness.command(tree, argv, seconds=seconds)

    @contextmanager
    def warm(self, changes: Sequence[Change], extra: Extra | None = None) -> Iterator[WarmJudge]:
        """A warm process on a clean tree of its own."""
        with self.tree(changes, extra) as tree, self.harness.warm(tree) as judge:
            yield judge

    @contextmanager
    def screened(
        self, changes: Sequence[Change], screening: Screening, extra: Extra | None = None
    ) -> Iterator[ScreenedJudge]:
        """The same with a quick look first."""
        with self.tree(changes, extra) as tree, ScreenedJudge(self.harness.warm(tree), screening) as judge:
            yield judge

    def baseline(self, ids: Sequence[str] = ()) -> tuple[TestReport, TestReport]:
        """Two runs of the base, so that what disagrees with itself can be told; kept while the process lives."""
        key = tuple(ids)
        with self._locks.setdefault(key, Lock()):
            if key not in self._baseline:
                first, second = self.repeat((), ids, 2)
                self._baseline[key] = (first, second)
        return self._baseline[key]

    def repeat(self, changes: Sequence[Change], ids: Sequence[str], times: int) -> list[TestReport]:
        """The same run several times, each on a tree of its own; at once where each run has its own network and
        processes.
        """
        with ThreadPoolExecutor(max_workers=min(times, self.workers)) as pool:
            return list(pool.map(lambda _: self.run(changes, ids), range(times)))

    @property
    def project(self) -> str:
        """The project root relative to the repository's root, posix; empty when they are the same."""
        return self.harness.project

    @property
    def workers(self) -> int:
        """How many runs may go on at once without sharing ports or temporary files."""
        return max(os.cpu_count() or 1, 1) if self.harness.sandbox.remaps else 1

    @property
    def measured(self) -> bool:
        """Whether the base has been run."""
        return bool(self._baseline)

    def failed_before(self, name: str) -> bool:
        """Whether the test was red on the base, as far as the base has been run."""
        return any(status_of(report, name) in {"failed", "error"} for report in self._base_reports())

    def uncollected_before(self, path: str) -> bool:
        """Whether the tests of a file could not be collected on the base, as far as the base has been run."""
        return any(path in report.collection_errors for report in self._base_reports())

    def _base_reports(self) -> list[TestReport]:
        return [report for pair in self._baseline.values() for report in pair]


def flaky(first: TestReport, second: TestReport) -> list[str]:
    """The ids on which two runs of the same tree disagree, sorted."""
    names = {*first.outcomes, *second.outcomes}
    return sorted(name for name in names if status_of(first, name) != status_of(second, name))


def status_of(report: TestReport, name: str) -> str:
    """The status of a test in a run; ``missing`` where it has none."""
    outcome = report.outcomes.get(name)
    return outcome.status if outcome else "missing"


def select(report: TestReport, name: str) -> list[TestOutcome]:
    """The outcomes that a test id stands for: itself, its parameters, or everything below a file or class."""
    own = report.outcomes.get(name)
    if own is not None:
        return [own]
    return [each for key, each in report.outcomes.items() if stands_for(name, key)]
