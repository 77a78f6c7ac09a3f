"""Steps, plans, proposals, and what follows from their dependencies: ready, affected, critical path (R6, R8, R20)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from planexec.core import wire

ID_PATTERN = re.compile(r"^[A-Za-z][\w-]*\Z", re.ASCII)  # not ``$``, which lets a final line break pass


class Status(StrEnum):
    """The five stored statuses of a step."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    BLOCKED = "blocked"
    SUPERSEDED = "superseded"


class _Predicate(msgspec.Struct, frozen=True, tag_field="predicate", forbid_unknown_fields=True):
    """Nothing may be slipped into a proposal through a predicate."""


class FactRecorded(_Predicate, frozen=True, tag="fact_recorded"):
    """A verified fact stands about each of ``subjects``."""

    subjects: tuple[str, ...]


class FactIs(_Predicate, frozen=True, tag="fact_is"):
    """The verified fact about ``subject`` has this value."""

    subject: str
    value: str


class ArtifactStored(
    msgspec.Struct, frozen=True, tag="artifact_stored", tag_field="predicate", forbid_unknown_fields=True
):
    """The artifact ``name`` was stored by a completed step."""

    name: str


class SetupCarries(_Predicate, frozen=True, tag="setup_carries"):
    """The test set-up on the candidate carries every field that the example of ``check`` uses."""

    check: str


class RegressionRed(
    msgspec.Struct, frozen=True, tag="regression_red", tag_field="predicate", forbid_unknown_fields=True
):
    """The regression test of ``check`` fails on the base, every time, showing the contract's values."""

    check: str


class RegressionGreen(
    msgspec.Struct, frozen=True, tag="regression_green", tag_field="predicate", forbid_unknown_fields=True
):
    """The regression test of ``check``, which was red, passes on the candidate, every time."""

    check: str


class CheckPassed(_Predicate, frozen=True, tag="check_passed"):
    """The verifier bound to the required check passes on the candidate."""

    check: str


Predicate = FactRecorded | FactIs | ArtifactStored | SetupCarries | RegressionRed | RegressionGreen | CheckPassed
"""The closed set: only these decide whether a step is done."""

PURE = (FactRecorded, FactIs, ArtifactStored)
"""Predicates that state alone decides; the others need a verifier."""


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One step: the first seed's six fields, and the third seed's contract.

    ``done_when`` is for people, ``predicates`` decide. ``artifacts`` are what the world has more of afterwards.
    ``estimate`` is in minutes. ``rollback`` names what undoes the step: ``checkpoint`` (the tree as it was before)
    or ``none`` (it only reads).
    """

    id: str
    goal: str
    depends_on: tuple[str, ...] = ()
    covers: tuple[str, ...] = ()
    done_when: str
    status: Status = Status.PENDING
    preconditions: tuple[Predicate, ...] = ()
    tools: tuple[str, ...] = ()
    artifacts: tuple[str, ...] = ()
    predicates: tuple[Predicate, ...] = ()
    rollback: str = ""
    inputs: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    risk: str = "low"
    milestone: str = ""
    weight: float = 1.0
    estimate: float = 1.0


class Proposal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a planner may say: scope and steps, nothing else (R19)."""

    scope: str
    steps: tuple[Step, ...]


def read_proposal(data: bytes) -> Proposal:
    """Decode a proposal strictly. Raises msgspec.DecodeError: on what is not JSON, and on any field that a proposal
    may not have.
    """
    return wire.decode(data, Proposal)


def ready(steps: Iterable[Step]) -> list[Step]:
    """Pending steps whose dependencies are all completed, in the order of the plan."""
    steps = list(steps)
    completed = {step.id for step in steps if step.status is Status.COMPLETED}
    return [step for step in steps if step.status is Status.PENDING and completed.issuperset(step.depends_on)]


def affected(steps: Iterable[Step], roots: Collection[str]) -> set[str]:
    """The roots and all their descendants: ``Affected(T) = {T} | Descendants(T)``."""
    found = set(roots)
    dependants: dict[str, list[str]] = {}
    for step in steps:
        for parent in step.depends_on:
            dependants.setdefault(parent, []).append(step.id)
    frontier = list(found)
    while frontier:
        for child in dependants.get(frontier.pop(), ()):
            if child not in found:
                found.add(child)
                frontier.append(child)
    return found


def superseding(steps: Iterable[Step], hit: Collection[str]) -> list[Step]:
    """Steps as they stand in the next revision: superseded where they were affected."""
    return [msgspec.structs.replace(step, status=Status.SUPERSEDED) if step.id in hit else step for step in steps]


def ancestors(steps: Iterable[Step], of: str) -> set[str]:
    """Every step that ``of`` depends on, directly or not."""
    parents = {step.id: step.depends_on for step in steps}
    found: set[str] = set()
    frontier = list(parents.get(of, ()))
    while frontier:
        name = frontier.pop()
        if name not in found:
            found.add(name)
            frontier.extend(parents.get(name, ()))
    return found


def cycle(steps: Sequence[Step]) -> list[str]:
    """One cycle as a list of ids that ends where it began, or an empty list."""
    parents = {step.id: list(step.depends_on) for step in steps}
    done: set[str] = set()
    for start in parents:
        trail: list[str] = []
        stack: list[tuple[str, int]] = [(start, 0)]
        while stack:
            name, position = stack.pop()
            if position == 0:
                if name in done or name not in parents:
                    continue
                if name in trail:
                    return [*trail[trail.index(name) :], name][::-1]
                trail.append(name)
            if position < len(parents[name]):
                stack.append((name, position + 1))
                stack.append((parents[name][position], 0))
            else:
                trail.pop()
                done.add(name)
    return []


def earliest_finish(steps: Sequence[Step]) -> dict[str, float]:
    """The earliest finish of each step, in minutes, when everything runs as soon as it can."""
    by_id = {step.id: step for step in steps}
    finish: dict[str, float] = {}
    for step in topological(steps):
        start = max((finish[parent] for parent in step.depends_on if parent in by_id), default=0.0)
        finish[step.id] = start + step.estimate
    return finish


def critical_path(steps: Sequence[Step]) -> list[str]:
    """The ids on a longest path, first to last; empty without steps."""
    by_id = {step.id: step for step in steps}
    finish = earliest_finish(steps)
    if not finish:
        return []
    path = [max(finish, key=lambda name: finish[name])]
    while parents := [parent for parent in by_id[path[-1]].depends_on if parent in by_id]:
        path.append(max(parents, key=lambda name: finish[name]))
    return path[::-1]


def topological(steps: Sequence[Step]) -> list[Step]:
    """Steps so that each comes after its dependencies; ties keep the plan's order. Raises ValueError on a cycle."""
    known = {step.id for step in steps}
    waiting = {step.id: {parent for parent in step.depends_on if parent in known} for step in steps}
    ordered: list[Step] = []
    remaining = list(steps)
    while remaining:
        free = [step for step in remaining if not waiting[step.id]]
        if not free:
            raise ValueError("the dependencies form a cycle")
        ordered.extend(free)
        gone = {step.id for step in free}
        remaining = [step for step in remaining if step.id not in gone]
        for step in remaining:
            waiting[step.id] -= gone
    return ordered


def parallel_groups(steps: Sequence[Step]) -> list[list[str]]:
    """The ready sets, one after the other, as if each set ran at once (third seed: S0, {S1, S2}, S3, S4)."""
    depth: dict[str, int] = {}
    for step in topological(steps):
        depth[step.id] = 1 + max((depth[p] for p in step.depends_on if p in depth), default=-1)
    return [
        [step.id for step in steps if depth[step.id] == level] for level in range(max(depth.values(), default=-1) + 1)
    ]


def as_json(steps: Iterable[Step]) -> list[dict[str, Any]]:
    """Steps as plain values, in the first seed's shape with the rest beside it."""
    return [msgspec.to_builtins(step) for step in steps]


def progress(steps: Iterable[Step], quality: Mapping[str, float] | None = None) -> float:
    """Weighted progress in [0, 1] of the live steps: an estimate for people, never a verdict (R30)."""
    live = [step for step in steps if step.status is not Status.SUPERSEDED]
    total = sum(step.weight for step in live)
    done = sum(
        step.weight * (quality or {}).get(step.id, 1.0 if step.status is Status.COMPLETED else 0.0) for step in live
    )
    return done / total if total else 0.0
