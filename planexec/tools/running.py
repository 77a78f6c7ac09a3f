"""Running things: the project's tests on a clean tree, and commands in the scratch tree, both in the sandbox."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from planexec.testing.bench import Bench, select
from planexec.testing.outcomes import TestReport
from planexec.testing.testids import stands_for
from planexec.tools.failing import target_ids
from planexec.tools.interface import ToolResult, Workbench
from planexec.tools.printed import readable
from planexec.verifiers.interface import trouble
from planexec.verifiers.named import visible_tests
from planexec.verifiers.related import selection

SHOWN_TESTS = 8
SHOWN_IDS = 20
SHOWN_TEXT = 4000
SHELL_SECONDS = 120.0


class RunTestsArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Test ids; none means everything related: the whole suite where it is short, else the files that name what
    changed.
    """

    ids: tuple[str, ...] = ()


class RunTests:
    """Runs tests on a clean tree with what the scratch tree has changed."""

    name = "run_tests"
    description = "Run tests with the present changes: these ids, or all; tells which are red and were not before."
    arguments: type[msgspec.Struct] = RunTestsArguments
    idempotent = True

    def run(self, arguments: RunTestsArguments, workbench: Workbench) -> ToolResult:
        """Counts by status; which tests are red and were not on the base (``broken``), which were red before; and what
        the broken and the named ones printed.
        """
        workbench.progress("running tests")
        candidate, bench = workbench.candidate(), workbench.bench
        ids = arguments.ids or selection(candidate, bench)
        report = bench.run(candidate.changes, ids, visible_tests(workbench.contract, candidate.base.entries))
        if problem := trouble(report, "the scratch tree"):
            environment = problem.status == "error"
            return ToolResult(
                False, problem.summary, problem.detail, code=problem.code or "ENVIRONMENT", environment=environment
            )
        return _told(report, bench, arguments.ids or target_ids(workbench.contract))


def _together(report: TestReport, name: str) -> str:
    """How all the tests that an id stands for did, in words."""
    counts = Counter(outcome.status for outcome in select(report, name))
    return ", ".join(f"{count} {status}" for status, count in sorted(counts.items())) or "not run"


def _told(report: TestReport, bench: Bench, wanted: Sequence[str]) -> ToolResult:
    """The result with what counts first: a person or a model reads it from the top. ``broken`` are red and were not on
    the base; ``red`` holds what these and the ``wanted`` ones print.
    """
    root = str(bench.harness.root)
    counts = Counter(outcome.status for outcome in report.outcomes.values())
    red = [outcome for outcome in report.outcomes.values() if outcome.status in {"failed", "error"}]
    broken = [each for each in red if not bench.failed_before(each.id)]
    uncollected = [path for path in report.collection_errors if not bench.uncollected_before(path)]
    summary = ", ".join(f"{count} {status}" for status, count in sorted(counts.items())) or "no test ran"
    if broken:
        first = broken[0]
        why = readable(first.message.split("\n", 1)[0], root) or first.exception
        summary += f"; {len(broken)} newly red, first '{first.id}': {why}"
    elif red:
        summary += "; all that are red were so before the change"
    if report.collection_errors:
        summary += f"; {len(report.collection_errors)} files cannot be collected"
        summary += f", {len(uncollected)} of which could be before" if bench.measured else ""
    still = [each for each in red if each not in broken and any(stands_for(name, each.id) for name in wanted)]
    shown = [*broken, *still][:SHOWN_TESTS]
    data = {
        "counts": dict(counts),
        "wanted": {name: _together(report, name) for name in wanted},
        "broken": [each.id for each in broken],
        "red_before_too": [each.id for each in red if each not in broken][:SHOWN_IDS],
        "red": [{"id": o.id, "detail": readable(o.detail or o.message, root)[:SHOWN_TEXT]} for o in shown],
        "collection_errors": {
            path: readable(report.collection_errors[path], root)[:SHOWN_TEXT] for path in uncollected[:SHOWN_IDS]
        },
    }
    return ToolResult(True, summary, data)


class ShellArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A program with its arguments, as words; no shell interprets them."""

    argv: tuple[str, ...]


class Shell:
    """Runs a program in the scratch tree."""

    name = "shell"
    description = "Run a program in the repository's folder, in the sandbox, without network."
    arguments: type[msgspec.Struct] = ShellArguments
    idempotent = False

    def run(self, arguments: ShellArguments, workbench: Workbench) -> ToolResult:
        """Exit code and the ends of what was printed."""
        if not arguments.argv:
            return ToolResult(False, "no program given", code="NO_PROGRAM")
        seconds = min(SHELL_SECONDS, workbench.seconds())
        result = workbench.bench.harness.command(workbench.scratch, arguments.argv, seconds=seconds)
        printed = (result.stdout + result.stderr).decode("utf-8", "replace")
        data = {"exit_code": result.exit_code, "output": _ends(printed), "timed_out": result.timed_out}
        summary = f"{arguments.argv[0]} ended with {result.exit_code}"
        if result.timed_out:
            return ToolResult(False, f"{arguments.argv[0]} took longer than {seconds:.0f} s", data, code="TIMEOUT")
        return ToolResult(True, summary, data)


def _ends(text: str) -> str:
    """Head and tail of a long text."""
    if len(text) <= SHOWN_TEXT:
        return text
    half = SHOWN_TEXT // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
