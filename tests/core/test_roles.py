from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from planexec.core import contract as c
from planexec.core.events import ReplanTriggered
from planexec.core.plan import Proposal, Step
from planexec.core.roles import Action, Executor, Finish, GiveUp, Observation, Planner, StepVerdict, Work
from planexec.core.state import RunState
from tests.core.building import evidence, planned, proposal, sound_steps, trigger


class Fixed:
    """One plan, and one action a step: what the two protocols ask for and no more."""

    name = "fixed"

    def propose(self, contract: c.Contract, state: RunState) -> Proposal | None:
        return proposal(sound_steps())

    def replan(self, contract: c.Contract, state: RunState, trigger: ReplanTriggered) -> Proposal | None:
        return None

    def work(self, contract: c.Contract, state: RunState, step: Step) -> Work:
        seen = yield Action(step.tools[0], {"query": step.goal})
        if not (isinstance(seen, Observation) and seen.ok):
            yield GiveUp("nothing was found")
            return
        verdict = yield Finish()
        if isinstance(verdict, StepVerdict) and not verdict.holds:
            yield GiveUp("it does not hold")


CONTRACT = c.Contract("g", c.Scope(), {}, c.Limits())


def conversation(*replies: Observation | StepVerdict | None) -> list[object]:
    executor: Executor = Fixed()
    work = executor.work(CONTRACT, planned(), sound_steps()[0])
    moves: list[object] = [next(work)]
    for reply in replies:
        try:
            moves.append(work.send(reply))
        except StopIteration:
            moves.append(None)
    return moves


def test_a_planner_proposes_or_says_that_there_is_no_other_way() -> None:
    planner: Planner = Fixed()
    assert planner.propose(CONTRACT, planned()) == proposal(sound_steps())
    assert planner.replan(CONTRACT, planned(), trigger("inspect")) is None


def test_an_executor_is_a_conversation_of_moves_and_answers() -> None:
    act = Action("search", {"query": sound_steps()[0].goal})
    seen, unseen = Observation("obs-1", True, "found"), Observation("obs-1", False, "nothing")
    assert conversation(seen, StepVerdict(True, (evidence(),))) == [act, Finish(), None]
    assert conversation(seen, StepVerdict(False, ())) == [act, Finish(), GiveUp("it does not hold")]
    assert conversation(unseen) == [act, GiveUp("nothing was found")]
    assert (seen.claims, seen.data) == ((), {})


@pytest.mark.parametrize("value", [Action("a", {}), Observation("o", True, "s"), StepVerdict(False, ())])
def test_what_was_said_cannot_be_changed(value: object) -> None:
    name = next(iter(vars(value)))
    with pytest.raises(FrozenInstanceError):
        setattr(value, name, "otherwise")
