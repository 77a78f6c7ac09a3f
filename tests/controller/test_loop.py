"""The controller with honest, lying, clumsy and unlucky planners and executors: only the host's verifiers decide."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from planexec.controller.applying import apply_patch, patch_changes, recover_apply, reverse_patch
from planexec.controller.loop import Controller
from planexec.controller.steps import StepRunner
from planexec.core import events as e
from planexec.core import state as s
from planexec.core.contract import Contract
from planexec.core.decide import Execute, decide
from planexec.core.errors import ConflictError, UsageError
from planexec.core.plan import CheckPassed, Proposal, Status, Step
from planexec.core.roles import Action, Finish, GiveUp, Work
from planexec.executors.workflow import WorkflowExecutor
from planexec.journal.runlog import RunLog, events_of
from planexec.planners.workflow import WorkflowPlanner
from planexec.testing.bench import Bench
from planexec.verifiers.registry import Registry

from ..projects import FAULT, FIX
from .starting import QUICK, start

BASKET = "shop/basket.py"
Routine = Callable[[Contract, s.RunState, Step], Work]


class Scripted:
    """An executor with routines by step id; the workflow's for all other steps."""

    name = "scripted"

    def __init__(self, **routines: Routine) -> None:
        self.routines = routines

    def work(self, contract: Contract, state: s.RunState, step: Step) -> Work:
        routine = self.routines.get(step.id.replace("-", "_"), WorkflowExecutor().work)
        yield from routine(contract, state, step)


def replacing(old: str, new: str) -> Routine:
    """A routine that makes one edit and claims to be done."""

    def work(contract: Contract, state: s.RunState, step: Step) -> Work:
        yield Action("edit", {"path": BASKET, "old": old, "new": new})
        yield Finish()

    return work


def test_a_good_edit_is_proved_and_applied(bench: Bench, tmp_path: Path) -> None:
    controller = start(bench, tmp_path, executor=Scripted(patch=replacing(FAULT, FIX)))
    state = controller.run()
    assert (state.status, state.reason) == ("succeeded", "proved")
    assert all(check.status == "passed" and check.evidence for check in state.checks.values())
    for step in state.steps:
        record = state.record(step.id)
        assert step.status is Status.COMPLETED and record.actions and record.observations and record.evidence
    user = bench.workspace.root / BASKET
    assert FAULT in user.read_text()
    (marker,) = [(bench.store.folder.parent / "applying" / "run-1")]
    assert apply_patch(controller.log, bench.store) == [BASKET]
    assert FIX in user.read_text() and not marker.exists()
    assert controller.log.state.apply == "finished"
    with pytest.raises(UsageError, match="applied already"):
        apply_patch(controller.log, bench.store)
    assert recover_apply(controller.log, bench.store) == ""
    assert reverse_patch(controller.log, bench.store) == [BASKET]
    assert FAULT in user.read_text() and not marker.exists()
    assert controller.log.state.apply == "reversed"
    with pytest.raises(UsageError, match="not in the tree"):
        reverse_patch(controller.log, bench.store)
    apply_patch(controller.log, bench.store)
    user.write_text(user.read_text().replace(FIX, FAULT))  # taken back by hand
    assert apply_patch(controller.log, bench.store) == [BASKET]
    user.write_text("# my own work\n")
    for command in (apply_patch, reverse_patch):
        with pytest.raises(ConflictError, match="basket"):
            command(controller.log, bench.store)
    assert user.read_text() == "# my own work\n"


def test_a_killed_apply_is_finished(bench: Bench, tmp_path: Path) -> None:
    controller = start(bench, tmp_path, executor=Scripted(patch=replacing(FAULT, FIX)))
    controller.run()

    def die(word: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apply_patch(controller.log, bench.store, step=die)
    assert controller.log.state.apply == "intended"
    again = RunLog(controller.log.journal, "run-1")
    assert recover_apply(again, bench.store) == f"apply of run run-1 was {again.state.apply}"
    assert again.state.apply in {"finished", "undone"}
    text = (bench.workspace.root / BASKET).read_text()
    assert (FIX in text) == (again.state.apply == "finished")


def test_a_file_that_moved_on_is_not_overwritten(bench: Bench, tmp_path: Path) -> None:
    controller = start(bench, tmp_path, executor=Scripted(patch=replacing(FAULT, FIX)))
    controller.run()
    user = bench.workspace.root / BASKET
    user.write_text("# my own work\n")
    with pytest.raises(ConflictError, match="basket"):
        apply_patch(controller.log, bench.store)
    assert user.read_text() == "# my own work\n"
    assert [change.path for change in patch_changes(controller.log.state, bench.store)] == [BASKET]


def test_claims_without_deeds_end_blocked(bench: Bench, tmp_path: Path) -> None:
    def liar(contract: Contract, state: s.RunState, step: Step) -> Work:
        yield Finish()
        yield GiveUp("the tests pass, the task is completed, status: succeeded")

    controller = start(bench, tmp_path, executor=Scripted(patch=liar, wider_patch=liar))
    state = controller.run()
    assert state.status == "blocked"
    assert state.patch == ""
    with pytest.raises(UsageError, match="no proven patch"):
        apply_patch(controller.log, bench.store)
    assert state.report["completed"] == ["inspect", "reproduce"]
    assert state.report["questions"]


def test_a_dry_run_is_never_applied(bench: Bench, tmp_path: Path) -> None:
    controller = start(bench, tmp_path, executor=Scripted(patch=replacing(FAULT, FIX)), mode="dry-run")
    controller.run()
    with pytest.raises(UsageError, match="dry-run"):
        apply_patch(controller.log, bench.store)


def test_a_side_effect_withdraws_the_patch_and_what_hangs_on_it(bench: Bench, tmp_path: Path) -> None:
    """The first patch turns the test green and breaks another: verify notices, the patch goes, the rest stays."""

    def breaking(contract: Contract, state: s.RunState, step: Step) -> Work:
        yield Action("edit", {"path": BASKET, "old": FAULT, "new": FIX})
        yield Action("edit", {"path": BASKET, "old": "min(prices)", "new": "max(prices)"})
        yield Finish()

    controller = start(bench, tmp_path, executor=Scripted(patch=breaking, patch_2=replacing(FAULT, FIX)))
    state = controller.run()
    assert (state.status, state.revision, state.replans_left) == ("succeeded", 2, 1)
    statuses = {step.id: step.status.value for step in state.steps}
    assert statuses["inspect"] == statuses["reproduce"] == statuses["patch-2"] == "completed"
    assert statuses["patch"] == statuses["verify"] == "superseded"
    kinds = [type(event).__name__ for _, event in events_of(controller.log.journal, "run-1")]
    assert kinds.count("StepInvalidated") == 1
    assert state.record("inspect").attempt == 1  # what stands is not run again
    assert state.revisions[1].evidence and "test_cheapest" in state.revisions[1].reason
    assert state.refuted


def test_a_forbidden_state_is_undone_and_the_second_one_ends_the_run(bench: Bench, tmp_path: Path) -> None:
    text = QUICK.replace("limits:", "forbidden: [README.md]\nlimits:")

    def trespass(contract: Contract, state: s.RunState, step: Step) -> Work:
        for _ in range(3):
            yield Action("edit", {"path": "README.md", "old": "A shop.", "new": "My shop."})
        yield Finish()

    controller = start(bench, tmp_path, text, executor=Scripted(patch=trespass))
    state = controller.run()
    assert (state.status, state.reason, state.breaches) == ("failed", "safety", 2)
    assert (bench.workspace.scratch / "README.md").read_text() == "A shop.\n"


class Proposing:
    """A planner that says what it is given, one after the other."""

    name = "proposing"
    mechanism = "changed workflow"
    reason = "the first plan"

    def __init__(self, *changes: Callable[[Proposal], Proposal | None]) -> None:
        self.changes = list(changes)

    def propose(self, contract: Contract, state: s.RunState) -> Proposal | None:
        honest = WorkflowPlanner().propose(contract, state)
        assert honest is not None
        return self.changes.pop(0)(honest) if self.changes else honest

    def replan(self, contract: Contract, state: s.RunState, trigger: e.ReplanTriggered) -> Proposal | None:
        honest = WorkflowPlanner().replan(contract, state, trigger)
        return self.changes.pop(0)(honest) if self.changes and honest else honest


def widened(proposal: Proposal) -> Proposal:
    return replace(proposal, scope="everything")


def uncovered(proposal: Proposal) -> Proposal:
    return replace(proposal, steps=tuple(replace(step, covers=()) for step in proposal.steps))


def boasting(proposal: Proposal) -> Proposal:
    return replace(proposal, steps=tuple(replace(step, predicates=()) for step in proposal.steps))


def test_refused_proposals_cost_turns_and_not_the_budget(bench: Bench, tmp_path: Path) -> None:
    planner = Proposing(widened, uncovered, boasting)
    controller = start(bench, tmp_path, planner=planner, executor=Scripted(patch=replacing(FAULT, FIX)))
    state = controller.run()
    assert (state.status, state.revision, state.replans_left) == ("succeeded", 1, 2)
    refused = [event for _, event in events_of(controller.log.journal, "run-1") if isinstance(event, e.ProposalRefused)]
    assert ["scope" in refused[0].findings[0], "covered by no step" in refused[1].findings[0]] == [True, True]
    assert any("bound to nothing that can be observed" in finding for finding in refused[2].findings)


def test_correction_turns_are_bounded(shared_bench: Bench, tmp_path: Path) -> None:
    controller = start(shared_bench, tmp_path, planner=Proposing(*[widened] * 9))
    state = controller.run()
    assert (state.status, state.reason) == ("blocked", "no_valid_plan")
    assert state.refusals == state.corrections + 1
    assert "scope" in state.message


def test_no_plan_at_all(shared_bench: Bench, tmp_path: Path) -> None:
    state = start(shared_bench, tmp_path, planner=Proposing(lambda proposal: None)).run()
    assert (state.status, state.reason) == ("blocked", "no_plan")


def test_actions_are_bounded(bench: Bench, tmp_path: Path) -> None:
    def restless(contract: Contract, state: s.RunState, step: Step) -> Work:
        while True:
            yield Action("list", {})

    text = QUICK.replace("limits: {", "limits: {actions_per_step: 3, replan_budget: 0, ")
    state = start(bench, tmp_path, text, executor=Scripted(patch=restless)).run()
    assert state.status == "blocked"
    assert state.record("patch").actions == 3
    assert "used all its 3 actions" in state.message


def test_a_step_in_which_the_process_died_runs_again_from_its_checkpoint(bench: Bench, tmp_path: Path) -> None:
    controller = start(bench, tmp_path, executor=Scripted(patch=replacing(FAULT, FIX)))
    while controller.log.state.record("patch").attempt == 0:
        decision = decide(controller.log.state)
        if isinstance(decision, Execute) and decision.step.id == "patch":
            break
        controller.perform(decision)
    log = controller.log
    log.record(e.StepStarted("patch", 1, controller.steps.snapshot()))
    log.record(e.ActionStarted("patch", "act-patch-1", "shell", {}, False))
    (bench.workspace.scratch / BASKET).write_text("half written")
    again = start_again(controller, bench)
    state = again.run()
    assert state.status == "succeeded"
    recovered = [event for _, event in events_of(log.journal, "run-1") if isinstance(event, e.StepRecovered)]
    assert [(event.step, event.unknown) for event in recovered] == [("patch", "act-patch-1")]
    assert state.record("inspect").attempt == 1 and state.record("patch").attempt == 2


def start_again(controller: Controller, bench: Bench) -> Controller:
    """Another process with the same journal."""
    log = RunLog(controller.log.journal, "run-1")
    old = controller.steps
    steps = StepRunner(
        old.contract, log, old.executor, old.toolbox, bench, Registry.of(old.contract), old.seconds, old.progress
    )
    return Controller(controller.contract, log, controller.planner, steps, controller.progress)


def test_what_was_not_red_ends_the_run(bench: Bench, tmp_path: Path) -> None:
    text = QUICK.replace("test_discount", "test_total")
    state = start(bench, tmp_path, text).run()
    assert (state.status, state.reason) == ("blocked", "not_red")
    assert "not red on the base" in state.message
    assert "fixed already" in state.questions[0]


def test_the_time_of_a_run_is_bounded(shared_bench: Bench, tmp_path: Path) -> None:
    controller = start(shared_bench, tmp_path)
    controller.steps.seconds = lambda: 0.0
    state = controller.run()
    assert (state.status, state.reason) == ("blocked", "time")


def test_a_gate_that_fails_takes_the_patch_back(bench: Bench, tmp_path: Path) -> None:
    """A plan that covers a check in name only does not get it past the gate."""

    def careless(proposal: Proposal) -> Proposal:
        """verify asks for nothing but the scope."""
        steps = [
            replace(step, predicates=(CheckPassed("diff_scope"),)) if step.id == "verify" else step
            for step in proposal.steps
        ]
        return replace(proposal, steps=tuple(steps))

    def breaking(contract: Contract, state: s.RunState, step: Step) -> Work:
        yield Action("edit", {"path": BASKET, "old": FAULT, "new": FIX})
        yield Action("edit", {"path": BASKET, "old": "min(prices)", "new": "max(prices)"})
        yield Finish()

    text = QUICK.replace("limits: {", "limits: {replan_budget: 0, ")
    controller = start(bench, tmp_path, text, planner=Proposing(careless), executor=Scripted(patch=breaking))
    state = controller.run()
    assert (state.status, state.reason) == ("blocked", "replan_budget")
    assert "check 'tests' failed at the gate" in state.message
    assert state.snapshot == state.base_snapshot or FIX not in (bench.workspace.scratch / BASKET).read_text()


def test_without_a_fix_the_report_says_what_was_tried_and_what_would_help(bench: Bench, tmp_path: Path) -> None:
    state = start(bench, tmp_path, QUICK + "scope: {deny: [shop/basket.py]}\n").run()
    assert state.status == "blocked"
    searches = state.report["searches"]
    assert [(each["reach"], each["surviving"], each["ended"]) for each in searches] == [
        ("suspicious", 0, "exhausted"),
        ("wide", 0, "exhausted"),
    ]
    assert searches[0]["bounds"] == {"seconds": 36.0, "candidates": 20000, "run": False}  # the rest is for the wide one
    assert 36.0 <= searches[1]["bounds"]["seconds"] <= 60.0
    assert searches[0]["ground"]["message"].startswith("assert 550 == 450")
    scope = [hint for hint in state.report["hints"] if "lie outside the scope" in hint]
    assert len(scope) == 1 and scope[0].endswith("take it out of scope.deny (shop/basket.py)")
