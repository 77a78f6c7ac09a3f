from __future__ import annotations

import pytest

from planexec.core.contract import Contract
from planexec.testing.bench import Bench
from planexec.verifiers.command import verify_command
from planexec.verifiers.interface import ERROR, FAILED, PASSED

from ..projects import BY_TESTS, FAULT, FIX, edit, make_contract, request

SHOWS = "import shop.basket as b; print('total', b.total([5], 2))"


def contract(arguments: str) -> Contract:
    text = BY_TESTS.replace("  tests: everything", "  other: it holds\n  tests: everything")
    return make_contract(text + f"verifiers:\n  verify_other: {arguments}\n")


def test_it_runs_on_the_candidate(bench: Bench) -> None:
    shows = contract(f'{{command: [python, -c, "{SHOWS}"], output: "total 3"}}')
    before = verify_command(request(bench, shows, "other"))
    assert before.status == FAILED
    assert "did not print 'total 3'" in before.summary
    edit(bench, "shop/basket.py", FAULT, FIX)
    after = verify_command(request(bench, shows, "other"))
    assert after.status == PASSED
    assert after.detail["output"] == "total 3\n"


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ('{command: [python, -c, "raise SystemExit(3)"], exit_code: 3}', PASSED),
        ('{command: [python, -c, "raise SystemExit(3)"]}', FAILED),
        ("{command: python -c 'pass'}", PASSED),
        ("{command: [no-such-program]}", ERROR),
    ],
)
def test_exit_codes(shared_bench: Bench, arguments: str, status: str) -> None:
    assert verify_command(request(shared_bench, contract(arguments), "other")).status == status


def test_it_ends_in_time(bench: Bench) -> None:
    bench.suite_seconds = 1.0
    verdict = verify_command(request(bench, contract('{command: [sleep, "30"]}'), "other"))
    assert (verdict.status, verdict.code) == (ERROR, "TIMEOUT")
