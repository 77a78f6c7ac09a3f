"""``investigate``: learns where the fault is and what the project's test set-up can carry, by running and reading.

It writes nothing into the scratch tree. What it finds are claims, each with supports that the host checks again:
where the expected value is stored and lost, which required checks hold already, and whether the set-up carries the
fields that the example needs.
"""

from __future__ import annotations

import ast

import msgspec

from planexec.core import contract as c
from planexec.core import events as e
from planexec.core.example import default_file, expected_values, setup_probe
from planexec.core.paths import is_test_path
from planexec.repair.localise import Suspicion
from planexec.testing.bench import Bench, select
from planexec.testing.outcomes import TestOutcome
from planexec.tools import flow
from planexec.tools.failing import failing_run
from planexec.tools.interface import NoArguments, ToolResult, Workbench
from planexec.verifiers.interface import PASSED
from planexec.verifiers.registry import judge_base

SHOWN = 12
GUARDED = frozenset({c.NAMED_TESTS, c.COMMAND})


class Investigate:
    """The inspection tool of the workflow executor."""

    name = "investigate"
    description = "Trace the contract's example, rank the suspected lines, and learn what the test set-up can carry."
    arguments: type[msgspec.Struct] = NoArguments
    idempotent = True

    def run(self, arguments: NoArguments, workbench: Workbench) -> ToolResult:
        """Claims about the flow, the checks that hold already, the location, and the set-up, in this order."""
        contract, bench = workbench.contract, workbench.bench
        check = contract.reproduction
        workbench.progress("tracing the failing run")
        run, suspicions, problem = failing_run(bench, contract)
        if problem:
            return problem
        claims = [*_flow_claims(run, suspicions, check), *_base_claims(workbench), *_setup_claims(bench, check)]
        claims.sort(key=lambda claim: _ORDER.index(claim.subject.split(".")[0]))
        suspects = [
            {"path": s.path, "line": s.line, "score": round(s.score, 3), "reason": s.reason} for s in suspicions[:SHOWN]
        ]
        summary = "; ".join(claim.text for claim in claims) or "nothing was found"
        return ToolResult(True, summary, {"suspects": suspects, "test": run.test}, tuple(claims))


_ORDER = ("flow", "base", "location", "setup")


def _flow_claims(run: flow.Run, suspicions: list[Suspicion], check: c.Check | None) -> list[e.Claim]:
    outcome = run.trace.report.outcomes.get(run.test)
    if outcome is not None and outcome.status == "passed":
        text = "run by hand, the reproduction does not fail: the fault does not show on the base"
        return [e.Claim(text, "location", "none", (e.OutcomeSupport(run.test, "passed", dict(run.files)),))]
    values = expected_values(check) if check else ()
    expected, actual = (values[-1], values[0] if len(values) > 1 else "") if values else ("", "")
    found = [flow.stored(run, expected)] if expected else []
    found.append(
        flow.lost(run, actual, suspicions) or flow.suspected(run, suspicions, outcome.message if outcome else "")
    )
    return [claim for claim in found if claim is not None]


def _base_claims(workbench: Workbench) -> list[e.Claim]:
    """Which of the required checks hold already: what the fix must not break."""
    claims = []
    for check in workbench.contract.checks.values():
        if check.kind not in GUARDED:
            continue
        workbench.progress(f"asking whether check '{check.name}' holds on the base")
        verdict = judge_base(workbench.contract, check, workbench.bench)
        if verdict.status == PASSED:
            text = (
                f"check '{check.name}' holds on the base: {check.text} ({verdict.summary.replace('candidate', 'base')})"
            )
            claims.append(e.Claim(text, f"base.{check.name}", "holds", (e.CheckSupport(check.name, PASSED),)))
    return claims


def _setup_claims(bench: Bench, check: c.Check | None) -> list[e.Claim]:
    """Whether each field of the example stands in its fixture, asked by a probe that runs in the project's own
    set-up.
    """
    if check is None or check.arguments.example is None or not check.arguments.example.fields:
        return []
    probe = setup_probe(check.arguments.example)
    path = f"{default_file(check, bench.workspace.base.entries, bench.project)[: -len('.py')]}_setup_probe.py"
    report = bench.run((), [path], {path: probe.source.encode()})
    claims = []
    for name, (fixture, field) in probe.questions.items():
        outcome = next(iter(select(report, f"{path}::{name}")), None)
        place, support = _definition(bench, fixture)
        if outcome is not None:
            value, text = _answer(outcome, fixture, field, place)
            supports: list[e.Support] = [e.OutcomeSupport(outcome.id, outcome.status, {path: probe.source})]
            claims.append(e.Claim(text, f"setup.{fixture}.{field}", value, tuple(supports + support)))
    return claims


def _answer(outcome: TestOutcome, fixture: str, field: str, place: str) -> tuple[str, str]:
    """What the probe's outcome says about a field of a fixture."""
    where = f" ({place})" if place else ""
    if outcome.status == "passed":
        return "present", f"the test set-up '{fixture}' carries the field '{field}'{where}"
    if outcome.status == "failed" and outcome.exception == "AssertionError":
        return "absent", f"the test set-up '{fixture}' has no field '{field}'{where}"
    if outcome.status == "failed":
        return "no_mapping", f"the test set-up '{fixture}' is no mapping, so it has no fields{where}"
    why = outcome.message.strip().splitlines()[-1:] or ["it fails"]
    return "no_fixture", f"the test set-up '{fixture}' cannot be used: {why[0]}"


def _definition(bench: Bench, fixture: str) -> tuple[str, list[e.Support]]:
    """Where the fixture is defined in the tests, with the lines."""
    entries = bench.workspace.base.entries
    for path in sorted((path for path in entries if path.endswith(".py") and is_test_path(path)), key=_conftest_first):
        content = bench.store.get(entries[path].digest)
        try:
            tree = ast.parse(content)
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                and node.name == fixture
                and node.decorator_list
            ):
                start, end = node.decorator_list[0].lineno, node.end_lineno or node.lineno
                return f"{path}:{start}-{end}", [flow.lines({path: content}, path, start, end)]
    return "", []


def _conftest_first(path: str) -> tuple[bool, str]:
    return not path.endswith("conftest.py"), path
