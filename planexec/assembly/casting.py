"""Who plans and who acts, by the names that a person may choose."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NoReturn

from planexec.core.contract import Contract
from planexec.core.contract_checks import did_you_mean
from planexec.core.errors import UsageError
from planexec.core.roles import Executor, Planner
from planexec.executors.auto import AutoExecutor
from planexec.executors.react import ReactExecutor
from planexec.executors.workflow import WorkflowExecutor
from planexec.journal.runlog import RunLog, events_of
from planexec.llm.interface import LanguageModel
from planexec.planners.auto import AutoPlanner
from planexec.planners.model import ModelPlanner
from planexec.planners.workflow import SearchPlanner, WorkflowPlanner
from planexec.testing.bench import Bench
from planexec.tools.differences import difference
from planexec.tools.interface import Tool
from planexec.tools.sight import Reports, Sight, last_words
from planexec.tools.survey import survey
from planexec.verifiers.interface import Candidate
from planexec.workspace.manifest import ScanCache, scan


@dataclass(frozen=True)
class Cast:
    """What planners and executors are made with: the models, where some are configured, the tools, and what is shown of
    the run; ``sight`` is None where nothing may be run.
    """

    tools: Sequence[Tool]
    planning: LanguageModel | None = None
    acting: LanguageModel | None = None
    sight: Sight | None = None


def sight_of(contract: Contract, bench: Bench, log: RunLog) -> Sight:
    """What is shown of a run."""
    cache = ScanCache()

    def changes() -> str:
        now = scan(bench.workspace.scratch, bench.store, cache)
        return difference(Candidate.of(bench.workspace.base, now, log.state.frozen).changes, bench.store)

    def reports() -> Reports:
        return last_words(events_of(log.journal, log.run_id), bench.store)

    return Sight(lambda: survey(bench, contract), changes, reports)


def planner_of(name: str, cast: Cast) -> Planner:
    """The planner with this name. Raises UsageError for an unknown one, and for a model where none is configured."""
    model = ModelPlanner(cast.planning, cast.tools, cast.sight or Sight()) if cast.planning is not None else None
    match known(name, PLANNERS, "planner"):
        case "workflow":
            return WorkflowPlanner()
        case "search":
            return SearchPlanner()
        case "model":
            return model or _unconfigured()
    return AutoPlanner(model, cast.sight.look if model is not None and cast.sight is not None else None)


def executor_of(name: str, cast: Cast) -> Executor:
    """The executor with this name. Raises UsageError like ``planner_of``."""
    model = ReactExecutor(cast.acting, cast.tools, cast.sight or Sight()) if cast.acting is not None else None
    match known(name, EXECUTORS, "executor"):
        case "workflow":
            return WorkflowExecutor()
        case "model":
            return model or _unconfigured()
    return AutoExecutor(model)


PLANNERS = ("auto", "workflow", "search", "model")
EXECUTORS = ("auto", "workflow", "model")


def known(name: str, names: Collection[str], what: str) -> str:
    """``name``, when it is one of ``names``. Raises UsageError."""
    if name not in names:
        raise UsageError(f"there is no {what} '{name}'", did_you_mean(name, names) or f"known: {', '.join(names)}")
    return name


def _unconfigured() -> NoReturn:
    raise UsageError("no model is configured", "name one: --model NAME, PLANEXEC_MODEL, or 'model:' in config.yaml")
