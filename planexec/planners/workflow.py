"""The workflow planner: plans without a model, as hypotheses about this repository.

The first plan assumes the cheapest thing that could be true: the present test set-up can express the fault, and the
fault lies on lines that the failing test runs, and the tests that run them see every effect of a change. Each
assumption is a precondition or a predicate, so an observation can break it; then the planner replaces what hung on it.
Where it has no further hypothesis it says so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from planexec.core import plan as p
from planexec.core.contract import Check, Contract
from planexec.core.events import Cause, ReplanTriggered
from planexec.core.example import expected_values
from planexec.core.plan import FactIs, FactRecorded, Proposal, RegressionRed, SetupCarries, Status, Step
from planexec.core.state import RunState

SOURCE = ("**",)
REGRESSION_FILE = "regression_file"
"""The setting under which the host says where the regression test will stand."""

NEAR = "search.suspicious"


class WorkflowPlanner:
    """Plans from the contract and the facts alone; the same state gives the same plan."""

    name = "workflow"
    mechanism = "fixed workflow with search"
    reason = "the first plan: the present test set-up and the suspected lines are enough"

    def propose(self, contract: Contract, state: RunState) -> Proposal | None:
        """inspect -> reproduce -> patch -> verify; without a reproduction, no ``reproduce``.

        None where no check is bound to a test: then nothing tells a patch from any other change.
        """
        if not contract.names_tests:
            return None
        steps = [_inspect(contract)]
        if contract.reproduction is not None:
            steps.append(_reproduce(contract.reproduction, state.settings.get(REGRESSION_FILE, "")))
        patch = _patch(contract, "patch", (steps[-1].id,))
        steps += [patch, *_after_patch(contract, patch, guards=(), taken=())]
        return Proposal(state.scope, tuple(steps))

    def replan(self, contract: Contract, state: RunState, trigger: ReplanTriggered) -> Proposal | None:
        """Replace what ``trigger`` affects, by the hypothesis that the observation leaves."""
        hit = set(trigger.affected)
        if any(name in hit and _reproduces(state.step(name)) for name in hit):
            new = self._extend_setup(contract, state)
        else:
            new = self._search_again(contract, state, trigger)
        if new is None:
            return None
        ids = {step.id for step in new}
        kept = [step for step in p.superseding(state.steps, hit) if step.id not in ids]
        return Proposal(state.scope, (*kept, *new))

    def _extend_setup(self, contract: Contract, state: RunState) -> list[Step] | None:
        """The set-up lacks fields: extend it in a step of its own, and let what holds already be guarded by steps of
        their own.
        """
        check = contract.reproduction
        if check is None or check.arguments.example is None:
            return None
        missing = {name: _setup(state, name) for name in setup_subjects(check)}
        if any(value not in {"present", "absent"} for value in missing.values()):
            return None
        regression_file = state.settings.get(REGRESSION_FILE, "")
        base = _inspected(state)
        carried = "; ".join(
            f"'{fixture}' with {', '.join(fields)}" for fixture, fields in check.arguments.example.fields.items()
        )
        extend = Step(
            id="extend-fixture",
            goal=f"Extend the test set-up: {', '.join(_lacking(check, missing))}",
            depends_on=(base,),
            done_when=f"the test set-up expresses every value that the checks need: {carried}",
            tools=("regression", "run_tests"),
            artifacts=("test-setup",),
            predicates=(SetupCarries(check.name),),
            rollback="checkpoint",
            inputs=("inspection",),
            writes=(regression_file,),
            milestone="reproduced",
        )
        red = replace(
            _reproduce(check, regression_file),
            id="red-test",
            goal="Add a failing regression test on the extended test set-up",
            depends_on=(extend.id,),
            preconditions=(),
            inputs=("test-setup",),
        )
        guards = [c for c in contract.checks.values() if _is_guard(c, state)]
        patch = _patch(contract, "patch", (red.id,))
        return [extend, red, patch, *_after_patch(contract, patch, guards, taken=())]

    def _search_again(self, contract: Contract, state: RunState, trigger: ReplanTriggered) -> list[Step] | None:
        """The patch is not on the suspected lines, or it broke something: look wider, or look for another one."""
        before = next((step for step in state.steps if step.id == trigger.root and "patch" in step.artifacts), None)
        another = trigger.failure.cause is Cause.SIDE_EFFECT
        if before is None or (not another and state.failed_with("NO_PATCH") != [before.id]):
            return None
        taken = {step.id for step in state.steps if step.status is Status.SUPERSEDED or state.record(step.id).attempt}
        patch = _patch(contract, _free("patch", taken), before.depends_on)
        near = state.fact(NEAR)
        if another:
            patch = _sparing(replace(patch, preconditions=before.preconditions), _broken(state, trigger))
        else:
            patch = replace(
                patch,
                id=_free("wider-patch", taken),
                goal="Search beyond the suspected lines, in everything that the scope allows",
                preconditions=(FactIs(NEAR, near.value),) if near else (),
                estimate=10.0,
            )
        guards = [check for check in contract.checks.values() if _is_guard(check, state)]
        return [patch, *_after_patch(contract, patch, guards, taken)]


class SearchPlanner(WorkflowPlanner):
    """The same steps, where the change is one that a search can enumerate: nothing is assumed of the test set-up."""

    name = "search"
    mechanism = "search"
    reason = "the first plan: the suspected lines and the templates of edits are enough"


def setup_subjects(check: Check) -> dict[str, tuple[str, str]]:
    """The facts about the test set-up that an example needs: subject to (fixture, field)."""
    example = check.arguments.example
    fields = example.fields if example else {}
    return {f"setup.{fixture}.{field}": (fixture, field) for fixture, values in fields.items() for field in values}


def _inspect(contract: Contract) -> Step:
    check = contract.reproduction
    setup = tuple(setup_subjects(check)) if check else ()
    about = "the place of the fault" + (f" and whether the test set-up carries {', '.join(setup)}" if setup else "")
    return Step(
        id="inspect",
        goal="Locate the fault, the checks that hold already, and what the test set-up can carry",
        done_when=f"recorded with file and lines: {about}",
        tools=("investigate", "search", "list", "read"),
        artifacts=("inspection",),
        predicates=(FactRecorded(("location", *setup)),),
        rollback="none",
        reads=SOURCE,
        milestone="understood",
        estimate=1.0,
    )


def _reproduce(check: Check, regression_file: str) -> Step:
    values = expected_values(check)
    shows = f", showing {' and '.join(values)}" if values else ""
    example = check.arguments.example
    subjects = setup_subjects(check)
    return Step(
        id="reproduce",
        goal="Reproduce the fault with the present test set-up"
        if example
        else "Confirm that the failing tests fail for their own reason",
        depends_on=("inspect",),
        covers=(check.name,),
        done_when=f"the regression test fails on the base by its own assertion, every time{shows}",
        preconditions=tuple(FactIs(subject, "present") for subject in subjects),
        tools=("regression", "run_tests") if example else ("run_tests",),
        artifacts=("regression-test",),
        predicates=(RegressionRed(check.name),),
        rollback="checkpoint",
        inputs=("inspection",),
        writes=(regression_file,) if example else (),
        milestone="reproduced",
        estimate=2.0,
    )


def _patch(contract: Contract, name: str, after: tuple[str, ...]) -> Step:
    """The step that changes the source; it covers the checks that the contract gives to it."""
    reproduction = contract.reproduction
    own = [check for check in contract.checks.values() if check.step == "patch" and check is not reproduction]
    if not own and reproduction is None:
        own = [check for check in contract.checks.values() if _has_tests(check)][:1]
    goals = [check for check in (reproduction, *own) if check is not None]
    return Step(
        id=name,
        goal="Find a change of the source that turns the failing test green",
        depends_on=after,
        covers=tuple(check.name for check in own),
        done_when="; ".join(
            "the regression test passes, every time" if check is reproduction else f"check '{check.name}' passes"
            for check in goals
        ),
        tools=("repair", "edit", "undo", "run_tests", "search", "list", "read", "shell"),
        artifacts=("patch",),
        predicates=tuple(
            p.RegressionGreen(check.name) if check is reproduction else p.CheckPassed(check.name) for check in goals
        ),
        rollback="checkpoint",
        inputs=("regression-test",) if reproduction else ("inspection",),
        reads=SOURCE,
        writes=contract.scope.allow or SOURCE,
        milestone="fixed",
        weight=3.0,
        estimate=5.0,
    )


def _broken(state: RunState, trigger: ReplanTriggered) -> list[str]:
    """The checks that failed after the patch: those of the step that failed, or those of the gate."""
    step = state.step(trigger.failure.step)
    evidence = state.record(step.id).evidence
    failed = [
        predicate.check
        for predicate, each in zip(step.predicates, evidence, strict=False)
        if isinstance(predicate, p.CheckPassed) and each.status == "failed"
    ]
    gate = [name for name, check in state.checks.items() if check.status == "failed"]
    return list(dict.fromkeys([*failed, *gate]))


def _sparing(patch: Step, broken: Sequence[str]) -> Step:
    """The step of another patch: what the last one broke is a part of what this one has to reach."""
    more = [p.CheckPassed(name) for name in broken if p.CheckPassed(name) not in patch.predicates]
    done = [patch.done_when, *(f"check '{predicate.check}' passes" for predicate in more)]
    return replace(
        patch,
        goal="Find another change than the one that broke something",
        done_when="; ".join(done),
        predicates=(*patch.predicates, *more),
    )


def _after_patch(contract: Contract, patch: Step, guards: Sequence[Check], taken: Collection[str]) -> list[Step]:
    """A step for each guarded check, then ``verify`` with everything that no other step covers."""
    steps = [_guard(check, patch.id, taken) for check in guards]
    covered = {name for step in (patch, *steps) for name in step.covers}
    if contract.reproduction is not None:
        covered.add(contract.reproduction.name)
    rest = [check for check in contract.checks.values() if check.name not in covered]
    rest = rest or [
        check for check in contract.checks.values() if check.name in patch.covers or check is contract.reproduction
    ]
    return [*steps, _verify(rest, _free("verify", taken), (patch.id, *(step.id for step in steps)))]


def _guard(check: Check, patch_id: str, taken: Collection[str]) -> Step:
    return Step(
        id=_free(check.step or f"guard-{check.name}", taken),
        goal=f"Show that the fix keeps what held before: {check.text}",
        depends_on=(patch_id,),
        covers=(check.name,),
        done_when=f"check '{check.name}' still passes",
        preconditions=(FactIs(f"base.{check.name}", "holds"),),
        tools=("run_tests",),
        artifacts=(f"verdict-{check.name}",),
        predicates=(p.CheckPassed(check.name),),
        rollback="none",
        inputs=("patch",),
        milestone="proved",
    )


def _verify(checks: Sequence[Check], name: str, after: tuple[str, ...]) -> Step:
    return Step(
        id=name,
        goal=f"Verify {', '.join(check.name for check in checks)}",
        depends_on=after,
        covers=tuple(check.name for check in checks),
        done_when="; ".join(f"check '{check.name}' passes" for check in checks),
        tools=("run_tests",),
        artifacts=("verification",),
        predicates=tuple(p.CheckPassed(check.name) for check in checks),
        rollback="none",
        inputs=("patch",),
        milestone="proved",
        estimate=2.0,
    )


def _has_tests(check: Check) -> bool:
    return bool(check.arguments.tests or check.arguments.acceptance)


def _is_guard(check: Check, state: RunState) -> bool:
    """A check that the inspection saw hold on the base and that no other step carries."""
    fact = state.fact(f"base.{check.name}")
    return fact is not None and fact.value == "holds" and check.step != "patch"


def _lacking(check: Check, found: Mapping[str, str]) -> list[str]:
    """The fields that are missing, in words."""
    named = setup_subjects(check)
    return [f"'{named[name][0]}' carries '{named[name][1]}'" for name, value in found.items() if value == "absent"]


def _setup(state: RunState, subject: str) -> str:
    fact = state.fact(subject)
    return fact.value if fact else ""


def _reproduces(step: Step) -> bool:
    return any(isinstance(predicate, RegressionRed) for predicate in step.predicates)


def _inspected(state: RunState) -> str:
    """The completed step that inspected."""
    return next(step.id for step in state.steps if step.status is Status.COMPLETED and "inspection" in step.artifacts)


def _free(name: str, taken: Collection[str]) -> str:
    """The name, or the name with the first free number."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free
