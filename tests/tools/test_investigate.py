from __future__ import annotations

from pathlib import Path

import pytest

from planexec.core.events import LinesSupport, OccurrencesSupport, OutcomeSupport, TraceSupport
from planexec.testing.bench import Bench
from planexec.tools.failing import target_ids
from planexec.tools.interface import NoArguments, ToolResult
from planexec.tools.investigate import Investigate
from planexec.verifiers.observation import ObservationVerifier

from ..projects import BY_EXAMPLE, BY_TESTS, RED, SHOP, make_bench, make_contract, step, workbench
from ..verifiers.test_predicates import WITH_SET_UP

KEYS = {
    **SHOP,
    "shop/desk.py": """
        def receive(desk, address):
            if not address.startswith("/"):
                raise ValueError(address)
            desk["deliver_to"] = address


        def send(desk):
            target = desk.get("ship_to") or "/nowhere"
            return target
    """,
    "tests/test_desk.py": """
        import pytest
        from shop.desk import receive, send


        def test_bad_address():
            with pytest.raises(ValueError):
                receive({}, "elsewhere")


        def test_no_address():
            assert send({}) == "/nowhere"
    """,
}
LOST = """
goal: parcels arrive where they shall
success:
  reproduction:
    verifier: verify_regression_red
    runs: 1
    example:
      imports: [from shop.desk import receive, "from shop.desk import send"]
      setup: |
        desk = {}
        receive(desk, "/home")
      actual: send(desk)
      expected: /home
      shows: /nowhere
  bad_address: a bad address is refused
  tests: everything else still passes
verifiers:
  verify_bad_address: {tests: ["tests/test_desk.py::test_bad_address"]}
"""


def investigate(bench: Bench, text: str) -> ToolResult:
    return Investigate().run(NoArguments(), workbench(bench, make_contract(text), step("investigate")))


def test_a_value_is_followed_to_where_it_is_lost(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, KEYS)
    result = investigate(bench, LOST)
    assert [claim.subject for claim in result.claims] == ["flow.stored", "base.bad_address", "location"]
    stored, holds, lost = result.claims
    assert stored.text == "'/home' is accepted and stored as desk['deliver_to'] (shop/desk.py:4)"
    assert [type(support) for support in stored.supports] == [LinesSupport, TraceSupport]
    assert "check 'bad_address' holds on the base: a bad address is refused" in holds.text
    assert lost.text.startswith("desk['ship_to'] is read at shop/desk.py:8, but nothing writes that key")
    assert [type(support) for support in lost.supports][:2] == [LinesSupport, OccurrencesSupport]
    contract = make_contract(LOST)
    verifier = ObservationVerifier(contract, bench, bench.workspace.base, {}, result.claims)
    assert [verifier.objection(claim) for claim in result.claims] == ["", "", ""]


def test_failing_tests_are_located(shared_bench: Bench) -> None:
    result = investigate(shared_bench, BY_TESTS)
    (located,) = result.claims
    assert located.subject == "location"
    assert "shop/basket.py" in located.text
    assert result.data["test"] == RED
    assert any(suspect["path"] == "shop/basket.py" and suspect["line"] == 8 for suspect in result.data["suspects"])


def test_an_example_that_does_not_fail_is_said_so(shared_bench: Bench) -> None:
    result = investigate(shared_bench, BY_EXAMPLE.replace("expected: 480", "expected: 520"))
    (located,) = result.claims
    assert located.value == "none"
    assert "does not fail" in located.text
    assert isinstance(located.supports[0], OutcomeSupport)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("order: {voucher: 50}", "absent", "has no field 'voucher' (tests/conftest.py:4-6)"),
        ("order: {prices: [1]}", "present", "carries the field 'prices'"),
        ("number: {voucher: 50}", "no_mapping", "is no mapping"),
        ("nobody: {voucher: 50}", "no_fixture", "cannot be used"),
    ],
)
def test_the_set_up_is_asked(shared_bench: Bench, field: str, value: str, words: str) -> None:
    text = WITH_SET_UP.replace("order: {voucher: 50}", field).replace("      also: [{order: {voucher: 0}}]\n", "")
    claim = investigate(shared_bench, text).claims[-1]
    name, _, rest = field.partition(":")
    assert claim.subject == f"setup.{name}.{rest.split(':')[0].strip(' {')}"
    assert claim.value == value
    assert words in claim.text


def test_a_broken_environment_is_no_finding(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, {**SHOP, "tests/conftest.py": "import a_package_that_is_not_installed\n"})
    result = investigate(bench, BY_TESTS)
    assert (result.ok, result.environment) == (False, True)
    assert "a_package_that_is_not_installed" in result.summary


def test_what_shall_turn_green() -> None:
    assert target_ids(make_contract(BY_TESTS)) == (RED,)
    assert target_ids(make_contract(BY_EXAMPLE)) == ()
    named = "goal: g\nsuccess:\n  other: {verifier: verify_named_tests, tests: [a, b]}\n"
    assert target_ids(make_contract(named)) == ("a", "b")
