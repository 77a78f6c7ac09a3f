"""The parts that several prompts share: the task, its checks, what is known. Each has a bound of its own, so that no
prompt grows with the contract, the repository or the length of a run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from planexec.core import contract as c
from planexec.core import plan as p
from planexec.core.events import Fact, LinesSupport
from planexec.core.state import RunState
from planexec.prompts.data import cut, listed, quoted, visible

ASKS = {
    c.REGRESSION_RED: "a regression test fails on the unchanged source and passes with the change",
    c.RELATED_TESTS: "no test that passed before fails or vanishes",
    c.DIFF_SCOPE: "the change stays inside the scope and holds nothing unrelated",
    c.NAMED_TESTS: "these tests pass",
    c.COMMAND: "a command ends as it should",
}
"""What each kind of verifier asks, in words."""

GOAL, CONTEXT, CHECKS, FACTS, REPORTS = 1500, 1500, 2000, 2000, 1500
"""Characters."""


def goal(contract: c.Contract) -> str:
    """The goal in the contract's words."""
    return cut(visible(contract.goal), GOAL)


def context(contract: c.Contract) -> str:
    """What the contract tells besides."""
    return f"{quoted('context', contract.context, CONTEXT)}\n" if contract.context.strip() else ""


def checks(contract: c.Contract) -> str:
    """One line for each required check."""
    return listed([_check(check) for check in contract.checks.values()], CHECKS)


def _check(check: c.Check) -> str:
    asks = ASKS.get(check.kind, "a verifier of the project says so")
    tests = check.arguments.tests
    named = f" (tests: {', '.join(tests[:4])}{', ...' if len(tests) > 4 else ''})" if tests else ""
    if check.arguments.example is not None:
        named = " (the tool 'regression' writes this test from the contract's example)"
    text = f"; {visible(check.text)}" if check.text else ""
    return f"- {check.name}: {asks}{named}{text}"[:400]


def has_example(contract: c.Contract) -> bool:
    """Whether the test that shows the fault has yet to be written, from the contract's example."""
    return contract.reproduction is not None and contract.reproduction.arguments.example is not None


def facts(known: Iterable[Fact], changed: Collection[str] = ()) -> str:
    """What the host has verified, the latest first. What was read in files that are ``changed`` since is marked."""
    latest = {fact.subject: fact for fact in known}
    lines = [_fact(fact, changed) for fact in latest.values()]
    return listed(lines[::-1], FACTS) if lines else "(nothing yet)"


def _fact(fact: Fact, changed: Collection[str]) -> str:
    """A digest says nothing to a reader; the lines that it stands for are in the claim."""
    own = fact.subject.startswith(("lines.", "text."))
    named = "" if own else f"{fact.subject} = {visible(fact.value)[:80]}: "
    read = {support.path for support in fact.supports if isinstance(support, LinesSupport)}
    since = " (before the change)" if read & set(changed) else ""
    return f"- {named}{cut(visible(fact.claim), 600)}{since}"


def steps_before(state: RunState, said: Iterable[tuple[str, str]]) -> str:
    """The completed steps, with the last words of their workers, and of those that failed."""
    words = dict(said)
    done = {step.id: "completed" for step in state.live() if step.status is p.Status.COMPLETED}
    failed = {name: "not completed" for name in words if name not in done and state.record(name).failure is not None}
    lines = [
        f"- {name} ({how}): {cut(visible(words.get(name, 'the host judged it')), 600)}".replace("\n", " ")
        for name, how in {**failed, **done}.items()
    ]
    return listed(lines, REPORTS) if lines else "(none)"


def reports(said: Iterable[tuple[str, str]]) -> str:
    """What the workers of earlier steps said last, one a step."""
    lines = [f"- {step}: {cut(visible(text), 600)}".replace("\n", " ") for step, text in said]
    return listed(lines[::-1], REPORTS) if lines else "(nothing)"


def predicates(step: p.Step) -> str:
    """What the host will evaluate, one a line."""
    return "\n".join(f"- {_predicate(each)}" for each in step.predicates)


def _predicate(predicate: p.Predicate) -> str:
    match predicate:
        case p.FactRecorded(subjects):
            return f"a verified fact stands about {', '.join(subjects)}"
        case p.FactIs(subject, value):
            return f"the verified fact about {subject} is '{value}'"
        case p.ArtifactStored(name):
            return f"the artifact '{name}' is stored"
        case p.SetupCarries(check):
            return f"the test set-up has every field that the example of check '{check}' uses"
        case p.RegressionRed(check):
            return f"the regression test of check '{check}' fails on the unchanged source"
        case p.RegressionGreen(check):
            return f"the regression test of check '{check}' passes with the change"
    return f"check '{predicate.check}' passes"
