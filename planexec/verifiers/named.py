"""``verify_named_tests``: tests of the repository, or host-supplied ones that lie beside the contract, pass on the
candidate (R24).
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import PurePosixPath

from planexec.core.contract import Check, Contract
from planexec.core.counting import count_of
from planexec.testing.bench import select
from planexec.verifiers.interface import FAILED, PASSED, Request, Verdict, first_line, trouble


def verify_named_tests(request: Request) -> Verdict:
    """Every test named is collected and passes; at least one is."""
    arguments = request.check.arguments
    extra = acceptance(request.contract, request.check, request.candidate.base.entries)
    ids = list(arguments.tests) or list(extra)
    report = request.bench.run(request.candidate.changes, ids, extra)
    if problem := trouble(report, "the candidate"):
        return problem
    for path, text in report.collection_errors.items():
        return Verdict(
            FAILED,
            f"'{path}' cannot be collected: {text.strip().splitlines()[-1] if text.strip() else ''}",
            {"error": text},
        )
    passed: list[str] = []
    for name in ids:
        outcomes = select(report, name)
        if not outcomes:
            return Verdict(FAILED, f"there is no test '{name}'", {"output": report.output}, "NO_TEST")
        for outcome in outcomes:
            if outcome.status != "passed":
                detail = {"id": outcome.id, "message": outcome.message, "detail": outcome.detail}
                return Verdict(FAILED, f"'{outcome.id}' {outcome.status}: {first_line(outcome.message)}", detail)
        passed += [outcome.id for outcome in outcomes]
    many = count_of(len(passed), "test passes", "tests pass")
    return Verdict(PASSED, f"{many} on the candidate", {"tests": passed, "host_supplied": sorted(extra)})


def acceptance(contract: Contract, check: Check, base: Collection[str]) -> dict[str, bytes]:
    """Where the host lays the contract's own tests: ``at``, or beside the project's tests under their own name."""
    names = check.arguments.acceptance_files()
    folder = next((f"{name}/" for name in ("tests", "test") if any(path.startswith(f"{name}/") for path in base)), "")
    at = check.arguments.at
    return {
        (at if at and len(names) == 1 else folder + PurePosixPath(name).name): contract.files[name] for name in names
    }


def visible_tests(contract: Contract, base: Collection[str]) -> dict[str, bytes]:
    """The contract's own tests that whoever writes the fix may see and run."""
    shown = [check for check in contract.checks.values() if check.arguments.visible]
    return {path: content for check in shown for path, content in acceptance(contract, check, base).items()}
