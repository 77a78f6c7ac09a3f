"""``locate``: where the fault most likely is, with the source around it; a claim about it that the host checks."""

from __future__ import annotations

from dataclasses import asdict

import msgspec

from planexec.repair.explain import suspected
from planexec.tools import flow
from planexec.tools.failing import failing_run
from planexec.tools.interface import NoArguments, ToolResult, Workbench

SHOWN = 12


class Locate:
    """Ranks suspected lines by what the failing test runs."""

    name = "locate"
    description = "Run what fails, and rank the lines by which tests run them: a guess, kept as the fact location."
    arguments: type[msgspec.Struct] = NoArguments
    idempotent = True

    def run(self, arguments: NoArguments, workbench: Workbench) -> ToolResult:
        """The failure and the suspected lines, best first; where something is red, a claim about the location."""
        workbench.progress("tracing the failing run")
        run, suspicions, problem = failing_run(workbench.bench, workbench.contract)
        if problem:
            return problem
        outcome = run.trace.report.outcomes.get(run.test)
        if not suspicions or outcome is None:
            return ToolResult(True, "nothing that the contract names is red on the base", {"suspects": []})
        lines = suspected(suspicions, run.sources, limit=SHOWN)
        claim = flow.suspected(run, suspicions, outcome.message)
        data = {
            "test": outcome.id,
            "message": outcome.message,
            "suspects": [{**asdict(each), "score": round(each.score, 3)} for each in lines],
        }
        first = lines[0]
        summary = f"most suspected: {first.path}:{first.line} in {first.function or 'the module'} ({first.reason})"
        return ToolResult(True, summary, data, (claim,) if claim else ())
