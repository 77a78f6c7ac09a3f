from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from planexec.core import events as e
from planexec.core.contract import Contract
from planexec.core.plan import SetupCarries, Step
from planexec.core.roles import Action, Finish, GiveUp, Move, Observation, Reply, StepVerdict
from planexec.core.state import RunState, StepRecord
from planexec.executors.workflow import WorkflowExecutor

from ..projects import BY_EXAMPLE, BY_TESTS, RED, make_contract


def step(artifact: str, **more: Any) -> Step:
    return Step(id="s", goal="g", done_when="d", artifacts=(artifact,), **more)


def talk(contract: Contract, step: Step, replies: list[Reply], state: RunState | None = None) -> list[Move]:
    """The moves of one attempt, each answered by the next reply."""
    work = WorkflowExecutor().work(contract, state or RunState(), step)
    moves: list[Move] = []
    reply: Reply = None
    try:
        while True:
            moves.append(work.send(reply))
            reply = replies.pop(0) if replies else StepVerdict(True, ())
    except StopIteration:
        return moves


def seen(ok: bool = True, **data: Any) -> Observation:
    return Observation("obs-1", ok, "seen", data)


def test_inspection() -> None:
    moves = talk(make_contract(), step("inspection"), [seen()])
    assert moves == [Action("investigate", {}), Finish()]


def test_existing_tests_are_only_run() -> None:
    moves = talk(make_contract(BY_TESTS), step("regression-test"), [seen()])
    assert moves == [Action("run_tests", {"ids": [RED]}), Finish()]


def test_an_example_is_written_plain_or_on_the_extended_set_up() -> None:
    contract = make_contract(BY_EXAMPLE)
    written = seen(test="tests/test_x.py::test_x")
    moves = talk(contract, step("regression-test"), [written, seen()])
    assert moves == [
        Action("regression", {"part": "plain"}),
        Action("run_tests", {"ids": ["tests/test_x.py::test_x"]}),
        Finish(),
    ]
    extended = RunState(steps=(step("test-setup", predicates=(SetupCarries("reproduction"),)),))
    moves = talk(contract, step("regression-test"), [written, seen()], extended)
    assert moves[0] == Action("regression", {"part": "extended"})
    assert talk(contract, step("test-setup"), [seen()]) == [Action("regression", {"part": "setup"}), Finish()]
    refused = talk(contract, step("regression-test"), [seen(ok=False)])
    assert refused[-1] == GiveUp("seen")


def test_survivors_are_tried_until_one_stands() -> None:
    survivors = [{"path": "a.py", "content": digest} for digest in ("one", "two", "three", "four")]
    replies: list[Reply] = [
        seen(survivors=survivors),
        seen(ok=False), seen(),  # the first cannot be applied
        seen(), seen(broken=["t"]), seen(),  # the second breaks a test
        seen(), seen(broken=[]), StepVerdict(False, ()), seen(),  # the third does not satisfy the host
        seen(), seen(broken=[]), StepVerdict(True, ()),
    ]  # fmt: skip
    moves = talk(make_contract(), step("patch"), replies)
    assert [move.tool if isinstance(move, Action) else type(move).__name__ for move in moves] == [
        "repair", "edit", "undo", "edit", "run_tests", "undo", "edit", "run_tests", "Finish", "undo",
        "edit", "run_tests", "Finish",
    ]  # fmt: skip


def test_no_survivor_is_said() -> None:
    moves = talk(make_contract(), step("patch"), [seen(survivors=[])])
    assert moves == [Action("repair", {"reach": "suspicious"}), GiveUp("seen")]
    assert talk(make_contract(), step("patch"), [seen(ok=False)])[-1] == GiveUp("seen")


def test_where_no_survivor_stands_the_search_goes_on() -> None:
    found = [seen(survivors=[{"path": "a.py", "content": name}]) for name in ("one", "two")]
    refuted = [seen(), seen(broken=["t"]), seen()]
    moves = talk(make_contract(), step("patch"), [found[0], *refuted, found[1], *refuted, seen(survivors=[])])
    tools = [move.tool for move in moves if isinstance(move, Action)]
    assert tools == [*["repair", "edit", "run_tests", "undo"] * 2, "repair"]
    assert moves[-1] == GiveUp("no survivor of the search stands up to the checks")
    moves = talk(make_contract(), step("patch"), [found[0], *refuted, seen(ok=False)])
    assert moves[-1] == GiveUp("seen")


def test_after_a_fruitless_search_the_next_one_is_wide() -> None:
    failure = e.Failure("near", 1, e.FailureClass.TASK, e.Cause.FALSE_FACT, "NO_PATCH", "", e.Recoverability.REPLAN)
    near = replace(step("patch"), id="near")
    state = RunState(steps=(near, step("patch")), records={"near": StepRecord(failure=failure)})
    assert talk(make_contract(), step("patch"), [seen(survivors=[])], state)[0] == Action("repair", {"reach": "wide"})


def test_judging_steps_run_what_their_checks_name() -> None:
    moves = talk(make_contract(), step("verification", covers=("reproduction", "tests")), [seen()])
    assert moves == [Action("run_tests", {"ids": [RED]}), Finish()]


def test_a_first_patch_is_trusted_while_a_replan_can_be_spared() -> None:
    found = seen(survivors=[{"path": "a.py", "content": "one"}], failing=["tests/test_x.py::test_x"])
    for state, arguments in (
        (RunState(replans_left=2), {"ids": ["tests/test_x.py::test_x"]}),
        (RunState(replans_left=1), {}),
        (RunState(replans_left=2, refuted=("two",)), {}),
    ):
        moves = talk(make_contract(), step("patch"), [found, seen(), seen()], state)
        assert moves[2] == Action("run_tests", arguments)
