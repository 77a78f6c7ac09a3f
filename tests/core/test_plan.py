from __future__ import annotations

import itertools
import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from planexec.core import plan as p
from planexec.core.plan import Status, Step
from tests.core.building import step

THIRD_SEED = (
    step("S0", estimate=5.0), step("S1", "S0", estimate=8.0), step("S2", "S0", estimate=3.0),
    step("S3", "S1", "S2", estimate=6.0), step("S4", "S3", estimate=10.0),
)  # fmt: skip


def test_the_third_seeds_graph() -> None:
    assert sum(one.estimate for one in THIRD_SEED) == 32
    assert p.earliest_finish(THIRD_SEED) == {"S0": 5, "S1": 13, "S2": 8, "S3": 19, "S4": 29}
    assert p.critical_path(THIRD_SEED) == ["S0", "S1", "S3", "S4"]
    assert p.parallel_groups(THIRD_SEED) == [["S0"], ["S1", "S2"], ["S3"], ["S4"]]
    steps, groups = list(THIRD_SEED), []
    while group := p.ready(steps):
        groups.append({one.id for one in group})
        steps = [replace(one, status=Status.COMPLETED) if one in group else one for one in steps]
    assert groups == [{"S0"}, {"S1", "S2"}, {"S3"}, {"S4"}]
    assert p.affected(THIRD_SEED, {"S3"}) == {"S3", "S4"}


def test_the_second_seeds_affected_set() -> None:
    steps = [step("T1"), *(step(name, "T1") for name in ("T2", "T3", "T4")), step("T5", "T2", "T3", "T4"),
             step("T6", "T5"), step("T7", "T6")]  # fmt: skip
    assert p.affected(steps, {"T2"}) == {"T2", "T5", "T6", "T7"}
    assert p.ancestors(steps, "T5") == {"T1", "T2", "T3", "T4"}


def test_nothing_gives_nothing() -> None:
    assert p.earliest_finish(()) == {} and p.critical_path(()) == [] and p.parallel_groups(()) == []
    assert p.cycle(()) == [] and p.ready(()) == [] and p.ancestors((), "x") == set() and p.progress(()) == 0.0


@st.composite
def graphs(draw: st.DrawFn, acyclic: bool = False) -> list[Step]:
    count = draw(st.integers(1, 6))
    names = [f"n{i}" for i in range(count)]
    steps = []
    for i, name in enumerate(names):
        pool = names[:i] if acyclic else [*names, "ghost"]
        after = draw(st.lists(st.sampled_from(pool), max_size=3, unique=acyclic)) if pool else []
        status = draw(st.sampled_from(Status))
        steps.append(step(name, *after, status=status, estimate=float(draw(st.integers(0, 9)))))
    return draw(st.permutations(steps))


def paths(steps: list[Step]) -> list[list[Step]]:
    """Every chain of dependencies, first to last, found the slow way."""
    by_id = {one.id: one for one in steps}
    found: list[list[Step]] = [[one] for one in steps]
    for chain in found:
        if len(chain) <= len(steps):
            found.extend([by_id[parent], *chain] for parent in dict.fromkeys(chain[0].depends_on) if parent in by_id)
    return found


@settings(max_examples=150, deadline=None)
@given(graphs(acyclic=True))
def test_times_and_orders_against_brute_force(steps: list[Step]) -> None:
    finish = p.earliest_finish(steps)
    chains = paths(steps)
    for one in steps:
        assert finish[one.id] == max(sum(s.estimate for s in chain) for chain in chains if chain[-1] is one)
        above = {s.id for chain in chains if chain[-1] is one for s in chain} - {one.id}
        assert p.ancestors(steps, one.id) == above
        assert p.affected(steps, {one.id}) == {one.id} | {s.id for c in chains if c[0] is one for s in c}
    path = p.critical_path(steps)
    by_id = {one.id: one for one in steps}
    assert sum(by_id[name].estimate for name in path) == max(finish.values())
    assert all(first in by_id[second].depends_on for first, second in itertools.pairwise(path))
    assert not by_id[path[0]].depends_on
    order = [one.id for one in p.topological(steps)]
    assert sorted(order) == sorted(by_id)
    assert all(order.index(parent) < order.index(one.id) for one in steps for parent in one.depends_on)
    groups = p.parallel_groups(steps)
    depth = {name: level for level, group in enumerate(groups) for name in group}
    for one in steps:
        assert depth[one.id] == max(len(chain) for chain in chains if chain[-1] is one) - 1
    assert p.cycle(steps) == []


@settings(max_examples=250, deadline=None)
@given(graphs())
def test_cycles_and_ready_sets_against_brute_force(steps: list[Step]) -> None:
    by_id = {one.id: one for one in steps}
    reach = {one.id: set(one.depends_on) for one in steps}
    for _ in steps:
        reach = {name: seen | {far for near in seen for far in reach.get(near, ())} for name, seen in reach.items()}
    assert all(p.ancestors(steps, name) == reach[name] for name in by_id)
    loop = p.cycle(steps)
    assert bool(loop) == any(name in seen for name, seen in reach.items())
    if loop:
        assert loop[0] == loop[-1] and len(set(loop)) == len(loop) - 1
        assert all(first in by_id[second].depends_on for first, second in itertools.pairwise(loop))
        with pytest.raises(ValueError, match="form a cycle"):
            p.topological(steps)
    expected = [
        one
        for one in steps
        if one.status is Status.PENDING
        and all(parent in by_id and by_id[parent].status is Status.COMPLETED for parent in one.depends_on)
    ]
    assert p.ready(steps) == expected


def test_a_long_chain_is_no_problem() -> None:
    steps = [step("n0"), *(step(f"n{i}", f"n{i - 1}") for i in range(1, 3000))]
    assert p.cycle(steps) == []
    assert p.cycle([*steps, step("n0x", "n0x")]) == ["n0x", "n0x"]
    assert len(p.affected(steps, {"n0"})) == len(p.ancestors(steps, "n2999")) + 1 == 3000


def test_progress_is_weighted() -> None:
    steps = [
        step("a", weight=3.0, status=Status.COMPLETED), step("b", weight=1.0),
        step("c", weight=9.0, status=Status.SUPERSEDED),
    ]  # fmt: skip
    assert p.progress(steps) == 0.75
    assert p.progress(steps, {"b": 0.5}) == 0.875


@pytest.mark.parametrize("name", ["a", "A-b_9", "extend-fixture"])
def test_ids(name: str) -> None:
    assert p.ID_PATTERN.match(name)


@pytest.mark.parametrize("name", ["", "9a", "-a", "a b", "a\n", "ä", "aä", "a.b"])
def test_what_is_no_id(name: str) -> None:
    assert not p.ID_PATTERN.match(name)


BODY = {"scope": "s", "steps": [{"id": "a", "goal": "g", "done_when": "d",
        "predicates": [{"predicate": "check_passed", "check": "tests"}]}]}  # fmt: skip


def test_a_proposal_is_read() -> None:
    read = p.read_proposal(json.dumps(BODY).encode())
    assert read == p.Proposal("s", (Step(id="a", goal="g", done_when="d", predicates=(p.CheckPassed("tests"),)),))
    assert (
        json.loads(json.dumps(p.as_json(read.steps)))[0].items() >= {"id": "a", "goal": "g", "done_when": "d"}.items()
    )
    assert p.read_proposal(msgspec.json.encode(read)) == read


@pytest.mark.parametrize(
    "extra", ["facts", "replans_left", "required_checks", "budget", "status", "revision", "plan_history"]
)
@pytest.mark.parametrize("level", ["proposal", "step", "predicate"])
def test_nothing_can_be_smuggled_into_a_proposal(extra: str, level: str) -> None:
    body = json.loads(json.dumps(BODY))
    places = {"proposal": body, "step": body["steps"][0], "predicate": body["steps"][0]["predicates"][0]}
    places[level][extra] = 99
    with pytest.raises(msgspec.ValidationError):
        p.read_proposal(json.dumps(body).encode())


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b'{"scope": "s"}', b'{"scope": 1, "steps": []}', b'{"scope": "s", "steps": [{"id": "a"}]}',
     b'{"scope": "s", "steps": [{"id": "a", "goal": "g", "done_when": "d", "status": "done"}]}',
     b'{"scope": "s", "steps": [{"id": "a", "goal": "g", "done_when": "d", "estimate": 1e999}]}',
     b'{"scope": "s", "steps": [{"id": "a", "goal": "g", "done_when": "d", "predicates": [{"predicate": "so"}]}]}',
     b'{"scope": "\xff", "steps": []}'],
)  # fmt: skip
def test_what_is_no_proposal(data: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        p.read_proposal(data)
