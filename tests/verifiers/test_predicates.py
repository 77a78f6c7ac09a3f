from __future__ import annotations

from planexec.core import events as e
from planexec.core import plan as p
from planexec.core.contract import Contract
from planexec.core.example import regression_source, setup_source
from planexec.core.state import Frozen
from planexec.testing.bench import Bench
from planexec.verifiers.interface import FAILED, PASSED
from planexec.verifiers.predicates import Situation, evaluate
from planexec.verifiers.registry import Registry

from ..projects import BY_EXAMPLE, FAULT, FIX, candidate, edit, make_contract

WITH_SET_UP = """
goal: an order may carry a voucher
success:
  reproduction:
    verifier: verify_regression_red
    runs: 1
    example:
      file: tests/test_voucher.py
      imports: from shop.basket import total
      fields: {order: {voucher: 50}}
      also: [{order: {voucher: 0}}]
      actual: total(order["prices"], order["voucher"])
      expected: 450
      shows: 550
  tests: everything else still passes
"""


def situation(
    bench: Bench, contract: Contract, frozen: Frozen | None = None, facts: tuple[e.Fact, ...] = ()
) -> Situation:
    return Situation(contract, candidate(bench, frozen), facts, {"patch": "digest"}, bench, Registry.of(contract))


def fact(subject: str, value: str) -> e.Fact:
    return e.Fact("fact-1", "a claim", "obs-1", subject, value, (), "inspect")


def test_facts_and_artifacts(shared_bench: Bench) -> None:
    known = situation(shared_bench, make_contract(), facts=(fact("location", "x:1"),))
    assert evaluate(p.FactRecorded(("location",)), known).status == PASSED
    missing = evaluate(p.FactRecorded(("location", "setup.a.b")), known)
    assert (missing.status, missing.summary) == (FAILED, "no verified fact about setup.a.b")
    assert evaluate(p.FactIs("location", "x:1"), known).status == PASSED
    assert evaluate(p.FactIs("location", "y:1"), known).status == FAILED
    assert evaluate(p.FactIs("other", "y:1"), known).summary == "other is unknown"
    assert evaluate(p.ArtifactStored("patch"), known).status == PASSED
    assert evaluate(p.ArtifactStored("other"), known).status == FAILED


def test_a_latest_fact_counts(shared_bench: Bench) -> None:
    corrected = situation(shared_bench, make_contract(), facts=(fact("a", "old"), fact("a", "new")))
    assert evaluate(p.FactIs("a", "new"), corrected).status == PASSED


def test_red_green_and_checks(bench: Bench) -> None:
    contract = make_contract(BY_EXAMPLE)
    source = regression_source(contract.checks["reproduction"], extended=False)
    edit(bench, "tests/test_reproduction.py", "", source)
    frozen = Frozen({"tests/test_reproduction.py": "0"}, ("tests/test_reproduction.py::test_reproduction",))
    red = evaluate(p.RegressionRed("reproduction"), situation(bench, contract, frozen))
    assert (red.status, red.about) == (PASSED, "reproduction: red")
    assert "assert 520 == 480" in red.summary
    assert evaluate(p.RegressionGreen("reproduction"), situation(bench, contract, frozen)).status == FAILED
    edit(bench, "shop/basket.py", FAULT, FIX)
    assert evaluate(p.RegressionGreen("reproduction"), situation(bench, contract, frozen)).status == PASSED
    assert evaluate(p.CheckPassed("tests"), situation(bench, contract, frozen)).status == PASSED


def test_a_set_up_expresses_every_value(bench: Bench) -> None:
    contract = make_contract(WITH_SET_UP)
    check = contract.checks["reproduction"]
    lacking = evaluate(p.SetupCarries("reproduction"), situation(bench, contract))
    assert (lacking.status, lacking.code) == (FAILED, "NO_SETUP")
    edit(bench, "tests/test_voucher.py", "", setup_source(check))
    carried = evaluate(p.SetupCarries("reproduction"), situation(bench, contract))
    assert carried.status == PASSED
    assert carried.summary == "'order' expresses 50, 0"


def test_an_overridden_fixture_that_does_not_exist(bench: Bench) -> None:
    contract = make_contract(WITH_SET_UP.replace("order", "nothing_of_this_name"))
    edit(bench, "tests/test_voucher.py", "", setup_source(contract.checks["reproduction"]))
    verdict = evaluate(p.SetupCarries("reproduction"), situation(bench, contract))
    assert (verdict.status, verdict.code) == (FAILED, "SETUP")
