from __future__ import annotations

from msgspec.structs import replace

from planexec.core import events as e
from planexec.core.contract import Contract
from planexec.core.plan import CheckPassed, FactIs, RegressionGreen, RegressionRed, SetupCarries, Status, Step
from planexec.core.rules import validate_plan, validate_replan
from planexec.core.state import Revision, RunState, StepRecord
from planexec.planners.workflow import REGRESSION_FILE, WorkflowPlanner, setup_subjects
from planexec.tools.toolbox import Toolbox

from ..projects import BY_EXAMPLE, BY_TESTS, make_contract
from ..verifiers.test_predicates import WITH_SET_UP

TOOLS = Toolbox.standard().names
GUARDED = (
    WITH_SET_UP.replace(
        "  tests: everything", "  polite: {step: stay-polite}\n  right: {step: patch}\n  tests: everything"
    )
    + """
verifiers:
  verify_polite: {tests: [tests/test_basket.py::test_empty]}
  verify_right: {command: [python, -c, pass]}
"""
)


def begun(contract: Contract, replans: int = 2) -> RunState:
    return RunState(
        run_id="run",
        status="running",
        scope=contract.scope.label(),
        required_checks=contract.required_checks,
        replans_left=replans,
        settings={REGRESSION_FILE: "tests/test_voucher.py"},
    )


def planned(contract: Contract, **statuses: Status) -> RunState:
    """The first plan under way, with the statuses given."""
    state = begun(contract)
    proposal = WorkflowPlanner().propose(contract, state)
    assert proposal is not None
    steps = tuple(replace(step, status=statuses.get(step.id, Status.PENDING)) for step in proposal.steps)
    lineage = Revision(1, 0, "first", (), (), (), tuple(step.id for step in steps), "workflow")
    return replace(state, revision=1, steps=steps, revisions=(lineage,))


def fact(number: int, subject: str, value: str) -> e.Fact:
    return e.Fact(f"fact-{number}", "a claim", "obs-inspect-1", subject, value, (), "inspect")


def trigger(step: str, code: str, cause: e.Cause, *affected: str) -> e.ReplanTriggered:
    failure = e.Failure(step, 1, e.FailureClass.PLAN, cause, code, "it is so", e.Recoverability.REPLAN, ("fact-1",))
    return e.ReplanTriggered(code.lower(), failure, step, affected)


def ids(steps: tuple[Step, ...]) -> list[str]:
    return [step.id for step in steps]


def test_the_first_plan_is_a_hypothesis() -> None:
    contract = make_contract(WITH_SET_UP)
    proposal = WorkflowPlanner().propose(contract, begun(contract))
    assert proposal is not None
    assert ids(proposal.steps) == ["inspect", "reproduce", "patch", "verify"]
    assert proposal.steps[1].preconditions == (FactIs("setup.order.voucher", "present"),)
    assert proposal.steps[1].writes == ("tests/test_voucher.py",)
    assert proposal.steps[1].done_when.endswith("showing 550 and 450")
    assert proposal.steps[3].covers == ("tests",)


def test_every_first_plan_keeps_the_rules() -> None:
    named = "goal: g\nsuccess:\n  other: {verifier: verify_named_tests, tests: [a]}\n"
    only = "goal: g\nsuccess:\n  reproduction: {verifier: verify_regression_red, tests: [a]}\n"
    for text in (BY_TESTS, BY_EXAMPLE, WITH_SET_UP, GUARDED, named, only):
        contract = make_contract(text)
        proposal = WorkflowPlanner().propose(contract, begun(contract))
        assert proposal is not None
        assert validate_plan(proposal, contract.scope.label(), contract.required_checks, TOOLS) == []


def test_without_a_test_there_is_no_plan() -> None:
    contract = make_contract("goal: g\nsuccess:\n  other: {verifier: verify_command, command: [make]}\n")
    assert WorkflowPlanner().propose(contract, begun(contract)) is None


def test_checks_go_to_the_steps_that_the_contract_names() -> None:
    contract = make_contract(GUARDED)
    by_id = {step.id: step for step in planned(contract).steps}
    assert by_id["patch"].covers == ("right",)
    assert by_id["verify"].covers == ("polite", "tests")  # nobody knows yet that it holds


def test_a_set_up_that_lacks_a_field_is_extended() -> None:
    contract = make_contract(GUARDED)
    state = planned(contract, inspect=Status.COMPLETED)
    state = replace(
        state,
        facts=(fact(1, "location", "x:1"), fact(2, "base.polite", "holds"), fact(3, "setup.order.voucher", "absent")),
        trigger=trigger("reproduce", "PRECONDITION_LOST", e.Cause.FALSE_FACT, "reproduce", "patch", "verify"),
    )
    assert state.trigger is not None
    proposal = WorkflowPlanner().replan(contract, state, state.trigger)
    assert proposal is not None
    assert validate_replan(state, proposal, TOOLS) == []
    live = [step for step in proposal.steps if step.status is not Status.SUPERSEDED]
    assert ids(tuple(live)) == ["inspect", "extend-fixture", "red-test", "patch", "stay-polite", "verify"]
    by_id = {step.id: step for step in proposal.steps}
    assert by_id["reproduce"].status is Status.SUPERSEDED
    assert by_id["extend-fixture"].goal == "Extend the test set-up: 'order' carries 'voucher'"
    assert by_id["extend-fixture"].predicates == (SetupCarries("reproduction"),)
    assert by_id["red-test"].predicates == (RegressionRed("reproduction"),)
    assert by_id["stay-polite"].covers == ("polite",)
    assert by_id["verify"].depends_on == ("patch", "stay-polite")


def test_a_set_up_that_cannot_be_extended_leaves_no_way() -> None:
    contract = make_contract(WITH_SET_UP)
    state = planned(contract, inspect=Status.COMPLETED)
    for value in ("no_mapping", "no_fixture"):
        state = replace(state, facts=(fact(1, "setup.order.voucher", value),))
        broken = trigger("reproduce", "PRECONDITION_LOST", e.Cause.FALSE_FACT, "reproduce", "patch", "verify")
        assert WorkflowPlanner().replan(contract, state, broken) is None


def after_patch(contract: Contract, **changes: Status) -> RunState:
    done = {"inspect": Status.COMPLETED, "reproduce": Status.COMPLETED, **changes}
    state = planned(contract, **done)
    return replace(state, records={name: StepRecord(attempt=1) for name in (*done, "patch")})


def without_patch(state: RunState, *names: str) -> RunState:
    """The steps have failed for want of a patch."""
    failures = {
        name: e.Failure(name, 1, e.FailureClass.TASK, e.Cause.FALSE_FACT, "NO_PATCH", "", e.Recoverability.REPLAN)
        for name in names
    }
    failed = {name: replace(state.record(name), attempt=1, failure=failure) for name, failure in failures.items()}
    return replace(state, records={**state.records, **failed})


def test_no_patch_nearby_means_a_wider_search_and_then_no_way() -> None:
    contract = make_contract(BY_TESTS)
    state = replace(
        without_patch(after_patch(contract, patch=Status.BLOCKED), "patch"),
        facts=(fact(1, "search.suspicious", "no_survivor"),),
        trigger=trigger("patch", "NO_PATCH", e.Cause.FALSE_FACT, "patch", "verify"),
    )
    assert state.trigger is not None
    proposal = WorkflowPlanner().replan(contract, state, state.trigger)
    assert proposal is not None
    assert validate_replan(state, proposal, TOOLS) == []
    by_id = {step.id: step for step in proposal.steps}
    assert by_id["patch"].status is Status.SUPERSEDED
    assert by_id["wider-patch"].preconditions == (FactIs("search.suspicious", "no_survivor"),)
    assert by_id["verify"].depends_on == ("wider-patch",)
    unproved = WorkflowPlanner().replan(contract, replace(state, facts=()), state.trigger)
    assert unproved is not None and unproved.steps[-2].preconditions == ()
    wider = replace(by_id["wider-patch"], status=Status.BLOCKED)
    spent = without_patch(replace(state, steps=(*state.steps, wider)), "wider-patch")
    broken = trigger("wider-patch", "NO_PATCH", e.Cause.FALSE_FACT, "wider-patch")
    assert WorkflowPlanner().replan(contract, spent, broken) is None


def test_a_patch_that_broke_something_is_replaced() -> None:
    contract = make_contract(BY_TESTS)
    state = after_patch(contract, patch=Status.SUPERSEDED)  # the controller has withdrawn it
    state = replace(
        state,
        records={
            **state.records,
            "verify": StepRecord(attempt=1, evidence=(e.Evidence("ev-1", "v", "tests", "failed", "broken"),)),
        },
        steps=tuple(replace(s, status=Status.BLOCKED) if s.id == "verify" else s for s in state.steps),
        trigger=trigger("patch", "CHECK_FAILED", e.Cause.SIDE_EFFECT, "patch", "verify"),
    )
    assert state.trigger is not None
    verify = replace(state.trigger, failure=replace(state.trigger.failure, step="verify"))
    proposal = WorkflowPlanner().replan(contract, state, verify)
    assert proposal is not None
    assert validate_replan(state, proposal, TOOLS) == []
    live = tuple(step for step in proposal.steps if step.status is not Status.SUPERSEDED)
    assert ids(live) == ["inspect", "reproduce", "patch-2", "verify-2"]
    assert live[2].predicates == (RegressionGreen("reproduction"), CheckPassed("tests"))
    assert live[2].done_when.endswith("check 'tests' passes")


def test_the_fields_of_an_example() -> None:
    check = make_contract(WITH_SET_UP).checks["reproduction"]
    assert setup_subjects(check) == {"setup.order.voucher": ("order", "voucher")}
    assert setup_subjects(make_contract(BY_TESTS).checks["reproduction"]) == {}
