"""Evaluates the closed set of predicates: only these decide whether a step is done (R6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planexec.core import plan as p
from planexec.core.contract import Contract
from planexec.core.events import Evidence, Fact
from planexec.core.example import default_file, expression_probe
from planexec.testing.bench import Bench, select
from planexec.verifiers.interface import FAILED, PASSED, Candidate, Request, Verdict, trouble
from planexec.verifiers.registry import Registry
from planexec.verifiers.regression import green_on_candidate, red_on_base


@dataclass(frozen=True)
class Situation:
    """What predicates are evaluated against."""

    contract: Contract
    candidate: Candidate
    facts: Sequence[Fact]
    artifacts: Mapping[str, str]
    bench: Bench
    registry: Registry


def evaluate(predicate: p.Predicate, situation: Situation) -> Evidence:
    """Evidence for or against one predicate."""
    match predicate:
        case p.CheckPassed(check):
            return situation.registry.judge(_request(situation, check))
        case p.RegressionRed(check):
            request = _request(situation, check)
            return situation.registry.keep(request, request.check.verifier, f"{check}: red", red_on_base(request))
        case p.RegressionGreen(check):
            request = _request(situation, check)
            verdict = green_on_candidate(request)
            return situation.registry.keep(request, request.check.verifier, f"{check}: green", verdict)
        case p.SetupCarries(check):
            request = _request(situation, check)
            return situation.registry.keep(request, "setup_carries", check, _setup_carries(request))
    first = next(iter(situation.contract.checks))
    verdict, about = _from_state(predicate, situation)
    return situation.registry.keep(_request(situation, first), str(predicate.__struct_config__.tag), about, verdict)


def _request(situation: Situation, check: str) -> Request:
    return Request(situation.contract, situation.contract.checks[check], situation.candidate, situation.bench)


def _from_state(predicate: p.FactRecorded | p.FactIs | p.ArtifactStored, situation: Situation) -> tuple[Verdict, str]:
    """Predicates that the facts and artifacts decide."""
    latest = {fact.subject: fact for fact in situation.facts}
    match predicate:
        case p.FactRecorded(subjects):
            missing = [subject for subject in subjects if subject not in latest]
            found = {subject: latest[subject].id for subject in subjects if subject in latest}
            if missing:
                return Verdict(FAILED, f"no verified fact about {', '.join(missing)}", {"facts": found}), ", ".join(
                    subjects
                )
            return Verdict(PASSED, f"facts recorded about {', '.join(subjects)}", {"facts": found}), ", ".join(subjects)
        case p.FactIs(subject, value):
            fact = latest.get(subject)
            holds = fact is not None and fact.value == value
            return Verdict(PASSED if holds else FAILED, f"{subject} is {fact.value if fact else 'unknown'}"), subject
        case p.ArtifactStored(name):
            holds = name in situation.artifacts
            return Verdict(PASSED if holds else FAILED, f"artifact '{name}' is {'' if holds else 'not '}stored"), name


def _setup_carries(request: Request) -> Verdict:
    """A probe on the base with T asks the extended set-up for each field and each value."""
    check, candidate = request.check, request.candidate
    probe = expression_probe(check)
    base_file = default_file(check, candidate.base.entries, request.bench.project)
    path = f"{base_file[: -len('.py')]}_probe.py"
    written = next((change for change in candidate.tests if change.path == base_file), None)
    if written is None or written.after is None:
        return Verdict(FAILED, f"'{base_file}' has not been written", code="NO_SETUP")
    report = request.bench.run(candidate.tests, [path], {path: probe.source.encode()})
    if problem := trouble(report, "the base"):
        return problem
    for name, (fixture, values) in probe.questions.items():
        outcomes = select(report, f"{path}::{name}")
        bad = next((outcome for outcome in outcomes if outcome.status != "passed"), None)
        if bad or not outcomes:
            why = bad.message if bad else "it was not collected"
            return Verdict(FAILED, f"'{fixture}' does not express {values}: {why}", {"probe": probe.source}, "SETUP")
    carried = "; ".join(f"'{fixture}' expresses {values}" for fixture, values in probe.questions.values())
    return Verdict(PASSED, carried, {"probe": probe.source, "file": base_file})
