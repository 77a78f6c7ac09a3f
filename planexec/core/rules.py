"""The rules that a proposal has to keep (R7, R19): each is a named function that returns findings; no finding, no
objection.

The names are the first seed's ``validate_*``. A finding says what is wrong and what would mend it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from planexec.core import plan as p
from planexec.core.plan import Proposal, Status, Step
from planexec.core.state import RunState

ROLLBACKS = frozenset({"checkpoint", "none"})
RISKS = frozenset({"low", "medium", "high"})
MAX_STEPS = 60
TOOL_LEVEL = re.compile(r"^(open|click|press|type|read|scroll|cd|ls|cat|grep)\b.{0,25}$", re.IGNORECASE)
VERIFYING = (p.SetupCarries, p.RegressionRed, p.RegressionGreen, p.CheckPassed)


def validate_plan(
    proposal: Proposal,
    scope: str,
    required_checks: Mapping[str, str],
    tools: Collection[str],
    known: Collection[str] = (),
) -> list[str]:
    """Everything about a first plan that can be told before it runs. ``known`` are subjects of facts that stand
    already.
    """
    done = [step for step in proposal.steps if step.status is not Status.PENDING]
    return [
        *(f"step '{step.id}' is proposed as {step.status.value}; a new step is pending" for step in done),
        *_validate(proposal, scope, required_checks, tools, known),
    ]


def _validate(
    proposal: Proposal, scope: str, required_checks: Mapping[str, str], tools: Collection[str], known: Collection[str]
) -> list[str]:
    """What holds of every plan, whatever the statuses of its steps."""
    steps = [step for step in proposal.steps if step.status is not Status.SUPERSEDED]
    structure = [
        *validate_scope(proposal.scope, scope),
        *validate_size(steps),
        *validate_dependencies(proposal.steps),
    ]
    if structure:
        return structure  # meaning can only be judged on a sound graph
    return [
        *validate_step_contracts(steps),
        *validate_tools(steps, tools),
        *validate_done_when(steps, required_checks),
        *validate_contract_coverage(steps, required_checks),
        *validate_inputs(steps, known),
        *validate_distinct(steps),
    ]


def validate_replan(state: RunState, proposal: Proposal, tools: Collection[str]) -> list[str]:
    """A proposal that replaces a part of a running plan, against the rules of R19."""
    if state.trigger is None:
        return ["no replan was asked for"]
    if state.replans_left <= 0:
        return ["the replan budget is spent: only a person can raise it"]
    known = [fact.subject for fact in state.facts]
    return [
        *validate_completed_steps_unchanged(state, proposal.steps),
        *validate_unaffected_steps_unchanged(state, proposal.steps),
        *validate_statuses(state, proposal.steps),
        *_validate(proposal, state.scope, state.required_checks, tools, known),
    ]


def validate_scope(proposed: str, scope: str) -> list[str]:
    """The scope is the contract's; a proposal only repeats it."""
    return (
        [] if proposed == scope else [f"scope: '{proposed}' is not the contract's '{scope}'; a plan may not change it"]
    )


def validate_size(steps: Sequence[Step]) -> list[str]:
    """Some steps, and not too many."""
    if not steps:
        return ["the plan has no steps"]
    return [f"{len(steps)} steps are too many; at most {MAX_STEPS}"] if len(steps) > MAX_STEPS else []


def validate_dependencies(steps: Sequence[Step]) -> list[str]:
    """Unique legal ids, dependencies that exist and are alive, no step on itself, no cycle (the cycle is shown)."""
    findings = [f"step id '{name}' stands {n} times" for name, n in Counter(s.id for s in steps).items() if n > 1]
    by_id = {step.id: step for step in steps}
    for step in steps:
        if not p.ID_PATTERN.match(step.id):
            findings.append(f"step id '{step.id}' must be a letter, then letters, digits, '_' and '-'")
        if step.status is Status.SUPERSEDED:
            continue
        for parent in step.depends_on:
            if parent == step.id:
                findings.append(f"step '{step.id}' depends on itself")
            elif parent not in by_id:
                findings.append(f"step '{step.id}' depends on '{parent}', which does not exist")
            elif by_id[parent].status is Status.SUPERSEDED:
                findings.append(f"step '{step.id}' depends on '{parent}', which is superseded")
    if not findings and (loop := p.cycle([step for step in steps if step.status is not Status.SUPERSEDED])):
        findings.append(f"the dependencies form a cycle: {' -> '.join(loop)}")
    return findings


def validate_step_contracts(steps: Sequence[Step]) -> list[str]:
    """Precondition, tools, artifact, predicate and rollback: a step without artifact or predicate cannot be judged
    (R6).
    """
    findings = []
    for step in steps:
        if not step.goal.strip():
            findings.append(f"step '{step.id}' has no goal")
        if not step.artifacts:
            findings.append(f"step '{step.id}' has no artifact: say what the world has more of afterwards")
        if step.rollback not in ROLLBACKS:
            findings.append(
                f"step '{step.id}': rollback '{step.rollback}' is not one of {', '.join(sorted(ROLLBACKS))}"
            )
        if step.writes and step.rollback == "none":
            findings.append(f"step '{step.id}' writes but has no rollback")
        if step.risk not in RISKS:
            findings.append(f"step '{step.id}': risk '{step.risk}' is not one of {', '.join(sorted(RISKS))}")
        if not (0 <= step.estimate < math.inf and 0 <= step.weight < math.inf):
            findings.append(f"step '{step.id}': estimate and weight are numbers from 0 on")
        if TOOL_LEVEL.match(step.goal):
            findings.append(f"step '{step.id}' is a single tool call, not a step: '{step.goal}'")
    return findings


def validate_tools(steps: Sequence[Step], tools: Collection[str]) -> list[str]:
    """Known tools only, and at least one."""
    findings = [
        f"step '{step.id}' names the unknown tool '{tool}'; known: {', '.join(sorted(tools))}"
        for step in steps
        for tool in step.tools
        if tool not in tools
    ]
    return findings + [f"step '{step.id}' names no tool" for step in steps if not step.tools]


def validate_done_when(steps: Sequence[Step], required_checks: Mapping[str, str]) -> list[str]:
    """``done_when`` is bound to something that can be observed: a predicate of the closed set, about a check that
    exists.
    """
    findings = []
    freezing: dict[str, str] = {}
    for step in steps:
        if not step.done_when.strip():
            findings.append(f"step '{step.id}' has no done_when")
        if not step.predicates:
            findings.append(
                f"step '{step.id}': done_when '{step.done_when}' is bound to nothing that can be observed; "
                "give it a predicate"
            )
        for predicate in step.predicates:
            if isinstance(predicate, VERIFYING) and predicate.check not in required_checks:
                findings.append(f"step '{step.id}': predicate about the unknown check '{predicate.check}'")
            if isinstance(predicate, p.FactRecorded) and not predicate.subjects:
                findings.append(f"step '{step.id}': a fact_recorded predicate names no subject")
            if isinstance(predicate, p.RegressionRed) and freezing.setdefault(predicate.check, step.id) != step.id:
                first = freezing[predicate.check]
                findings.append(
                    f"step '{step.id}': '{first}' freezes the regression test already; ask for regression_green"
                )
    return findings


def validate_contract_coverage(steps: Sequence[Step], required_checks: Mapping[str, str]) -> list[str]:
    """Every required check is covered by a live step, and nothing else is."""
    covered = {name for step in steps for name in step.covers}
    findings = [f"check '{name}' is covered by no step" for name in required_checks if name not in covered]
    unknown = [(step.id, name) for step in steps for name in step.covers if name not in required_checks]
    return findings + [f"step '{step}' covers '{name}', which the contract does not name" for step, name in unknown]


def validate_inputs(steps: Sequence[Step], known: Collection[str]) -> list[str]:
    """Every input is an ancestor's artifact, and every precondition is about a fact that stands or that an ancestor
    records.
    """
    findings = []
    by_id = {step.id: step for step in steps}
    for step in steps:
        above = [by_id[name] for name in p.ancestors(steps, step.id) if name in by_id]
        produced = {artifact for parent in above for artifact in parent.artifacts}
        subjects = set(known) | {subject for parent in above for subject in recorded(parent)}
        findings += [
            f"step '{step.id}' needs '{name}', which no earlier step produces"
            for name in step.inputs
            if name not in produced
        ]
        findings += [
            f"step '{step.id}' needs a fact about '{subject}', which no earlier step records"
            for predicate in step.preconditions
            for subject in _subjects(predicate)
            if subject not in subjects
        ]
        findings += [
            f"step '{step.id}' needs the artifact '{predicate.name}', which no earlier step produces"
            for predicate in step.preconditions
            if isinstance(predicate, p.ArtifactStored) and predicate.name not in produced
        ]
        findings += [
            f"step '{step.id}': a precondition must be about a fact or a stored artifact"
            for predicate in step.preconditions
            if not isinstance(predicate, p.PURE)
        ]
    return findings


def recorded(step: Step) -> set[str]:
    """The subjects about which the step's predicates demand facts."""
    return {subject for predicate in step.predicates for subject in _subjects(predicate)}


def _subjects(predicate: p.Predicate) -> tuple[str, ...]:
    match predicate:
        case p.FactRecorded(subjects):
            return subjects
        case p.FactIs(subject):
            return (subject,)
    return ()


def validate_distinct(steps: Sequence[Step]) -> list[str]:
    """No two steps that do the same."""
    findings, seen = [], dict[object, str]()
    for step in steps:
        key = (step.goal, step.artifacts, step.predicates)
        if key in seen:
            findings.append(f"step '{step.id}' is the same as '{seen[key]}'")
        seen[key] = step.id
    return findings


def validate_completed_steps_unchanged(state: RunState, proposed: Sequence[Step]) -> list[str]:
    """A completed step that the controller has not withdrawn stays exactly as it is."""
    by_id = {step.id: step for step in proposed}
    return [
        f"completed step '{step.id}' is {'changed' if step.id in by_id else 'missing'}; it stays as it is"
        for step in state.steps
        if step.status is Status.COMPLETED and by_id.get(step.id) != step
    ]


def validate_unaffected_steps_unchanged(state: RunState, proposed: Sequence[Step]) -> list[str]:
    """A step outside the affected set is not touched: replanning is local."""
    if state.trigger is None:
        return []
    by_id = {step.id: step for step in proposed}
    hit = set(state.trigger.affected)
    return [
        f"step '{step.id}' is not affected by '{state.trigger.root}' and must stay as it is"
        for step in state.live()
        if step.id not in hit and step.status is not Status.COMPLETED and by_id.get(step.id) != step
    ]


def validate_statuses(state: RunState, proposed: Sequence[Step]) -> list[str]:
    """A proposal cannot declare anything done: new steps are pending, old ones as they are or superseded when
    affected.
    """
    before = {step.id: step for step in state.steps}
    hit = set(state.trigger.affected) if state.trigger else set()
    past = {step.id for plan in state.plan_history for step in plan}
    findings = []
    for step in proposed:
        old = before.get(step.id)
        if old is not None and step == old:
            if step.id in hit and step.status is Status.BLOCKED:
                findings.append(f"step '{step.id}' is blocked and affected: supersede it, or leave it out")
            continue
        if old is not None and step.id in hit and step == replace(old, status=Status.SUPERSEDED):
            continue
        if step.status is not Status.PENDING:
            findings.append(f"step '{step.id}' is proposed as {step.status.value}; a new step is pending")
        elif old is not None and old.status is Status.SUPERSEDED:
            findings.append(f"step id '{step.id}' belongs to a superseded step; choose another")
        elif state.record(step.id).attempt:
            findings.append(f"step '{step.id}' has been run already; give its replacement another id")
        elif old is None and step.id in past:
            findings.append(f"step id '{step.id}' belongs to an earlier revision; choose another")
    return findings
