from __future__ import annotations

from planexec.core.contract import Contract
from planexec.testing.bench import Bench
from planexec.verifiers.interface import ERROR, FAILED, PASSED
from planexec.verifiers.named import acceptance, verify_named_tests, visible_tests
from planexec.verifiers.registry import Registry

from ..projects import BY_TESTS, FAULT, FIX, edit, make_contract, request

HIDDEN = b"from shop.basket import total\n\n\ndef test_hidden(number):\n    assert total([number], 2) == 5\n"


def contract(arguments: str) -> Contract:
    text = BY_TESTS.replace("  tests: everything", "  other: it holds\n  tests: everything")
    return make_contract(text + f"verifiers:\n  verify_other: {arguments}\n", {"hidden/test_hidden.py": HIDDEN})


def test_tests_of_the_repository(bench: Bench) -> None:
    named = contract('{tests: ["tests/test_basket.py::test_total", "tests/test_basket.py::test_empty"]}')
    verdict = verify_named_tests(request(bench, named, "other"))
    assert (verdict.status, verdict.summary) == (PASSED, "2 tests pass on the candidate")


def test_a_red_one_and_a_missing_one(shared_bench: Bench) -> None:
    red = contract('{tests: ["tests/test_basket.py"]}')
    verdict = verify_named_tests(request(shared_bench, red, "other"))
    assert verdict.status == FAILED
    assert "test_discount" in verdict.summary and "550" in verdict.summary
    missing = contract('{tests: ["tests/test_basket.py::test_nothing"]}')
    assert verify_named_tests(request(shared_bench, missing, "other")).code == "NO_TEST"


def test_host_supplied_tests_use_the_project_s_fixtures(bench: Bench) -> None:
    """They are laid into the clean tree for one judgement and never into the scratch copy."""
    hidden = contract("{acceptance: hidden/test_hidden.py}")
    assert verify_named_tests(request(bench, hidden, "other")).status == FAILED
    edit(bench, "shop/basket.py", FAULT, FIX)
    verdict = verify_named_tests(request(bench, hidden, "other"))
    assert verdict.status == PASSED
    assert verdict.detail["host_supplied"] == ["tests/test_hidden.py"]
    assert not list(bench.workspace.scratch.rglob("test_hidden.py"))


def test_where_they_are_laid(shared_bench: Bench) -> None:
    entries = shared_bench.workspace.base.entries
    placed = contract("{acceptance: hidden/test_hidden.py, at: shop/test_here.py}")
    assert list(acceptance(placed, placed.checks["other"], entries)) == ["shop/test_here.py"]
    assert visible_tests(placed, entries) == {}
    shown = contract("{acceptance: hidden/test_hidden.py, visible: true}")
    assert visible_tests(shown, entries) == {"tests/test_hidden.py": HIDDEN}
    assert list(acceptance(shown, shown.checks["other"], ["src/x.py"])) == ["test_hidden.py"]


def test_a_place_that_is_taken_is_an_error(shared_bench: Bench) -> None:
    taken = contract("{acceptance: hidden/test_hidden.py, at: tests/test_basket.py}")
    evidence = Registry.of(taken).judge(request(shared_bench, taken, "other"))
    assert evidence.status == ERROR
    assert "tests/test_basket.py" in evidence.summary


def test_tests_that_cannot_be_collected(bench: Bench) -> None:
    broken = make_contract(
        BY_TESTS.replace("  tests: everything", "  other: it holds\n  tests: everything")
        + "verifiers:\n  verify_other: {acceptance: test_broken.py}\n",
        {"test_broken.py": b"from shop.basket import no_such_name\n"},
    )
    verdict = verify_named_tests(request(bench, broken, "other"))
    assert verdict.status == FAILED
    assert "no_such_name" in verdict.summary
