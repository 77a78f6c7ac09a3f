"""The failing run of a contract: what shall turn green, run and traced on the base."""

from __future__ import annotations

from planexec.core import contract as c
from planexec.core.example import default_file, expected_values, regression_id, regression_source
from planexec.core.paths import is_test_path, matches
from planexec.repair.localise import Suspicion, localise
from planexec.testing.bench import Bench, select
from planexec.testing.outcomes import TestOutcome
from planexec.tools import flow
from planexec.tools.interface import ToolResult
from planexec.verifiers.interface import trouble


def failing_run(bench: Bench, contract: c.Contract) -> tuple[flow.Run, list[Suspicion], ToolResult | None]:
    """Trace what fails on the base among other tests: the tests that shall turn green, or the contract's example, run
    by hand as a throwaway probe.

    The traced run, the suspected lines (none where nothing is red), and what stood in the way.
    """
    check = contract.reproduction
    files: dict[str, str] = {}
    failing = list(target_ids(contract))
    if check is not None and check.arguments.example is not None:
        path = f"{default_file(check, bench.workspace.base.entries, bench.project)[: -len('.py')]}_probe.py"
        files = {path: regression_source(check, extended=False)}
        failing = [regression_id(check, path)]
    watch = list(expected_values(check)) if check else []
    extra = {path: text.encode() for path, text in files.items()}
    trace = bench.trace_among((), failing, watch, extra)
    sources = sources_of(bench)
    outcomes = [outcome for name in failing for outcome in select(trace.report, name)]
    shown = [*(outcome.id for outcome in outcomes), *failing, ""]
    run = flow.Run(_first_red(outcomes) or shown[0], trace, sources, files)
    if problem := trouble(trace.report, "the base", failing):
        return run, [], ToolResult(False, problem.summary, problem.detail, code="ENVIRONMENT", environment=True)
    red = {outcome.id for outcome in outcomes if outcome.status in {"failed", "error"}}
    return run, localise(trace, red, sources) if red else [], None


def target_ids(contract: c.Contract) -> tuple[str, ...]:
    """The tests of the repository that shall turn green: the reproduction's, else those that checks name."""
    check = contract.reproduction
    if check is not None:
        return check.arguments.tests
    return tuple(
        name for each in contract.checks.values() if each.kind == c.NAMED_TESTS for name in each.arguments.tests
    )


def sources_of(bench: Bench) -> dict[str, bytes]:
    """The Python sources of the base, without its tests."""
    entries = bench.workspace.base.entries
    chosen = [path for path in entries if matches(path, flow.SOURCES) and not is_test_path(path)]
    return {path: bench.store.get(entries[path].digest) for path in sorted(chosen)}


def _first_red(outcomes: list[TestOutcome]) -> str:
    return next((outcome.id for outcome in outcomes if outcome.status in {"failed", "error"}), "")
