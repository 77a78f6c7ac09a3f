"""The executor with a language model: one action a turn, then its observation (ReAct), until the host's verdict holds.

A turn's prompt is made anew from contract, step and notebook, so that it stays as short in the fortieth turn as in the
first, with a beginning that never changes, for servers that cache. Whatever the model says, it is a move and nothing
more; what it cannot say in the asked-for form it is told and asked again, a bounded number of times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from planexec.core import plan as p
from planexec.core.contract import Contract
from planexec.core.plan import Step
from planexec.core.roles import Action, Finish, GiveUp, Move, Observation, StepVerdict, Work
from planexec.core.state import RunState
from planexec.executors.notebook import CHANGING, STUCK, Notebook
from planexec.llm.interface import ACT, LanguageModel, Question
from planexec.prompts import surveyed, task
from planexec.prompts.data import cut, quoted, visible
from planexec.prompts.template import render
from planexec.tools.interface import Tool
from planexec.tools.schemas import FINISH, GIVE_UP, MOVES, action_schema, signature, without_nulls
from planexec.tools.sight import Sight

CORRECTIONS = 3
"""Answers in a row that cannot be used; with one more the step is given up."""
EVIDENCE_TURNS = 8
"""When none of the first actions brought anything, the plan goes back to the planner (fourth seed)."""
TURN_SECONDS = 3600.0
"""An upper bound: the model's own ``timeout`` and what the run may still take are usually less."""
FAILING, SUSPECTS, CHANGES = 2200, 1400, 3000
"""Characters."""

LOOKING = "- Look before you decide: read the lines that matter."
EDITING = """- Look before you edit: read the lines that you change.
- edit replaces "old" by "new". "old" must be copied exactly from the file, with its spaces but without the line numbers
  that read shows, and must occur only once: take whole lines, and some lines around them. To create a file give "new"
  and leave "old" out.
- Fix the cause in the source, with the smallest change. Do not change existing tests, do not special-case a test.
- After an edit run the failing test with run_tests. When it passes, finish."""
WRITING = """- This step writes the test that shows the bug: use the tool regression, then finish. The host has run the
  contract's example as a temporary test; that file is not in the repository."""
REGRESSION = (p.RegressionRed, p.RegressionGreen)
JUDGING = "- This step changes nothing. Finish as soon as you have nothing more to find out."


AGAIN = (
    "you asked for verification again, and nothing had changed for the better. If no action of this step can change "
    "the verdict, use give_up and say why."
)


class Turn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An answer: why, and what to do."""

    tool: str
    arguments: dict[str, object] = {}
    thought: str = ""


@dataclass(frozen=True)
class _Briefing:
    """The part of a step's questions that stays: the first message, the schema of an answer, the names of the tools."""

    system: str
    schema: Mapping[str, Any]
    tools: list[str]


class ReactExecutor:
    """Asks a model for the actions of a step, with what ``sight`` shows of the run."""

    name = "model"

    def __init__(self, model: LanguageModel, tools: Sequence[Tool], sight: Sight) -> None:
        self.model, self.sight = model, sight
        self.tools = {tool.name: tool for tool in tools}

    def work(self, contract: Contract, state: RunState, step: Step) -> Work:
        """One attempt at ``step``. Where the host can judge it as things stand, the model is asked only if it does not
        hold.
        """
        notebook = Notebook(self.sight.changes(), self.sight.reports())
        problem, refused = "", 0
        if _only_judges(contract, step):
            verdict = yield Finish()
            if not isinstance(verdict, StepVerdict) or verdict.holds or verdict.environment:
                return
            notebook.judged(verdict, "the host judged the step before its first action")
        briefing = self._brief(contract, step)
        while True:
            move = self._ask(briefing, state, step, notebook, problem)
            if isinstance(move, str):
                problem, refused = move, refused + 1
                if refused > CORRECTIONS:
                    yield GiveUp(f"the model's answers cannot be used: {problem}")
                    return
                continue
            refused = 0
            reply = yield move
            if isinstance(move, GiveUp):
                return
            if isinstance(reply, StepVerdict) and (reply.holds or reply.environment):
                return
            problem = _keep(notebook, move, reply)
            if isinstance(move, Action) and move.tool in CHANGING:
                notebook.changed_to(self.sight.changes())
            if end := _no_way_on(notebook):
                yield GiveUp(end)
                return

    def _brief(self, contract: Contract, step: Step) -> _Briefing:
        """What the model is told of a step: made once, so that every turn's question begins alike."""
        tools = [self.tools[name] for name in step.tools if name in self.tools]
        survey = self.sight.look()
        system = render(
            "act",
            tools="\n".join(signature(tool) for tool in tools),
            goal=task.goal(contract),
            context=task.context(contract),
            step=step.id,
            step_goal=cut(visible(step.goal), 600),
            done_when=cut(visible(step.done_when), 600),
            predicates=task.predicates(step),
            writes=", ".join(step.writes) or "(none: this step only looks)",
            rules=_rules(contract, step),
            failing=quoted("failing tests", surveyed.failing(survey, FAILING), FAILING),
            suspects=quoted("ranked lines", surveyed.suspects(survey, SUSPECTS, source=False), SUSPECTS),
        )
        return _Briefing(system, action_schema(tools), [tool.name for tool in tools])

    def _ask(self, briefing: _Briefing, state: RunState, step: Step, notebook: Notebook, problem: str) -> Move | str:
        """The model's move; a line that says what is wrong with its answer."""
        user = render(
            "acting",
            facts=_facts(state, notebook),
            reports=task.steps_before(state, notebook.reports),
            changes=quoted("diff", notebook.difference, CHANGES) if notebook.difference else "(nothing is changed)",
            thoughts=notebook.thought(),
            history=notebook.history(),
            observations=notebook.recent(),
            left=str(state.actions_per_step - state.record(step.id).actions - notebook.actions),
            problem=f"\nAttention: {cut(visible(problem), 1200)}\n" if problem else "",
        )
        answer = self.model.ask(Question(ACT, briefing.system, user, "action", briefing.schema), TURN_SECONDS)
        if answer.value is None:
            return answer.problem or "the answer holds no JSON object"
        notebook.think(str(answer.value.get("thought", "")))
        return read_move(answer.value, briefing.tools)


def read_move(value: object, tools: Sequence[str]) -> Move | str:
    """The move that an answer asks for; a line that says what is wrong with it."""
    try:
        turn = msgspec.convert(value, Turn)
    except msgspec.ValidationError as error:
        return f"your answer does not have the asked-for form: {str(error)[:300]}"
    arguments = without_nulls(turn.arguments)
    if turn.tool == FINISH:
        return Finish()
    if turn.tool == GIVE_UP:
        said = cut(visible(str(arguments.get("reason", ""))), 300).replace("\n", " ")
        return GiveUp(f"the model gave up: {said or 'it gave no reason'}")
    if turn.tool not in tools:
        return f"there is no tool '{visible(turn.tool[:60])}' in this step; there is {', '.join([*tools, *MOVES])}"
    return Action(turn.tool, arguments)


def _keep(notebook: Notebook, move: Move, reply: Observation | StepVerdict | None) -> str:
    """Note what came of a move; what the model should be told about it."""
    if isinstance(reply, StepVerdict):
        new = notebook.judged(reply)
        return "" if new else AGAIN
    if isinstance(move, Action) and isinstance(reply, Observation):
        new = notebook.note(move, reply)
        return "" if new else "this action and its result are the same as before. Do something else."
    return ""


def _no_way_on(notebook: Notebook) -> str:
    if notebook.stale >= STUCK:
        return f"stuck: the last {notebook.stale} turns repeated actions with the same results"
    if notebook.actions >= EVIDENCE_TURNS and not notebook.fruitful:
        return f"the first {notebook.actions} actions brought no new evidence"
    return ""


def _rules(contract: Contract, step: Step) -> str:
    """The rules that fit a step."""
    if "edit" in step.tools:
        return EDITING
    if "regression" in step.tools and task.has_example(contract):
        return WRITING
    return LOOKING if {"patch", "inspection"} & set(step.artifacts) else JUDGING


def _only_judges(contract: Contract, step: Step) -> bool:
    """Whether no action is needed before the host can say whether the step holds."""
    judged = (p.CheckPassed, p.RegressionGreen) if task.has_example(contract) else (p.CheckPassed, *REGRESSION)
    return "patch" not in step.artifacts and all(isinstance(each, judged) for each in step.predicates)


def _facts(state: RunState, notebook: Notebook) -> str:
    known = task.facts(state.facts, notebook.changed())
    new = [f"- {cut(visible(each), 600)}" for each in notebook.facts[-4:]]
    return "\n".join([*([known] if state.facts or not new else []), *new])
