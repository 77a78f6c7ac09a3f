"""Chooses who carries out a step: whoever can follow the plan in force."""

from __future__ import annotations

from planexec.core.contract import Contract
from planexec.core.plan import Step
from planexec.core.roles import Executor, Work
from planexec.core.state import RunState
from planexec.executors.workflow import WorkflowExecutor

MODEL = "model"


class AutoExecutor:
    """The steps of a model's plan go to the model, all others to the routines of the workflow."""

    name = "auto"

    def __init__(self, model: Executor | None) -> None:
        self.model = model

    def work(self, contract: Contract, state: RunState, step: Step) -> Work:
        """One attempt at ``step``."""
        planned = state.revisions[-1].planner if state.revisions else ""
        executor: Executor = self.model if planned == MODEL and self.model is not None else WorkflowExecutor()
        yield from executor.work(contract, state, step)
