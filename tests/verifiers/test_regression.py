from __future__ import annotations

from pathlib import Path

from planexec.core.state import Frozen
from planexec.testing.bench import Bench
from planexec.verifiers.interface import ERROR, FAILED, PASSED
from planexec.verifiers.regression import green_on_candidate, red_on_base, verify_regression_red

from ..projects import BY_EXAMPLE, BY_TESTS, FAULT, FIX, RED, SHOP, candidate, edit, make_bench, make_contract, request


def test_red_then_green_then_red_again(bench: Bench) -> None:
    edit(bench, "shop/basket.py", FAULT, FIX)
    verdict = verify_regression_red(request(bench, make_contract(), "reproduction"))
    assert verdict.status == PASSED
    assert "red on the base 2 of 2 times" in verdict.summary
    assert "assert 550 == 450" in verdict.summary
    assert verdict.summary.endswith("red again without the source change")
    assert verdict.detail["red"]["tests"][0]["id"] == RED


def test_a_candidate_that_changes_nothing_is_not_green(shared_bench: Bench) -> None:
    verdict = verify_regression_red(request(shared_bench, make_contract(), "reproduction"))
    assert verdict.status == FAILED
    assert RED in verdict.summary


def test_a_test_that_passes_is_not_red(shared_bench: Bench) -> None:
    contract = make_contract(BY_TESTS.replace("test_discount", "test_total"))
    verdict = red_on_base(request(shared_bench, contract, "reproduction"))
    assert (verdict.status, verdict.code) == (FAILED, "NOT_RED")
    assert verdict.summary.startswith("not red on the base: 'tests/test_basket.py::test_total' is passed")


def test_no_test_at_all(shared_bench: Bench) -> None:
    contract = make_contract(BY_TESTS.replace("test_discount", "test_nothing"))
    verdict = red_on_base(request(shared_bench, contract, "reproduction"))
    assert verdict.code == "NOT_RED"
    assert "there is no test" in verdict.summary


def test_an_example_without_its_test(shared_bench: Bench) -> None:
    verdict = red_on_base(request(shared_bench, make_contract(BY_EXAMPLE), "reproduction"))
    assert verdict.code == "NO_TEST"


def test_red_for_another_reason(bench: Bench) -> None:
    """The contract says which values the failure shows; other ones are another fault."""
    contract = make_contract(BY_TESTS.replace("runs: 2", "runs: 1, shows: {actual: 999}"))
    verdict = red_on_base(request(bench, contract, "reproduction"))
    assert (verdict.status, verdict.code) == (FAILED, "OTHER_RED")
    assert "999" in verdict.summary
    shown = make_contract(BY_TESTS.replace("runs: 2", "runs: 1, shows: {actual: 550, expected: 450}"))
    assert red_on_base(request(bench, shown, "reproduction")).status == PASSED


def test_a_failing_set_up_is_not_red(bench: Bench) -> None:
    fixture = "@pytest.fixture\ndef broken():\n    raise ValueError('set-up')\n"
    text = f"import pytest\n\n\n{fixture}\n\ndef test_new(broken):\n    assert 0\n"
    edit(bench, "tests/test_new.py", "", text)
    frozen = Frozen({"tests/test_new.py": "0"}, ("tests/test_new.py::test_new",))
    verdict = red_on_base(request(bench, make_contract(BY_EXAMPLE), "reproduction", frozen))
    assert verdict.status == FAILED
    assert "fails outside its body (setup)" in verdict.summary


def test_a_collection_error_is_not_red(bench: Bench) -> None:
    edit(bench, "tests/test_new.py", "", "import nothing_of_this_name\n\n\ndef test_new():\n    assert 0\n")
    frozen = Frozen({"tests/test_new.py": "0"}, ("tests/test_new.py::test_new",))
    verdict = red_on_base(request(bench, make_contract(BY_EXAMPLE), "reproduction", frozen))
    assert verdict.status in {FAILED, ERROR}
    assert "nothing_of_this_name" in verdict.summary


def test_an_exit_in_the_product_is_not_green(bench: Bench) -> None:
    edit(bench, "shop/basket.py", FAULT, "import os; os._exit(0)")
    verdict = green_on_candidate(request(bench, make_contract(), "reproduction"))
    assert verdict.status != PASSED


def test_a_missing_dependency_is_the_environment(tmp_path: Path) -> None:
    """A dependency that is not installed is told apart from a failing product (R26)."""
    files = {**SHOP, "tests/conftest.py": "import a_package_that_is_not_installed\n"}
    bench = make_bench(tmp_path, files)
    verdict = red_on_base(request(bench, make_contract(), "reproduction"))
    assert verdict.status == ERROR
    assert "a_package_that_is_not_installed" in verdict.summary


def test_candidate_splits_tests_from_source(bench: Bench) -> None:
    edit(bench, "shop/basket.py", FAULT, FIX)
    edit(bench, "tests/test_new.py", "", "def test_new():\n    pass\n")
    found = candidate(bench)
    assert [change.path for change in found.tests] == ["tests/test_new.py"]
    assert [change.path for change in found.source] == ["shop/basket.py"]
