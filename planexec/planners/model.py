"""The planner with a language model: it is shown contract, repository and rules, and proposes; the rules judge.

A model proposes scope and steps and nothing else. What breaks the rules comes back to it with the findings, in a
bounded number of correction turns; of a replan it is asked for the new steps alone, and the host puts the kept ones
beside them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from planexec.core import plan as p
from planexec.core.contract import Contract
from planexec.core.events import ReplanTriggered
from planexec.core.plan import Proposal, Status, Step
from planexec.core.roles import Unreadable
from planexec.core.state import RunState
from planexec.llm.interface import PLAN, REPLAN, LanguageModel, Question
from planexec.planners.answers import PREDICATES, PlannedProposal, read_plan
from planexec.planners.workflow import setup_subjects
from planexec.prompts import surveyed, task
from planexec.prompts.data import cut, listed, quoted, visible
from planexec.prompts.template import render
from planexec.tools.interface import Tool
from planexec.tools.schemas import signature, strict
from planexec.tools.sight import Sight

QUESTION_SECONDS = 3600.0
"""An upper bound: the model's own ``timeout`` and what the run may still take are usually less."""
FILES, FAILING, SUSPECTS, PLAN_TEXT, TRIGGER, FINDINGS = 3500, 5000, 7000, 4000, 1500, 2000
"""Characters that each part of a prompt may take."""

EXAMPLE = {
    "scope": "current_repository",
    "steps": [
        {
            "id": "reproduce", "goal": "Show that the named test fails for the reported reason", "depends_on": [],
            "covers": ["reproduction"], "done_when": "the regression test fails every time",
            "predicates": [{"predicate": "regression_red", "about": "reproduction"}], "preconditions": [],
            "artifacts": ["regression-test"], "tools": ["run_tests"], "writes": [],
        },
        {
            "id": "patch", "goal": "Change the source so that the failing test passes", "depends_on": ["reproduce"],
            "covers": [], "done_when": "the regression test passes",
            "predicates": [{"predicate": "regression_green", "about": "reproduction"}], "preconditions": [],
            "artifacts": ["patch"], "tools": ["search", "read", "edit", "undo", "run_tests"], "writes": ["shop/**"],
        },
        {
            "id": "verify", "goal": "Show that nothing else broke", "depends_on": ["patch"], "covers": ["tests"],
            "done_when": "all related tests pass", "predicates": [{"predicate": "check_passed", "about": "tests"}],
            "preconditions": [], "artifacts": ["verification"], "tools": ["run_tests"], "writes": [],
        },
    ],
}  # fmt: skip


FOR_EXAMPLES = ("regression", "investigate", "setup_carries")
"""Tools and predicates that only serve a contract with an example."""

BY_TESTS = "The tests that show the bug exist already: no test has to be written."
BY_EXAMPLE = (
    "The test that shows the bug does not exist yet: a step with the tool regression writes it, and names the tests' "
    "folder in its writes. What is shown as failing is the host's own temporary test, which is not in the repository."
)


class ModelPlanner:
    """Asks a model for plans, with what ``sight`` shows of the repository."""

    name = "model"
    mechanism = "planning by a model"

    def __init__(self, model: LanguageModel, tools: Sequence[Tool], sight: Sight) -> None:
        self.model, self.tools, self.sight = model, tools, sight
        self.reason = f"the first plan, proposed by the model '{model.name}'"

    def propose(self, contract: Contract, state: RunState) -> Proposal | Unreadable | None:
        """A first plan."""
        user = render("planning", **self._common(contract, state))
        return self._asked(PLAN, self._system(contract, state), user, ())

    def replan(self, contract: Contract, state: RunState, trigger: ReplanTriggered) -> Proposal | Unreadable | None:
        """New steps in place of the affected ones, beside those that stay."""
        after = p.superseding(state.steps, set(trigger.affected))
        kept = [step for step in after if step.status is not Status.SUPERSEDED]
        failure = trigger.failure
        why = f"step '{failure.step}' failed ({failure.code}): {visible(failure.message)}"
        user = render(
            "replanning",
            **self._common(contract, state),
            plan=listed([_told(state, step) for step in state.live()], PLAN_TEXT),
            reports=task.reports(self.sight.reports()),
            trigger=cut(why, TRIGGER),
            affected=", ".join(trigger.affected) or "(all)",
            kept=", ".join(step.id for step in kept) or "(none)",
            left=str(state.replans_left - 1),
            facts=task.facts(state.facts),
        )
        return self._asked(REPLAN, self._system(contract, state), user, after)

    def _asked(self, purpose: str, system: str, user: str, kept: Sequence[Step]) -> Proposal | Unreadable:
        question = Question(purpose, system, user, "plan", strict(PlannedProposal), limit=8192)
        answer = self.model.ask(question, QUESTION_SECONDS)
        if answer.value is None:
            return Unreadable(answer.text, (answer.problem or "the answer holds no JSON object",))
        read = read_plan(answer.value, kept)
        return read if isinstance(read, Proposal) else Unreadable(answer.text, tuple(read))

    def _system(self, contract: Contract, state: RunState) -> str:
        unfit = () if task.has_example(contract) else FOR_EXAMPLES
        return render(
            "plan",
            predicates="\n".join(f"- {kind}: {text}" for kind, text in PREDICATES.items() if kind not in unfit),
            subjects=listed([f"- {each}" for each in _subjects(contract)], 1500),
            tools="\n".join(signature(tool) for tool in self.tools if tool.name not in unfit),
            scope=json.dumps(state.scope),
            reproducing=BY_EXAMPLE if task.has_example(contract) else BY_TESTS,
            example=json.dumps(EXAMPLE),
        )

    def _common(self, contract: Contract, state: RunState) -> dict[str, str]:
        survey = self.sight.look()
        return {
            "goal": task.goal(contract),
            "context": task.context(contract),
            "scope": visible(state.scope)[:500],
            "checks": task.checks(contract),
            "repository": quoted("files", surveyed.files(survey), FILES),
            "failing": quoted("failing tests", surveyed.failing(survey, FAILING), FAILING),
            "suspects": quoted("suspected lines", surveyed.suspects(survey, SUSPECTS, source=True), SUSPECTS),
            "findings": _corrections(state.findings),
        }


def _subjects(contract: Contract) -> list[str]:
    """The subjects of facts that tools can establish, with the values that they may have."""
    check = contract.reproduction
    setup = setup_subjects(check) if check else {}
    return [
        "location: path:line, the line that ranks first (tool locate) or that the worker noted (tool note)",
        *(
            f"{subject}: present or absent, whether the fixture '{fixture}' of the tests carries '{field}' (tool "
            "investigate); where it is absent the test set-up must be extended (regression with part=setup)"
            for subject, (fixture, field) in setup.items()
        ),
        *(f"base.{name}: holds or fails, how check '{name}' does before the change (tool investigate)"
          for name in contract.checks if task.has_example(contract) and contract.checks[name] is not check),
    ]  # fmt: skip


def _corrections(findings: Sequence[str]) -> str:
    if not findings:
        return ""
    lines = listed([f"- {visible(each)[:400]}" for each in findings], FINDINGS)
    return f"\nYour last answer was refused. Mend every one of these:\n{lines}\n"


def _told(state: RunState, step: Step) -> str:
    failure = state.record(step.id).failure
    said = f"; failed ({failure.code}): {visible(failure.message)[:300]}" if failure else ""
    return f"- {step.id} ({step.status.value}): {visible(step.goal)[:200]}; covers {list(step.covers)}{said}"
