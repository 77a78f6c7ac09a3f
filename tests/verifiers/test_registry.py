from __future__ import annotations

import msgspec

from planexec.core.contract import Contract
from planexec.core.errors import EnvironmentFailure
from planexec.testing.bench import Bench
from planexec.verifiers.interface import ERROR, PASSED, Request, Verdict
from planexec.verifiers.registry import BUILT_IN, Registry, judge_base, plugins

from ..projects import make_contract, request

PLUGGED = """
goal: a plug-in judges
success:
  special: {verifier: special_verifier, options: {answer: 42}}
"""


def contract() -> Contract:
    from planexec.core.contract_reader import read_contract

    return read_contract(PLUGGED, "contract.yaml", plugins=["special_verifier"])


def special(request: Request) -> Verdict:
    return Verdict(PASSED, f"the answer is {request.check.options['answer']}")


def broken(request: Request) -> Verdict:
    raise ZeroDivisionError("a fault of the plug-in")


def unlucky(request: Request) -> Verdict:
    raise EnvironmentFailure("no disk", "make room")


def test_evidence_has_an_id_and_an_artifact(shared_bench: Bench) -> None:
    registry = Registry.of(make_contract(), evidence_so_far=4)
    evidence = registry.judge(request(shared_bench, make_contract(), "tests"))
    assert (evidence.id, evidence.verifier, evidence.about) == ("ev-5", "verify_related_tests", "tests")
    stored = msgspec.json.decode(shared_bench.store.get(evidence.artifact))
    assert stored["summary"] == evidence.summary and stored["detail"]["broken"] == {}


def test_several_checks_keep_their_order(shared_bench: Bench) -> None:
    made = make_contract()
    registry = Registry.of(made)
    found = list(registry.judge_all([request(shared_bench, made, name) for name in ("diff_scope", "tests")]))
    assert [(each.id, each.about) for each in found] == [("ev-1", "diff_scope"), ("ev-2", "tests")]
    assert list(registry.judge_all([])) == []


def test_a_plug_in_judges_with_its_options(shared_bench: Bench) -> None:
    registry = Registry({**BUILT_IN, "special_verifier": special})
    evidence = registry.judge(request(shared_bench, contract(), "special"))
    assert (evidence.status, evidence.summary) == (PASSED, "the answer is 42")


def test_a_plug_in_that_fails_never_passes(shared_bench: Bench) -> None:
    for verifier, words in ((broken, "ZeroDivisionError"), (unlucky, "no disk")):
        registry = Registry({"special_verifier": verifier})
        evidence = registry.judge(request(shared_bench, contract(), "special"))
        assert evidence.status == ERROR
        assert words in evidence.summary


def test_nobody_takes_over_a_built_in_name() -> None:
    assert not set(plugins()) & set(BUILT_IN)


def test_the_base_is_judged_as_it_is(shared_bench: Bench) -> None:
    made = make_contract()
    assert judge_base(made, made.checks["tests"], shared_bench).status == PASSED
