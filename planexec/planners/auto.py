"""Chooses how a plan comes about, by properties of the task and never by whether a key is there (R11).

- workflow: the contract gives an example, so the path is known: write the test, extend its set-up if need be, search.
- search: the contract names tests that fail, so that candidates can be enumerated and judged by running them.
- model: what is missing has to be written (no search invents it), or no test is named; and what the searches left over.

Where a model would be chosen and none is configured, or none answers, the search takes its place; the reason says so.
"""

from __future__ import annotations

from collections.abc import Callable

from planexec.core.contract import Contract
from planexec.core.counting import count_of
from planexec.core.errors import ModelFailure
from planexec.core.events import ReplanTriggered
from planexec.core.plan import Proposal
from planexec.core.roles import Planner, Unreadable
from planexec.core.state import RunState
from planexec.planners.workflow import SearchPlanner, WorkflowPlanner
from planexec.tools.survey import MISSING, Survey

WORKFLOW, SEARCH, MODEL = "workflow", "search", "model"


class AutoPlanner:
    """Delegates to one of three planners. ``name`` and ``mechanism`` are those of the last proposal.

    ``look`` surveys the base; without it the contract alone says what fits.
    """

    def __init__(self, model: Planner | None, look: Callable[[], Survey] | None) -> None:
        self.model, self.look = model, look
        self.name = "auto"
        self.mechanism = ""
        self.reason = ""

    def propose(self, contract: Contract, state: RunState) -> Proposal | Unreadable | None:
        """The first plan, by the mechanism that fits the task."""
        mechanism, why = choose(contract, self.look)
        if mechanism == MODEL and self.model is None:
            mechanism, why = SEARCH, f"{why}, which asks for a model, but none is configured"
        if mechanism == MODEL and state.refusals >= max(state.corrections, 1):
            mechanism, why = SEARCH, f"{why}, but the model's proposals break the rules"
        if mechanism == MODEL and self.model is not None:
            try:
                return self._told(self.model, self.model.propose(contract, state), why)
            except ModelFailure as error:
                mechanism, why = SEARCH, f"{why}, but the model cannot be asked: {error.message}"
        planner: Planner = WorkflowPlanner() if mechanism == WORKFLOW else SearchPlanner()
        return self._told(planner, planner.propose(contract, state), why)

    def replan(self, contract: Contract, state: RunState, trigger: ReplanTriggered) -> Proposal | Unreadable | None:
        """Another plan by the planner of the present one; what the searches leave over goes to the model."""
        last = state.revisions[-1].planner if state.revisions else WORKFLOW
        if last != MODEL:
            planner: Planner = SearchPlanner() if last == SEARCH else WorkflowPlanner()
            proposal = planner.replan(contract, state, trigger)
            if proposal is not None or self.model is None:
                return self._told(planner, proposal, "the hypothesis that the observation leaves")
        if self.model is None:
            return None
        why = "the searches found no patch" if last != MODEL else "the model's plan did not hold"
        try:
            return self._told(self.model, self.model.replan(contract, state, trigger), why)
        except ModelFailure:
            return None  # what the searches found out is the better report

    def _told(self, planner: Planner, proposal: Proposal | Unreadable | None, why: str) -> Proposal | Unreadable | None:
        self.name, self.reason = planner.name, planner.reason
        self.mechanism = f"{planner.mechanism}: {why}"
        return proposal


def choose(contract: Contract, look: Callable[[], Survey] | None) -> tuple[str, str]:
    """The mechanism for a task, and the property of the task that says so."""
    check = contract.reproduction
    if check is not None and check.arguments.example is not None:
        return WORKFLOW, "the contract gives an example, so the path is known"
    if not contract.names_tests:
        return MODEL, "no test is named that tells a patch from other changes"
    if look is None:
        return SEARCH, "tests are named, so candidates can be enumerated and judged"
    survey = look()
    missing = {name: kind for name, kind in survey.exceptions.items() if kind in MISSING}
    if missing and len(missing) == len(survey.exceptions):
        name, kind = next(iter(missing.items()))
        return MODEL, f"'{name}' fails with {kind}: something has yet to be written"
    if not survey.failing:
        return SEARCH, f"tests are named ({survey.problem})"
    lines = count_of(len(survey.suspects), "line is", "lines are")
    return (
        SEARCH,
        f"{count_of(len(survey.failing), 'named test')} fail, {lines} suspected: candidates can be enumerated",
    )
