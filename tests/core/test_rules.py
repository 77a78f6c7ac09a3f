from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from planexec.core import events as e
from planexec.core import plan as p
from planexec.core import rules
from planexec.core.decide import Replan, decide
from planexec.core.plan import CheckPassed, FactIs, FactRecorded, Proposal, Status, Step, read_proposal
from planexec.core.reduce import reduce
from planexec.core.state import RunState
from tests.core.building import (
    CHECKS,
    SCOPE,
    TOOLS,
    accepted,
    completed,
    fact,
    failed,
    planned,
    proposal,
    sound_steps,
    step,
    superseded,
)  # fmt: skip


def findings(*steps: Step, scope: str = SCOPE, known: tuple[str, ...] = ()) -> list[str]:
    return rules.validate_plan(proposal(steps, scope), SCOPE, CHECKS, TOOLS, known)


def with_one(name: str, **changes: Any) -> tuple[Step, ...]:
    """The sound plan with one step changed."""
    return tuple(replace(one, **changes) if one.id == name else one for one in sound_steps())


def test_a_good_plan_is_accepted() -> None:
    assert findings(*sound_steps()) == []
    assert findings(*reversed(sound_steps())) == []
    assert findings(step("only", covers=tuple(CHECKS), writes=("src/**",), risk="high", estimate=0.0, weight=0.0)) == []


def test_every_kind_of_precondition_and_input_is_accepted_where_it_is_produced() -> None:
    steps = (
        step("inspect", predicates=(FactRecorded(("place", "cause")),)),
        step("red", "inspect", predicates=(p.RegressionRed("reproduction"), FactIs("red", "yes"))),
        step(
            "patch", "red", covers=tuple(CHECKS), inputs=("red-artifact", "inspect-artifact"),
            preconditions=(FactIs("place", "a.py"), FactRecorded(("cause", "red")), p.ArtifactStored("red-artifact")),
            predicates=(p.RegressionGreen("reproduction"),),
        ),
    )  # fmt: skip
    assert findings(*steps) == []
    assert findings(*with_one("patch", preconditions=(FactIs("base", "holds"),)), known=("base",)) == []


@pytest.mark.parametrize(
    ("steps", "finding"),
    [
        # structure
        ((), "the plan has no steps"),
        (tuple(step(f"s{i}") for i in range(61)), "61 steps are too many; at most 60"),
        ((*sound_steps(), step("patch")), "step id 'patch' stands 2 times"),
        ((step("9th"),), "step id '9th' must be a letter, then letters"),
        ((step("two\n"),), "must be a letter, then letters"),
        ((step("a", "a"),), "step 'a' depends on itself"),
        ((step("a", "b"),), "step 'a' depends on 'b', which does not exist"),
        ((superseded(step("a")), step("b", "a")), "step 'b' depends on 'a', which is superseded"),
        ((step("a", "c"), step("b", "a"), step("c", "b")), "the dependencies form a cycle: "),
        (with_one("patch", status=Status.COMPLETED), "step 'patch' is proposed as completed"),
        (with_one("patch", status=Status.RUNNING), "step 'patch' is proposed as running"),
        ((*sound_steps(), superseded(step("old"))), "step 'old' is proposed as superseded"),
        # the contract of a step
        (with_one("patch", goal=" "), "step 'patch' has no goal"),
        (with_one("patch", artifacts=()), "step 'patch' has no artifact"),
        (with_one("patch", rollback=""), "step 'patch': rollback '' is not one of checkpoint, none"),
        (with_one("patch", rollback="none", writes=("a.py",)), "step 'patch' writes but has no rollback"),
        (with_one("patch", risk="extreme"), "step 'patch': risk 'extreme' is not one of high, low, medium"),
        (with_one("patch", estimate=-1.0), "step 'patch': estimate and weight are numbers"),
        (with_one("patch", weight=float("nan")), "step 'patch': estimate and weight are numbers"),
        (with_one("patch", estimate=float("inf")), "step 'patch': estimate and weight are numbers"),
        (with_one("patch", goal="Open the file"), "step 'patch' is a single tool call"),
        (with_one("patch", goal="grep for next_path"), "step 'patch' is a single tool call"),
        # tools
        (with_one("patch", tools=("browser",)), "unknown tool 'browser'; known: repair, run_tests, search"),
        (with_one("patch", tools=()), "step 'patch' names no tool"),
        # done_when
        (with_one("patch", done_when=" "), "step 'patch' has no done_when"),
        (with_one("inspect", done_when="understand the login flow", predicates=()),
         "done_when 'understand the login flow' is bound to nothing that can be observed"),
        (with_one("patch", predicates=(CheckPassed("beauty"),)), "predicate about the unknown check 'beauty'"),
        (with_one("patch", predicates=(p.SetupCarries("x"),)), "predicate about the unknown check 'x'"),
        (with_one("patch", predicates=(FactRecorded(()),)), "a fact_recorded predicate names no subject"),
        ((*sound_steps(), step("r1", predicates=(p.RegressionRed("reproduction"),)),
          step("r2", predicates=(p.RegressionRed("reproduction"),))),
         "step 'r2': 'r1' freezes the regression test already"),
        # coverage
        (with_one("verify", covers=("tests",)), "check 'reproduction' is covered by no step"),
        (with_one("patch", covers=("beauty",)), "step 'patch' covers 'beauty', which the contract does not name"),
        # inputs
        (with_one("patch", inputs=("map",)), "step 'patch' needs 'map', which no earlier step produces"),
        (with_one("inspect", inputs=("patch",)), "step 'inspect' needs 'patch', which no earlier step produces"),
        (with_one("patch", preconditions=(FactIs("weather", "fine"),)), "needs a fact about 'weather'"),
        (with_one("patch", preconditions=(FactRecorded(("weather",)),)), "needs a fact about 'weather'"),
        (with_one("patch", preconditions=(p.ArtifactStored("map"),)), "needs the artifact 'map'"),
        (with_one("verify", preconditions=(CheckPassed("tests"),)), "must be about a fact or a stored artifact"),
        # distinct
        ((*sound_steps(), replace(sound_steps()[0], id="again")), "step 'again' is the same as 'inspect'"),
    ],
)  # fmt: skip
def test_each_rule_has_its_finding(steps: tuple[Step, ...], finding: str) -> None:
    found = findings(*steps)
    assert any(finding in each for each in found), found


def test_a_cycle_is_shown() -> None:
    (found,) = findings(step("a", "c"), step("b", "a"), step("c", "b"))
    names = found.removeprefix("the dependencies form a cycle: ").split(" -> ")
    assert names[0] == names[-1] and set(names) == {"a", "b", "c"}


def test_a_plan_may_not_change_the_scope() -> None:
    (found,) = findings(*sound_steps(), scope="**")
    assert found == "scope: '**' is not the contract's 'current_repository'; a plan may not change it"


def test_what_a_step_records() -> None:
    assert rules.recorded(step("a", predicates=(FactRecorded(("x", "y")), FactIs("z", "1"), CheckPassed("t")))) == {
        "x",
        "y",
        "z",
    }


# --- replanning


def broken(budget: int = 2) -> RunState:
    """inspect and side completed, patch failed, verify hangs on it; a replan is due."""
    steps = (sound_steps()[0], step("side"), step("later", "side"), *sound_steps()[1:])
    state = failed(completed(planned(steps, budget=budget), "inspect", "side"), "patch")
    decision = decide(state)
    assert isinstance(decision, Replan) and decision.invalidated == ()
    return reduce(state, decision.trigger)


def good_replan(state: RunState) -> Proposal:
    hit = set(state.trigger.affected) if state.trigger else set()
    kept = [superseded(one) if one.id in hit else one for one in state.steps]
    wider = step("wider", "inspect", artifacts=("patch",), inputs=("inspect-artifact",))
    verify = replace(sound_steps()[2], id="verify-2", depends_on=("wider",))
    return Proposal(state.scope, (*kept, wider, verify))


def objections(state: RunState, changed: Proposal) -> list[str]:
    return rules.validate_replan(state, changed, TOOLS)


def changed(state: RunState, name: str, **changes: Any) -> Proposal:
    good = good_replan(state)
    return Proposal(good.scope, tuple(replace(one, **changes) if one.id == name else one for one in good.steps))


def test_a_good_replan_is_accepted_and_can_be_reduced() -> None:
    state = broken()
    good = good_replan(state)
    assert objections(state, good) == []
    after = reduce(state, accepted(state, good.steps, ("patch", "verify")))
    assert (after.revision, after.replans_left, after.trigger) == (2, 1, None)


def test_affected_steps_may_also_be_left_out_or_keep_their_id_when_they_never_ran() -> None:
    state = broken()
    good = good_replan(state)
    assert objections(state, Proposal(good.scope, tuple(one for one in good.steps if one.id != "patch"))) == []
    again = tuple(
        replace(one, id="verify") if one.id == "verify-2" else one for one in good.steps if one.id != "verify"
    )
    assert objections(state, Proposal(good.scope, again)) == []


def test_a_replan_must_be_due_and_paid_for() -> None:
    state = planned()
    assert objections(state, proposal(state.steps)) == ["no replan was asked for"]
    assert rules.validate_unaffected_steps_unchanged(state, ()) == []
    assert objections(broken(0), good_replan(broken(0))) == ["the replan budget is spent: only a person can raise it"]


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (lambda s: changed(s, "inspect", goal="Something else"), "completed step 'inspect' is changed"),
        (lambda s: changed(s, "inspect", status=Status.SUPERSEDED), "completed step 'inspect' is changed"),
        (lambda s: changed(s, "inspect", status=Status.PENDING), "completed step 'inspect' is changed"),
        (lambda s: Proposal(s.scope, good_replan(s).steps[1:]), "completed step 'inspect' is missing"),
        (lambda s: changed(s, "later", goal="Something else"), "step 'later' is not affected by 'patch'"),
        (lambda s: changed(s, "later", status=Status.SUPERSEDED), "step 'later' is not affected by 'patch'"),
        (lambda s: changed(s, "wider", status=Status.COMPLETED), "step 'wider' is proposed as completed"),
        (lambda s: changed(s, "wider", status=Status.RUNNING), "step 'wider' is proposed as running"),
        (lambda s: changed(s, "wider", status=Status.SUPERSEDED), "step 'wider' is proposed as superseded"),
        (lambda s: changed(s, "patch", status=Status.COMPLETED), "step 'patch' is proposed as completed"),
        (lambda s: changed(s, "patch", status=Status.PENDING), "step 'patch' has been run already"),
        (lambda s: changed(s, "patch", status=Status.BLOCKED), "step 'patch' is blocked and affected"),
        (lambda s: replace(good_replan(s), scope="everything"), "scope: 'everything' is not the contract's"),
        (lambda s: changed(s, "verify-2", covers=("tests",)), "check 'reproduction' is covered by no step"),
        (lambda s: changed(s, "wider", depends_on=("patch",)), "depends on 'patch', which is superseded"),
    ],
)  # fmt: skip
def test_what_a_replan_may_not_do(change: Callable[[RunState], Proposal], finding: str) -> None:
    state = broken()
    found = objections(state, change(state))
    assert any(finding in each for each in found), found


def test_ids_of_superseded_steps_are_not_used_again() -> None:
    state = broken()
    state = reduce(state, accepted(state, good_replan(state).steps, ("patch", "verify")))
    state = failed(completed(state, "later"), "wider")
    decision = decide(state)
    assert isinstance(decision, Replan)
    state = reduce(state, decision.trigger)
    kept = [one for one in state.steps if one.id in {"inspect", "side", "later"}]
    for name, finding in {"verify": "belongs to a superseded step", "patch": "belongs to a superseded step"}.items():
        new = replace(sound_steps()[2], id=name, depends_on=("inspect",))
        found = objections(state, proposal([*kept, new]))
        assert any(finding in each for each in found), found


def test_ids_of_revisions_that_were_left_behind_are_not_used_again() -> None:
    state = broken()
    good = good_replan(state)
    gone = tuple(one for one in good.steps if one.id not in {"patch", "verify"})
    state = reduce(state, accepted(state, gone, ("patch", "verify")))
    state = failed(completed(state, "later"), "wider")
    decision = decide(state)
    assert isinstance(decision, Replan)
    state = reduce(state, decision.trigger)
    kept = [one for one in state.steps if one.id in {"inspect", "side", "later"}]
    for name, finding in {"verify": "belongs to an earlier revision", "patch": "has been run already"}.items():
        new = replace(sound_steps()[2], id=name, depends_on=("inspect",))
        assert any(finding in each for each in objections(state, proposal([*kept, new])))
    assert objections(state, proposal([*kept, replace(sound_steps()[2], id="fresh", depends_on=("inspect",))])) == []


def test_known_facts_satisfy_preconditions_of_a_replan() -> None:
    state = planned()
    state = reduce(state, e.StepStarted("inspect", 1, "base"))
    state = reduce(state, e.FactCommitted(fact("f1", "place", "a.py", "inspect")))
    state = reduce(state, e.StepCompleted("inspect", (e.Evidence("e", "v", "a", "passed", "s"),), "t", {}))
    state = failed(state, "patch")
    decision = decide(state)
    assert isinstance(decision, Replan)
    state = reduce(state, decision.trigger)
    assert objections(state, changed(state, "wider", preconditions=(FactIs("place", "a.py"),))) == []


# --- every mutation of a valid proposal is refused (A5)


@st.composite
def running(draw: st.DrawFn) -> tuple[RunState, Proposal]:
    """A random run that waits for a replan, and a proposal that the rules accept."""
    count = draw(st.integers(2, 6))
    steps = []
    for i in range(count):
        after = draw(st.lists(st.sampled_from([f"s{k}" for k in range(i)]), unique=True, max_size=2)) if i else []
        steps.append(step(f"s{i}", *after))
    steps.append(replace(sound_steps()[2], depends_on=tuple(f"s{i}" for i in range(count))))
    state = planned(draw(st.permutations(steps)), budget=draw(st.integers(1, 3)))
    for _ in range(draw(st.integers(1, count - 1))):
        state = completed(state, draw(st.sampled_from([one.id for one in p.ready(state.steps)])))
    state = failed(state, draw(st.sampled_from([one.id for one in p.ready(state.steps)])))
    decision = decide(state)
    assert isinstance(decision, Replan)
    state = reduce(state, decision.trigger)
    hit = set(decision.trigger.affected)
    drop = draw(st.booleans())
    kept = [superseded(one) if one.id in hit else one for one in state.steps if not (drop and one.id in hit)]
    alive = [one.id for one in kept if one.status is not Status.SUPERSEDED]
    new = [step("new", *draw(st.lists(st.sampled_from(alive), unique=True, max_size=2)))]
    last = replace(sound_steps()[2], id="last", depends_on=("new", *alive), inputs=("new-artifact",))
    return state, Proposal(state.scope, tuple(draw(st.permutations([*kept, *new, last]))))


@settings(max_examples=60, deadline=None)
@given(running(), st.data())
def test_a_valid_proposal_passes_and_every_mutation_is_refused(
    case: tuple[RunState, Proposal], data: st.DataObject
) -> None:
    state, valid = case
    assert objections(state, valid) == []
    names = {one.id for one in valid.steps if one.status is Status.PENDING}
    after = reduce(
        state, accepted(state, valid.steps, [one.id for one in valid.steps if one.status is Status.SUPERSEDED])
    )
    assert after.replans_left == state.replans_left - 1 and names

    done = data.draw(st.sampled_from([one for one in valid.steps if one.status is Status.COMPLETED]))
    field = data.draw(st.sampled_from([name for name in Step.__struct_fields__ if name not in {"status"}]))
    was = getattr(done, field)
    other: Any = was + 1 if isinstance(was, float) else f"{was}x" if isinstance(was, str) else (*was, "more")
    if field in {"predicates", "preconditions"}:
        other = (*was, FactRecorded(("more",)))
    status = data.draw(st.sampled_from([one for one in Status if one is not Status.COMPLETED]))
    newer = data.draw(st.sampled_from(sorted(names)))
    mutations = {
        "scope": replace(valid, scope=data.draw(st.text().filter(lambda text: text != state.scope))),
        "a completed step's field": swapped(valid, done.id, **{field: other}),
        "a completed step's status": swapped(valid, done.id, status=status),
        "a completed step": Proposal(valid.scope, tuple(one for one in valid.steps if one.id != done.id)),
        "coverage": swapped(valid, "last", covers=tuple(CHECKS)[: data.draw(st.integers(0, len(CHECKS) - 1))]),
        "a declaration of success": swapped(valid, "new", status=Status.COMPLETED),
        "a cycle": swapped(valid, "new", depends_on=("last",)),
        "an unknown dependency": swapped(valid, newer, depends_on=("nowhere",)),
        "a duplicate": Proposal(valid.scope, (*valid.steps, valid.steps[0])),
        "no predicate": swapped(valid, "new", predicates=()),
    }
    for what, mutated in mutations.items():
        assert objections(state, mutated), what


def swapped(valid: Proposal, name: str, **changes: Any) -> Proposal:
    return Proposal(valid.scope, tuple(replace(one, **changes) if one.id == name else one for one in valid.steps))


@settings(max_examples=40, deadline=None)
@given(
    running(), st.sampled_from(["facts", "replans_left", "required_checks", "revision", "checks", "budget"]), st.data()
)
def test_facts_budget_and_checks_cannot_ride_along_in_the_json(
    case: tuple[RunState, Proposal], extra: str, data: st.DataObject
) -> None:
    state, valid = case
    encoded = msgspec.json.encode(valid)
    assert objections(state, read_proposal(encoded)) == []
    body = json.loads(encoded)
    places = [body, *body["steps"], *(each for one in body["steps"] for each in one["predicates"])]
    data.draw(st.sampled_from(places))[extra] = data.draw(st.sampled_from([9, [], {}, None, "x"]))
    with pytest.raises(msgspec.ValidationError):
        read_proposal(json.dumps(body).encode())
