"""The planner with a language model: it is shown contract, repository and rules, and proposes; the rules judge.

A model proposes scope and steps and nothing else. What breaks the rules comes back to it with the findings, in a
bounded number of correction turns; of a replan it is asked for the new steps alone, and the host puts the kept ones
beside them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence

from planexec.core import plan as p
from planexec.core.contract import Contract
from planexec.core.events import ReplanTriggered
from planexec.core.plan import Proposal, Status, Step
from planexec.core.roles import Unreadable
from planexec.core.state import RunState
from planexec.llm.interface import PLAN, REPLAN, LanguageModel, Question
from planexec.planners.answers import PREDICATES, PlannedProposal, read_plan
from planexec.planners.workflow import setup_subjects
from planexec.prompts import task
from planexec.prompts.data import cut, listed, quoted, visible
from planexec.prompts.template import render
from planexec.tools.interface import Tool
from planexec.tools.schemas import signature, strict
from planexec.tools.survey import Survey

QUESTION_SECONDS = 600.0
FILES, FAILING, SUSPECTS, PLAN_TEXT, TRIGGER, FINDINGS = 3500, 5000, 7000, 4000, 1500, 2000
"""Characters that each part of a prompt may take."""

EXAMPLE = {
    "scope": "current_repository",
    "steps": [
        {
            "id": "reproduce", "goal": "Show that the named test fails for the reported reason", "depends_on": [],
            "covers": ["reproduction"], "done_when": "the regression test fails every time",
            "predicates": [{"predicate": "regression_red", "about": "reproduction"}], "preconditions": [],
            "artifacts": ["regression-test"], "tools": ["run_tests", "regression"], "writes": [],
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


class ModelPlanner:
    """Asks a model for plans. ``look`` surveys the base, once; None where nothing may be run."""

    name = "model"
    mechanism = "planning by a model"

    def __init__(self, model: LanguageModel, tools: Sequence[Tool], look: Callable[[], Survey] | None = None) -> None:
        self.model, self.tools, self.look = model, tools, look
        self.reason = f"the first plan, proposed by the model '{model.name}'"
        self._survey: Survey | None = None

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
        return render(
            "plan",
            predicates="\n".join(f"- {kind}: {text}" for kind, text in PREDICATES.items()),
            subjects=listed([f"- {each}" for each in _subjects(contract)], 1500),
            tools="\n".join(signature(tool) for tool in self.tools),
            scope=json.dumps(state.scope),
            example=json.dumps(EXAMPLE),
        )

    def _common(self, contract: Contract, state: RunState) -> dict[str, str]:
        survey = self._surveyed()
        return {
            "goal": task.goal(contract),
            "context": task.context(contract),
            "scope": visible(state.scope)[:500],
            "checks": task.checks(contract),
            "repository": quoted("files", _files(survey), FILES),
            "failing": quoted("failing tests", _failing(survey), FAILING),
            "suspects": quoted("suspected lines", _suspects(survey), SUSPECTS),
            "findings": _corrections(state.findings),
        }

    def _surveyed(self) -> Survey:
        if self._survey is None:
            self._survey = self.look() if self.look is not None else Survey(problem="nothing has been run")
        return self._survey


def _subjects(contract: Contract) -> list[str]:
    """The subjects of facts that tools can establish, with the values that they may have."""
    check = contract.reproduction
    setup = setup_subjects(check) if check else {}
    return [
        "location: path:line of the most suspected line (tools locate, investigate)",
        *(
            f"{subject}: present or absent, whether the fixture '{fixture}' of the tests carries '{field}' (tool "
            "investigate); where it is absent the test set-up must be extended (regression with part=setup)"
            for subject, (fixture, field) in setup.items()
        ),
        *(f"base.{name}: holds or fails, how check '{name}' does before the change (tool investigate)"
          for name in contract.checks if contract.checks[name] is not check),
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


def _files(survey: Survey) -> str:
    """Folders, then the sources with the suspected ones first, then the tests."""
    near = dict.fromkeys(each.path for each in survey.suspects)
    folders = {path.rsplit("/", 1)[0] for path in near}
    sources = [*near, *_nearest(survey.files, near, folders)]
    failing = "\n".join(survey.failing)
    tests = [*(path for path in survey.tests if path in failing), *survey.tests]
    return "\n".join(
        (listed(survey.folders(), 1200), "", "sources:", listed(sources, 1300), "", "tests:",
         listed(list(dict.fromkeys(tests)), 800))
    )  # fmt: skip


def _nearest(files: Sequence[str], shown: Collection[str], folders: Collection[str]) -> list[str]:
    rest = [path for path in files if path not in shown]
    return sorted(rest, key=lambda path: path.rsplit("/", 1)[0] not in folders)


def _failing(survey: Survey) -> str:
    if survey.problem:
        return survey.problem
    each = max(FAILING // max(len(survey.failing), 1) - 100, 600)
    shown = [f"{name}\n{cut(text, each)}" for name, text in survey.failing.items()]
    return "\n\n".join(shown)


def _suspects(survey: Survey) -> str:
    if not survey.suspects:
        return "(nothing is suspected)"
    lines = [
        f"{each.path}:{each.line} in {each.function or 'the module'} ({each.reason}): {each.text}"
        for each in survey.suspects
    ]
    excerpts = [f"{place}\n{text}" for place, text in _mapped(survey.excerpts)]
    return "\n".join((*lines, "", *excerpts))


def _mapped(excerpts: Mapping[str, str]) -> list[tuple[str, str]]:
    """The excerpts with line numbers."""
    numbered = []
    for place, text in excerpts.items():
        first = int(place.rsplit(":", 1)[1].split("-")[0])
        lines = text.split("\n")
        numbered.append((place, "\n".join(f"{first + n:5d} {line}" for n, line in enumerate(lines))))
    return numbered
