"""The workflow executor: for each kind of step a short routine of actions, chosen by the artifact that the step
promises.

A routine is a conversation with the controller: it yields an action and is sent the observation, yields ``Finish``
and is sent the verdict. It never calls a tool and never declares anything done.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any

from planexec.core.contract import Contract
from planexec.core.plan import SetupCarries, Step
from planexec.core.roles import Action, Finish, GiveUp, Move, Observation, Reply, StepVerdict, Work
from planexec.core.state import EDIT, SEARCH, UNDO, RunState


class WorkflowExecutor:
    """Works without a model: the same state gives the same actions."""

    name = "workflow"

    def work(self, contract: Contract, state: RunState, step: Step) -> Work:
        """One attempt at ``step``."""
        routine = next((ROUTINES[name] for name in step.artifacts if name in ROUTINES), _judge)
        yield from routine(contract, state, step)


def _inspect(contract: Contract, state: RunState, step: Step) -> Work:
    yield Action("investigate", {})
    yield Finish()


def _extend_setup(contract: Contract, state: RunState, step: Step) -> Work:
    yield Action("regression", {"part": "setup"})
    yield Finish()


def _write_regression(contract: Contract, state: RunState, step: Step) -> Work:
    check = contract.reproduction
    if check is not None and check.arguments.example is not None:
        extended = any(isinstance(p, SetupCarries) for each in state.live() for p in each.predicates)
        written = yield Action("regression", {"part": "extended" if extended else "plain"})
        if not _ok(written):
            yield GiveUp(_said(written))
            return
        yield Action("run_tests", {"ids": [_data(written)["test"]]})
    elif check is not None:
        yield Action("run_tests", {"ids": list(check.arguments.tests)})
    yield Finish()


def _patch(contract: Contract, state: RunState, step: Step) -> Work:
    """Search, then try the survivors, best first, until one stands up to the tests and to the step's predicates. Where
    none does, the search goes on: it passes over what was undone.

    The search has judged them by the tests that run the suspected lines. While a replan can be spared that is taken to
    show every effect; once a patch has broken something else, or where only one replan is left, all related tests run.
    """
    thorough = bool(state.refuted) or state.replans_left < 2
    reach = "wide" if [name for name in state.failed_with("NO_PATCH") if name != step.id] else "suspicious"
    found = yield Action(SEARCH, {"reach": reach})
    none = _said(found)
    while _ok(found) and _data(found).get("survivors"):
        stands = yield from _try(found, thorough)
        if stands:
            return
        found = yield Action(SEARCH, {"reach": reach})
        none = "no survivor of the search stands up to the checks"
    yield GiveUp(none if _ok(found) else _said(found))


def _try(found: Reply, thorough: bool) -> Generator[Move, Reply, bool]:
    """Whether one of the survivors stands; what does not is undone."""
    for survivor in _data(found)["survivors"]:
        edited = yield Action(EDIT, {"path": survivor["path"], "content": survivor["content"]})
        if _ok(edited):
            ran = yield Action("run_tests", {} if thorough else {"ids": _data(found).get("failing", [])})
            if _ok(ran) and not _data(ran).get("broken"):
                verdict = yield Finish()
                if isinstance(verdict, StepVerdict) and verdict.holds:
                    return True
        yield Action(UNDO, {})
    return False


def _judge(contract: Contract, state: RunState, step: Step) -> Work:
    """A step that only judges: run the tests that the checks name, then ask."""
    ids = [name for check in step.covers for name in contract.checks[check].arguments.tests]
    yield Action("run_tests", {"ids": ids})
    yield Finish()


ROUTINES: Mapping[str, Callable[[Contract, RunState, Step], Work]] = {
    "inspection": _inspect,
    "test-setup": _extend_setup,
    "regression-test": _write_regression,
    "patch": _patch,
}


def _ok(reply: Reply) -> bool:
    return isinstance(reply, Observation) and reply.ok


def _data(reply: Reply) -> Mapping[str, Any]:
    return reply.data if isinstance(reply, Observation) else {}


def _said(reply: Reply) -> str:
    return reply.summary if isinstance(reply, Observation) else "the action gave nothing"
