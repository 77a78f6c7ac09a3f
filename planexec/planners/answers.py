"""What a model may say as a plan, and the proposal that the host makes of it.

A model names steps; the host fills in what follows from them (rollback, inputs) and reads strictly: a field that a plan
does not have is a finding, not something to be overlooked (R19).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import msgspec

from planexec.core import plan as p
from planexec.core.plan import FactIs, Predicate, Proposal, Step

Kind = Literal[
    "fact_recorded", "regression_red", "regression_green", "check_passed", "setup_carries", "artifact_stored"
]

PREDICATES: Mapping[str, str] = {
    "fact_recorded": 'a verified fact stands about "about"; "location" is a place that ranks first or was noted',
    "regression_red": 'the regression test of check "about" fails on the unchanged source, every time',
    "regression_green": 'the regression test of check "about" passes with the change',
    "check_passed": 'the host\'s verifier of the required check "about" passes',
    "setup_carries": 'the test set-up has every field that the example of check "about" uses',
    "artifact_stored": 'an earlier step left the artifact "about"',
}
"""The kinds that a model may ask for, in words."""

ALWAYS = ("note", "recall")
"""Tools that change nothing and that any step may need."""

MOST_STEPS = 60
SHOWN = 200


class PlannedPredicate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A predicate by its kind, about a check, a fact's subject, or an artifact."""

    predicate: Kind
    about: str


class PlannedFact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A precondition: the verified fact about ``subject`` has this value."""

    subject: str
    value: str


class PlannedStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A step as a model writes it."""

    id: str
    goal: str
    done_when: str
    predicates: tuple[PlannedPredicate, ...]
    artifacts: tuple[str, ...]
    tools: tuple[str, ...]
    depends_on: tuple[str, ...] = ()
    covers: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    preconditions: tuple[PlannedFact, ...] = ()


class PlannedProposal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A plan as a model writes it."""

    scope: str
    steps: tuple[PlannedStep, ...]


def read_plan(value: Mapping[str, Any], kept: Sequence[Step] = ()) -> Proposal | list[str]:
    """The proposal that an answer amounts to, beside the steps that stay; findings where it cannot be read."""
    steps = value.get("steps")
    if isinstance(steps, list) and len(steps) > MOST_STEPS:
        return [f"{len(steps)} steps are too many; at most {MOST_STEPS}"]
    try:
        planned = msgspec.convert(value, PlannedProposal)
    except msgspec.ValidationError as error:
        return [f"the answer does not have the asked-for form: {str(error)[:SHOWN]}"]
    artifacts = {step.id: step.artifacts for step in kept} | {step.id: step.artifacts for step in planned.steps}
    return Proposal(planned.scope, (*kept, *(_step(step, artifacts) for step in planned.steps)))


def _step(step: PlannedStep, artifacts: Mapping[str, Sequence[str]]) -> Step:
    """With what follows by itself: a step that writes, or may edit, is undone by its checkpoint; its inputs are what
    the steps before it leave.
    """
    acts = bool(step.writes) or bool({"edit", "shell", "regression", "repair"} & set(step.tools))
    inputs = dict.fromkeys(name for parent in step.depends_on for name in artifacts.get(parent, ()))
    return Step(
        id=step.id,
        goal=step.goal,
        depends_on=step.depends_on,
        covers=step.covers,
        done_when=step.done_when,
        preconditions=tuple(FactIs(each.subject, each.value) for each in step.preconditions),
        tools=tuple(dict.fromkeys((*step.tools, *ALWAYS))) if step.tools else (),
        artifacts=step.artifacts,
        predicates=tuple(_predicate(each) for each in step.predicates),
        rollback="checkpoint" if acts else "none",
        inputs=tuple(inputs),
        writes=step.writes,
        weight=3.0 if "patch" in step.artifacts else 1.0,
    )


def _predicate(planned: PlannedPredicate) -> Predicate:
    about = planned.about
    match planned.predicate:
        case "fact_recorded":
            return p.FactRecorded((about,))
        case "regression_red":
            return p.RegressionRed(about)
        case "regression_green":
            return p.RegressionGreen(about)
        case "setup_carries":
            return p.SetupCarries(about)
        case "artifact_stored":
            return p.ArtifactStored(about)
    return p.CheckPassed(about)


assert PREDICATES.keys() == set(get_args(Kind)), "every kind is explained"
