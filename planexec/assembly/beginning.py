"""How a run begins or goes on: what is looked at before its first event, that event, and the first plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType

from planexec import __version__
from planexec.assembly.casting import Cast, planner_of
from planexec.assembly.configuration import user_configuration
from planexec.assembly.contracts import preflight, root_for
from planexec.assembly.models import models_of, recorded
from planexec.assembly.parts import (
    BASE_URL,
    EXECUTOR_MODEL,
    MODEL,
    PROJECT,
    PYTHON,
    SANDBOX,
    Run,
    Settings,
)
from planexec.core import events as e
from planexec.core.contract import RELATED_TESTS, Contract
from planexec.core.errors import UsageError
from planexec.core.example import default_file
from planexec.core.plan import Proposal
from planexec.core.roles import Unreadable
from planexec.core.rules import validate_plan
from planexec.core.state import BLOCKED, BUDGET, HELD_BACK, RunState
from planexec.core.usage import RAISABLE
from planexec.planners.workflow import REGRESSION_FILE
from planexec.testing.bench import flaky
from planexec.tools.toolbox import Toolbox
from planexec.workspace.repository import Repository


def begin(run: Run, contract: Contract, settings: Settings, text: str) -> None:
    """Check that the tests can be run at all, then write the run's first event."""
    steps = run.controller.steps
    tests = preflight(steps.bench, contract)
    base = run.workspace.base
    check = contract.reproduction
    settled = {
        "planner": run.controller.planner.name,
        "executor": steps.executor.name,
        "sandbox": run.sandbox.describe(),
        "interpreter": f"{run.interpreter.executable} ({run.interpreter.source})",
        "python": ".".join(map(str, run.interpreter.version)),
        PROJECT: steps.bench.project,
        "tests": str(len(tests)),
        "pass_env": ", ".join(steps.bench.harness.variables),
        PYTHON: str(run.interpreter.executable),
        SANDBOX: run.sandbox.name,
        "mode": settings.mode,
        "branch": settings.branch,
        BUDGET: f"{settings.budget or contract.limits.repair_seconds:g}",
        "planexec": __version__,
        REGRESSION_FILE: default_file(check, base.entries, steps.bench.project)
        if check and check.arguments.example
        else "",
        **_models(run),
        **({HELD_BACK: ", ".join(run.held_back)} if run.held_back else {}),
    }
    run.log.record(
        e.RunStarted(
            run_id=run.log.run_id,
            goal=contract.goal,
            contract=run.store.put(text.encode()),
            contract_digest=contract.digest,
            scope=contract.scope.label(),
            required_checks=contract.required_checks,
            replan_budget=contract.limits.replan_budget,
            corrections=contract.limits.corrections,
            actions_per_step=contract.limits.actions_per_step,
            base={
                "commit": run.repository.head,
                "repository": str(run.repository.root),
                "workspace": run.workspace.key,
            },
            settings=settled,
            snapshot=run.store.put(base.encode()),
            contract_files={name: run.store.put(content) for name, content in contract.files.items()},
            dirty=run.dirty,
        )
    )
    _measure(run)


def _models(run: Run) -> dict[str, str]:
    """Which models may be asked, and where; nothing where none is configured."""
    models = run.models
    if models.planning is None or models.acting is None:
        return {}
    url = models.redactor.text(models.base_url)
    return {MODEL: models.planning.name, EXECUTOR_MODEL: models.acting.name, BASE_URL: url}


def take_up(run: Run, raised: Mapping[str, float] = MappingProxyType({})) -> None:
    """Put the scratch tree back to what the journal says, and write that the run goes on, with the limit on which it
    had ended raised.
    """
    if run.log.state.status == BLOCKED:
        limit = RAISABLE[run.log.state.reason]
        run.log.record(e.LimitRaised(limit, raised[limit]))
    run.controller.steps.restore(run.log.state.snapshot)
    run.log.record(e.RunResumed(__version__))
    if not run.log.state.baseline:
        _measure(run)


def _measure(run: Run) -> None:
    """Tell how the whole suite does on the base, where a check will ask for that anyway: the two runs are kept."""
    steps = run.controller.steps
    checks = steps.contract.checks.values()
    if not any(check.kind == RELATED_TESTS and not check.arguments.tests for check in checks):
        return
    steps.progress("running the suite twice on the base")
    first, second = steps.bench.baseline()
    counts: Counter[str] = Counter(outcome.status for outcome in first.outcomes.values())
    problem = first.distrust or second.distrust
    run.log.record(e.BaseMeasured(dict(counts), round(first.seconds, 3), tuple(flaky(first, second)), problem))


def propose(contract: Contract, settings: Settings) -> tuple[Proposal, list[str]]:
    """The first plan and what the rules say of it; nothing is run and nothing is written."""
    repository = Repository.open(settings.where.repo)
    models = recorded(models_of(settings.models, user_configuration()), settings.models)
    cast = Cast(tuple(Toolbox.standard().tools.values()), models.planning, models.acting)
    planner = planner_of(settings.planner, cast)
    check = contract.reproduction
    project = root_for(contract, settings.where.repo, repository.root)
    file = default_file(check, repository.tracked(), project) if check and check.arguments.example else ""
    state = RunState(
        goal=contract.goal, scope=contract.scope.label(), required_checks=contract.required_checks,
        settings={REGRESSION_FILE: file}, replans_left=contract.limits.replan_budget,
    )  # fmt: skip
    proposal = planner.propose(contract, state)
    if proposal is None:
        raise UsageError(
            "the planner has no plan for this contract", "add a reproduction or a check that is bound to tests"
        )
    if isinstance(proposal, Unreadable):
        raise UsageError("the planner's answer is no plan", "; ".join(proposal.findings))
    return proposal, validate_plan(proposal, state.scope, state.required_checks, Toolbox.standard().names)
