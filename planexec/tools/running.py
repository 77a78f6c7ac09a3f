"""Running things: the project's tests on a clean tree, and commands in the scratch tree, both in the sandbox."""

from __future__ import annotations

from collections import Counter

import msgspec

from planexec.tools.interface import ToolResult, Workbench
from planexec.verifiers.interface import trouble
from planexec.verifiers.named import visible_tests
from planexec.verifiers.related import selection

SHOWN_TESTS = 20
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
    description = "Run tests of the project (all without ids) with the present changes."
    arguments: type[msgspec.Struct] = RunTestsArguments
    idempotent = True

    def run(self, arguments: RunTestsArguments, workbench: Workbench) -> ToolResult:
        """Counts by status, the red tests with what they printed, and which of them were not red on the base
        (``broken``).
        """
        workbench.progress("running tests")
        candidate = workbench.candidate()
        ids = arguments.ids or selection(candidate, workbench.bench)
        report = workbench.bench.run(candidate.changes, ids, visible_tests(workbench.contract, candidate.base.entries))
        if problem := trouble(report, "the scratch tree"):
            environment = problem.status == "error"
            return ToolResult(
                False, problem.summary, problem.detail, code=problem.code or "ENVIRONMENT", environment=environment
            )
        counts = Counter(outcome.status for outcome in report.outcomes.values())
        red = [outcome for outcome in report.outcomes.values() if outcome.status in {"failed", "error"}]
        summary = ", ".join(f"{count} {status}" for status, count in sorted(counts.items())) or "no test ran"
        if red:
            summary += (
                f"; first '{red[0].id}': {red[0].message.splitlines()[0] if red[0].message else red[0].exception}"
            )
        if report.collection_errors:
            summary += f"; {len(report.collection_errors)} files cannot be collected"
        data = {
            "counts": dict(counts),
            "red": [{"id": o.id, "message": o.message, "detail": o.detail[:SHOWN_TEXT]} for o in red[:SHOWN_TESTS]],
            "broken": [o.id for o in red if not workbench.bench.failed_before(o.id)],
            "collection_errors": report.collection_errors,
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
