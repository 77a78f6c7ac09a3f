"""``verify_regression_red``: red on the base by its own assertion, green on the candidate, red again without the
source change (R24).
"""

from __future__ import annotations

from typing import Any

from planexec.core.example import expected_values
from planexec.testing.bench import select
from planexec.testing.outcomes import TestOutcome, TestReport
from planexec.verifiers.interface import FAILED, INCONCLUSIVE, PASSED, Request, Verdict, first_line, trouble


def verify_regression_red(request: Request) -> Verdict:
    """Judge the whole of it: base + T red, base + T + S green, base + T red once more."""
    red = red_on_base(request)
    if red.status != PASSED:
        return red
    green = green_on_candidate(request)
    if green.status != PASSED:
        return green
    again = red_on_base(request, runs=1)
    if again.status != PASSED:
        return Verdict(
            INCONCLUSIVE, f"red, then green, but not red again without the source change: {again.summary}", again.detail
        )
    detail = {"red": red.detail, "green": green.detail, "red_again": again.detail}
    return Verdict(PASSED, f"{red.summary}; {green.summary}; red again without the source change", detail)


def red_on_base(request: Request, runs: int = 0) -> Verdict:
    """The red half: each id fails in its body, N times out of N, showing the contract's values."""
    ids, runs = request.regression_ids, runs or request.check.arguments.runs
    if not ids:
        return Verdict(FAILED, "no regression test stands yet", code="NO_TEST")
    shown: list[dict[str, Any]] = []
    for number, report in enumerate(request.bench.repeat(request.candidate.tests, ids, runs), start=1):
        if problem := trouble(report, "the base"):
            return problem
        for name in ids:
            failing, objection = _red(report, name)
            if objection:
                return Verdict(
                    FAILED, f"not red on the base: {objection} (run {number} of {runs})", _detail(report), "NOT_RED"
                )
            if missing := _not_shown(request, failing):
                return Verdict(
                    FAILED, f"red on the base, but '{name}' does not show {missing}", _detail(report), "OTHER_RED"
                )
            shown += [_outcome(outcome) for outcome in failing] if number == 1 else []
    first = first_line(shown[0]["message"])
    return Verdict(
        PASSED,
        f"red on the base {runs} of {runs} times: {first}",
        {"tree": "base + tests", "runs": runs, "tests": shown},
    )


def green_on_candidate(request: Request) -> Verdict:
    """The green half: each id passes, as often as it was red."""
    ids, runs = request.regression_ids, request.check.arguments.runs
    for number, report in enumerate(request.bench.repeat(request.candidate.changes, ids, runs), start=1):
        if problem := trouble(report, "the candidate"):
            return problem
        for name in ids:
            outcomes = select(report, name)
            bad = [outcome for outcome in outcomes if outcome.status != "passed"]
            if not outcomes:
                return Verdict(FAILED, f"'{name}' was not collected on the candidate", _detail(report))
            if bad and number > 1:
                return Verdict(INCONCLUSIVE, f"'{bad[0].id}' passed before and now {bad[0].status}", _detail(report))
            if bad:
                return Verdict(
                    FAILED,
                    f"'{bad[0].id}' {bad[0].status} on the candidate: {first_line(bad[0].message)}",
                    _detail(report),
                )
    return Verdict(
        PASSED, f"green on the candidate {runs} of {runs} times", {"tree": "base + tests + source", "runs": runs}
    )


def _red(report: TestReport, name: str) -> tuple[list[TestOutcome], str]:
    """The outcomes that are red by their own assertion, or what speaks against it."""
    outcomes = select(report, name)
    if not outcomes:
        if errors := report.collection_errors:
            path, text = next(iter(errors.items()))
            return [], f"'{path}' cannot be collected: {_last_line(text)}"
        return [], f"there is no test '{name}'"
    for outcome in outcomes:
        if outcome.status == "error" or (outcome.status == "failed" and not outcome.red_in_body):
            return [], f"'{outcome.id}' fails outside its body ({outcome.phase}): {first_line(outcome.message)}"
    failing = [outcome for outcome in outcomes if outcome.red_in_body]
    return failing, "" if failing else f"'{name}' is {outcomes[0].status}"


def _not_shown(request: Request, outcomes: list[TestOutcome]) -> str:
    """The first of the contract's values that no failure shows."""
    for value in expected_values(request.check):
        plain = value.strip("'\"")
        if not any(
            value in outcome.detail or plain in outcome.message or value in outcome.exception for outcome in outcomes
        ):
            return value
    return ""


def _outcome(outcome: TestOutcome) -> dict[str, Any]:
    return {"id": outcome.id, "exception": outcome.exception, "message": outcome.message, "detail": outcome.detail}


def _detail(report: TestReport) -> dict[str, Any]:
    return {"tests": [_outcome(outcome) for outcome in report.outcomes.values()], "output": report.output}


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), text)
