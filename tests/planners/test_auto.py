"""What the automatic planner chooses, and what takes the model's place where it cannot be asked."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from planexec.core import events as e
from planexec.core.contract import Contract
from planexec.core.errors import ModelFailure
from planexec.core.plan import Proposal
from planexec.core.roles import Unreadable
from planexec.core.state import Revision, RunState
from planexec.planners.auto import AutoPlanner, choose
from planexec.planners.workflow import SearchPlanner
from planexec.tools.survey import Survey

from ..projects import BY_EXAMPLE, BY_TESTS, RED, make_contract

NAMELESS = "goal: g\nsuccess: {tests: everything still passes}\n"
FAILING = Survey(failing={RED: "assert 1 == 2"}, exceptions={RED: "AssertionError"})
UNWRITTEN = Survey(failing={RED: "NotImplementedError"}, exceptions={RED: "NotImplementedError"})


class Proposing:
    """A planner with a model, or one whose server is gone."""

    name, mechanism, reason = "model", "planning by a model", "asked"

    def __init__(self, *, gone: bool = False) -> None:
        self.gone, self.asked = gone, 0

    def propose(self, contract: Contract, state: RunState) -> Proposal | Unreadable | None:
        self.asked += 1
        if self.gone:
            raise ModelFailure("nothing answers at http://x")
        return Proposal("s", ())

    def replan(self, contract: Contract, state: RunState, trigger: e.ReplanTriggered) -> Proposal | Unreadable | None:
        return self.propose(contract, state)


@pytest.mark.parametrize(
    ("text", "survey", "mechanism", "why"),
    [
        (BY_EXAMPLE, FAILING, "workflow", "the contract gives an example"),
        (BY_TESTS, FAILING, "search", "1 named test fail, 0 lines are suspected"),
        (BY_TESTS, UNWRITTEN, "model", "fails with NotImplementedError: something has yet to be written"),
        (BY_TESTS, Survey(problem="nothing is red"), "search", "nothing is red"),
        (BY_TESTS, None, "search", "tests are named"),
        (NAMELESS, FAILING, "model", "no test is named"),
    ],
)
def test_properties_of_the_task_choose(text: str, survey: Survey | None, mechanism: str, why: str) -> None:
    chosen, reason = choose(make_contract(text), (lambda: survey) if survey is not None else None)
    assert chosen == mechanism and why in reason


@pytest.mark.parametrize(
    ("model", "refusals", "name", "why"),
    [
        (Proposing(), 0, "model", "something has yet to be written"),
        (None, 0, "search", "none is configured"),
        (Proposing(gone=True), 0, "search", "the model cannot be asked: nothing answers"),
        (Proposing(), 3, "search", "the model's proposals break the rules"),
    ],
)
def test_the_search_takes_the_model_s_place(model: Proposing | None, refusals: int, name: str, why: str) -> None:
    planner = AutoPlanner(model, lambda: UNWRITTEN)
    state = RunState(corrections=3, refusals=refusals, scope="s")
    assert planner.propose(make_contract(BY_TESTS), state) is not None
    assert planner.name == name and why in planner.mechanism


def test_what_the_searches_leave_over_goes_to_the_model_and_to_nobody_where_it_is_gone() -> None:
    failure = e.Failure("patch", 1, e.FailureClass.TASK, e.Cause.FALSE_FACT, "NO_PATCH", "", e.Recoverability.REPLAN)
    trigger = e.ReplanTriggered("tool", failure, "patch", ("patch",))
    contract = make_contract(BY_TESTS)
    state = RunState(scope="s", revisions=(Revision(1, 0, "", (), (), (), (), "search"),))
    proposal = SearchPlanner().propose(contract, state)
    assert proposal is not None
    state = replace(state, steps=proposal.steps)
    trigger = replace(trigger, root="verify", affected=("verify",))  # the search has no way on from here
    asked = Proposing()
    planner = AutoPlanner(asked, lambda: FAILING)
    assert planner.replan(contract, state, trigger) is not None and asked.asked == 1
    assert planner.mechanism == "planning by a model: the searches found no patch"
    assert AutoPlanner(Proposing(gone=True), None).replan(contract, state, trigger) is None
    assert AutoPlanner(None, None).replan(contract, state, trigger) is None
