from __future__ import annotations

from pathlib import Path

from planexec.core.state import Frozen
from planexec.testing.bench import Bench
from planexec.verifiers.interface import ERROR, FAILED, INCONCLUSIVE, PASSED
from planexec.verifiers.related import related_files, selection, verify_related_tests

from ..projects import BY_TESTS, FAULT, FIX, RED, SHOP, candidate, edit, make_bench, make_contract, request


def test_what_passed_before_passes(bench: Bench) -> None:
    edit(bench, "shop/basket.py", FAULT, FIX)
    verdict = verify_related_tests(request(bench, make_contract(), "tests"))
    assert verdict.status == PASSED
    assert verdict.summary == "4 tests pass as before"
    assert verdict.detail["failed_before"] == []  # the reproduction itself does not count


def test_what_breaks_is_named(bench: Bench) -> None:
    edit(bench, "shop/basket.py", "return min(prices)", "return max(prices)")
    verdict = verify_related_tests(request(bench, make_contract(), "tests"))
    assert verdict.status == FAILED
    assert "test_cheapest" in verdict.summary
    assert verdict.detail["broken"] == {"tests/test_basket.py::test_cheapest": "failed"}


def test_a_skipped_or_vanished_test_counts_as_broken(bench: Bench) -> None:
    edit(
        bench,
        "shop/basket.py",
        "def cheapest(prices):\n",
        "import pytest\n\n\ndef cheapest(prices):\n    pytest.skip('no')\n",
    )
    verdict = verify_related_tests(request(bench, make_contract(), "tests"))
    assert verdict.status == FAILED


def test_a_module_that_cannot_be_imported(bench: Bench) -> None:
    edit(bench, "shop/basket.py", "def cheapest", "raise RuntimeError('at import')\n\n\ndef cheapest")
    verdict = verify_related_tests(request(bench, make_contract(), "tests"))
    assert verdict.status == FAILED
    assert "tests/test_basket.py" in verdict.summary


def test_a_failing_regression_test_fails(bench: Bench) -> None:
    edit(bench, "tests/test_new.py", "", "def test_new():\n    assert 0\n")
    frozen = Frozen({"tests/test_new.py": "0"}, ("tests/test_new.py::test_new",))
    verdict = verify_related_tests(request(bench, make_contract(), "tests", frozen))
    assert verdict.status == FAILED
    assert "test_new" in verdict.summary


def test_what_disagrees_with_itself_on_the_base_is_quarantined(tmp_path: Path) -> None:
    """The seed of hashes is fixed, so this coin needs the kernel's."""
    coin = "import os\n\n\ndef test_coin():\n    assert os.urandom(1)[0] % 2\n"
    many = "\n\n".join(f"def test_coin_{n}():\n    assert os.urandom(1)[0] % 2" for n in range(8))
    bench = make_bench(tmp_path, {**SHOP, "tests/test_coin.py": coin + "\n\n" + many + "\n"})
    edit(bench, "shop/basket.py", FAULT, FIX)
    verdict = verify_related_tests(request(bench, make_contract(), "tests"))
    first, second = bench.baseline()
    disagreeing = {n for n in first.outcomes if first.outcomes[n].status != second.outcomes[n].status}
    assert set(verdict.detail["quarantined"]) == disagreeing
    assert verdict.status in {PASSED, INCONCLUSIVE, FAILED}
    assert not disagreeing & set(verdict.detail["broken"])


def test_named_tests_narrow_it(bench: Bench) -> None:
    edit(bench, "shop/basket.py", "return min(prices)", "return max(prices)")
    text = BY_TESTS.replace(
        "tests: everything else still passes", 'tests: {tests: ["tests/test_basket.py::test_total"]}'
    )
    verdict = verify_related_tests(request(bench, make_contract(text), "tests"))
    assert verdict.status == PASSED
    assert verdict.detail["selection"] == ["tests/test_basket.py::test_total"]


def test_nothing_that_passes_shows_nothing(bench: Bench) -> None:
    text = BY_TESTS.replace("tests: everything else still passes", f'tests: {{tests: ["{RED}"]}}')
    assert verify_related_tests(request(bench, make_contract(text), "tests")).status == FAILED


def test_related_files_name_the_changed_module(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, {**SHOP, "tests/test_other.py": "def test_other():\n    pass\n"})
    assert related_files(candidate(bench), bench) == []
    edit(bench, "shop/basket.py", FAULT, FIX)
    assert related_files(candidate(bench), bench) == ["tests/test_basket.py"]
    assert selection(candidate(bench), bench) == ()  # the suite is short: everything


def test_a_suite_that_takes_too_long_is_narrowed(tmp_path: Path) -> None:
    slow = "import time\n\n\ndef test_slow():\n    time.sleep(60)\n"
    bench = make_bench(tmp_path, {**SHOP, "tests/test_slow.py": slow}, suite_seconds=6.0)
    edit(bench, "shop/basket.py", FAULT, FIX)
    verdict = verify_related_tests(request(bench, make_contract(), "tests"))
    assert verdict.status == PASSED
    assert verdict.detail["selection"] == ["tests/test_basket.py"]


def test_scripts_among_the_tests_are_no_tests(tmp_path: Path) -> None:
    """What the project's own run does not collect is not run by name either: at import it may do anything."""
    script = "import shop.basket, sys\nsys.exit(3)\n"
    slow = "import time\n\n\ndef test_slow():\n    time.sleep(60)\n"
    files = {**SHOP, "tests/test_slow.py": slow, "tests/tools/basket_server.py": script}
    bench = make_bench(tmp_path, files, suite_seconds=6.0)
    edit(bench, "shop/basket.py", FAULT, FIX)
    assert related_files(candidate(bench), bench) == ["tests/test_basket.py"]
    assert verify_related_tests(request(bench, make_contract(), "tests")).status == PASSED


def test_a_suite_of_which_nothing_passes_anyway_is_no_fault_of_the_patch(tmp_path: Path) -> None:
    files = {**SHOP, "tests/test_basket.py": "from shop.basket import total\n\n\ndef test_a(): assert total([]) == 1\n"}
    bench = make_bench(tmp_path, files)
    edit(bench, "shop/basket.py", FAULT, FIX)
    verdict = verify_related_tests(request(bench, make_contract(), "tests"))
    assert (verdict.status, verdict.code) == (ERROR, "NOTHING_PASSES")
    assert "no test of the suite passes on the base" in verdict.summary and "tests: {verifier:" in verdict.summary
