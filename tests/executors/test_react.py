"""A model that misbehaves while it acts: whatever it says, the step ends within its limits, with a reason."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from planexec.core.plan import FactRecorded, Step
from planexec.core.roles import Action, Finish, GiveUp, Move, Observation, Reply, StepVerdict
from planexec.core.state import RunState
from planexec.executors.react import CORRECTIONS, EVIDENCE_TURNS, ReactExecutor
from planexec.llm.answers import json_object
from planexec.llm.interface import Answer, Question
from planexec.tools.sight import Sight
from planexec.tools.survey import Survey
from planexec.tools.toolbox import Toolbox

from ..projects import BY_TESTS, make_contract

LARGEST = 24_000
STEP = Step(
    id="patch", goal="Change the source", done_when="the tests pass", artifacts=("patch",),
    tools=("search", "read", "edit", "run_tests"), predicates=(FactRecorded(("location",)),),
)  # fmt: skip


class Saying:
    """A model that says what it is told to, and keeps the questions."""

    name = "saying"

    def __init__(self, answers: Iterator[str]) -> None:
        self.answers = answers
        self.questions: list[Question] = []

    def ask(self, question: Question, seconds: float) -> Answer:
        self.questions.append(question)
        text = next(self.answers)
        return Answer(text, *json_object(text))


def act(tool: str, **arguments: Any) -> str:
    return json.dumps({"thought": "t", "tool": tool, "arguments": arguments})


def seen(move: Move, number: int) -> Reply:
    """The world: reading succeeds and shows the same, everything else fails."""
    if isinstance(move, Finish):
        return StepVerdict(False, ())
    ok = isinstance(move, Action) and move.tool == "read"
    return Observation(f"obs-patch-{number}", ok, "read" if ok else "it failed", {"text": "x"} if ok else {})


def acting(model: Saying) -> ReactExecutor:
    """An executor that is shown as much as may be."""
    survey = Survey(failing={f"t{n}": "x" * 9000 for n in range(9)}, excerpts={"a.py:1-9": "y" * 9000})
    changes = "+++ b/a.py\n" + "z\n" * 9000
    sight = Sight(lambda: survey, lambda: changes, lambda: [(f"s{n}", "w" * 999) for n in range(9)])
    return ReactExecutor(model, tuple(Toolbox.standard().tools.values()), sight)


def moves_of(model: Saying, world: Callable[[Move, int], Reply] = seen) -> list[Move]:
    """All moves of one attempt; it has to end by itself."""
    work = acting(model).work(make_contract(BY_TESTS), RunState(actions_per_step=40), STEP)
    moves: list[Move] = []
    reply: Reply = None
    try:
        while len(moves) < 200:
            moves.append(work.send(reply))
            reply = world(moves[-1], len(moves))
    except StopIteration:
        return moves
    raise AssertionError("it does not end")


UNUSABLE = {
    "prose": "I fixed it. All tests pass now.",
    "empty": "",
    "cut": '{"thought": "t", "tool": "rea',
    "a list": '["read"]',
    "ten at once": "\n".join(act("read", path=f"{n}.py") for n in range(10)),
    "no tool": '{"thought": "t"}',
    "an unknown tool": act("delete_repository"),
    "a tool of other steps": act("shell", argv=["rm", "-rf", "/"]),
    "an unknown field": '{"thought": "t", "tool": "read", "arguments": {}, "status": "completed"}',
    "wrong types": '{"thought": 1, "tool": ["read"], "arguments": "a.py"}',
    "arguments that are none": '{"thought": "t", "tool": "read", "arguments": [1]}',
    "a claim": '{"status": "completed", "evidence": ["all tests pass"]}',
    "a megabyte": json.dumps({"thought": "x" * 1_000_000, "tool": "read", "arguments": {}}),
    "half a character": '{"thought": "\\ud800", "tool": "read", "arguments": {}}',
    "escapes in the name": act("\x1b[31mread\u200b"),
}


@pytest.mark.parametrize("text", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_what_is_no_action_is_corrected_a_bounded_number_of_times(text: str) -> None:
    model = Saying(itertools.repeat(text))
    moves = moves_of(model)
    assert len(model.questions) == CORRECTIONS + 1
    assert isinstance(moves[-1], GiveUp) and len(moves) == 1
    assert moves[-1].reason.startswith("the model's answers cannot be used: ")
    assert "\n" not in moves[-1].reason and "\x1b" not in moves[-1].reason
    assert "Attention: " not in model.questions[0].user and "Attention: " in model.questions[1].user


ENDLESS = {
    "the same action": [act("read", path="a.py")],
    "two in turn": [act("read", path="a.py"), act("read", path="b.py")],
    "an edit that never fits": [act("edit", path="a.py", old="nothing", new="something")],
    "claims of success": [act("finish")],
    "claims between actions": [act("finish"), act("read", path="a.py")],
}


@pytest.mark.parametrize("texts", ENDLESS.values(), ids=ENDLESS.keys())
def test_going_round_in_circles_is_recognised(texts: list[str]) -> None:
    model = Saying(itertools.cycle(texts))
    moves = moves_of(model)
    assert isinstance(moves[-1], GiveUp) and moves[-1].reason.startswith("stuck: ")
    assert len(moves) <= 8


def test_actions_that_bring_nothing_send_the_plan_back() -> None:
    model = Saying(act("search", pattern=f"word{n}") for n in itertools.count())
    moves = moves_of(model)
    assert isinstance(moves[-1], GiveUp) and "no new evidence" in moves[-1].reason
    assert len(moves) == EVIDENCE_TURNS + 1


def test_it_may_give_up_with_a_reason() -> None:
    moves = moves_of(Saying(iter([act("give_up", reason="the file\nis generated\x1b[0m")])))
    assert len(moves) == 1 and isinstance(moves[0], GiveUp)
    assert moves[0].reason.startswith("the model gave up: the file is generated") and "\x1b" not in moves[0].reason


def test_a_good_action_is_passed_on_and_a_verdict_that_holds_ends_the_step() -> None:
    answers = [act("read", path="a.py", start=None, end=5), act("finish")]

    def world(move: Move, number: int) -> Reply:
        return StepVerdict(True, ()) if isinstance(move, Finish) else seen(move, number)

    assert moves_of(Saying(iter(answers)), world) == [Action("read", {"path": "a.py", "end": 5}), Finish()]


def test_a_question_does_not_grow_with_the_turns_and_begins_alike() -> None:
    def world(move: Move, number: int) -> Reply:
        return Observation(f"obs-patch-{number}", True, f"result {number} " + "y" * 3000, {"text": "z" * 50_000})

    model = Saying(act("read", path="a.py", start=n) for n in range(1, 38))
    with pytest.raises((StopIteration, RuntimeError)):
        moves_of(model, world)
    sizes = [question.size for question in model.questions]
    assert len(sizes) == 38 and max(sizes) <= LARGEST and sizes[-1] <= sizes[8] * 1.2
    assert len({question.system for question in model.questions}) == 1
