"""Controllers on a run that has just begun, with the planner and the executor of one's choice."""

from __future__ import annotations

from pathlib import Path

from planexec.assembly.casting import sight_of
from planexec.controller.loop import Controller
from planexec.controller.metering import MeteredModel
from planexec.controller.steps import StepRunner
from planexec.core import events as e
from planexec.core.roles import Executor, Planner
from planexec.executors.react import ReactExecutor
from planexec.executors.workflow import WorkflowExecutor
from planexec.journal.journal import Journal
from planexec.journal.runlog import RunLog
from planexec.llm.interface import LanguageModel
from planexec.planners.model import ModelPlanner
from planexec.planners.workflow import REGRESSION_FILE, WorkflowPlanner
from planexec.testing.bench import Bench
from planexec.tools.toolbox import Toolbox
from planexec.verifiers.registry import Registry

from ..projects import BY_TESTS, make_contract

QUICK = BY_TESTS.replace("runs: 2", "runs: 1")


def start(
    bench: Bench,
    folder: Path,
    text: str = QUICK,
    planner: Planner | None = None,
    executor: Executor | None = None,
    mode: str = "apply",
    toolbox: Toolbox | None = None,
) -> Controller:
    """A controller on a run that has just begun."""
    contract = make_contract(text)
    log = RunLog(Journal.open(folder / "state"), "run-1")
    steps = StepRunner(
        contract, log, executor or WorkflowExecutor(), toolbox or Toolbox.standard(), bench, Registry.of(contract),
        lambda: 300.0, lambda text: None,
    )  # fmt: skip
    base = {"repository": str(bench.workspace.root), "commit": "0" * 40}
    log.record(
        e.RunStarted(
            "run-1", contract.goal, "", contract.digest, contract.scope.label(), contract.required_checks,
            contract.limits.replan_budget, contract.limits.corrections, contract.limits.actions_per_step, base,
            {REGRESSION_FILE: "", "mode": mode}, bench.store.put(bench.workspace.base.encode()),
        )
    )  # fmt: skip
    return Controller(contract, log, planner or WorkflowPlanner(), steps, lambda text: None, sleep=lambda seconds: None)


def start_with_model(
    bench: Bench, folder: Path, model: LanguageModel, text: str = QUICK, toolbox: Toolbox | None = None
) -> Controller:
    """The same with a model in both roles, metered and shown what a run shows it."""
    toolbox = toolbox or Toolbox.standard()
    controller = start(bench, folder, text, toolbox=toolbox)
    log, contract = controller.log, controller.contract
    metered = MeteredModel(
        model, log, bench.store, contract.limits, lambda: 300.0, lambda text: text, lambda name, usage: None
    )

    sight = sight_of(contract, bench, log)
    tools = tuple(toolbox.tools.values())
    controller.planner = ModelPlanner(metered, tools, sight)
    controller.steps.executor = ReactExecutor(metered, tools, sight)
    return controller
