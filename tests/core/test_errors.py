from __future__ import annotations

import pytest

from planexec.core import errors


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (errors.PlanexecError, 1), (errors.UsageError, 2), (errors.ContractError, 2), (errors.ConflictError, 3),
        (errors.EnvironmentFailure, 5), (errors.JournalError, 5), (errors.SafetyViolation, 6),
    ],
)  # fmt: skip
def test_exit_codes(kind: type[errors.PlanexecError], code: int) -> None:
    error = kind("what is wrong", "what to do")
    assert (error.exit_code, error.message, error.hint, str(error)) == (
        code,
        "what is wrong",
        "what to do",
        "what is wrong",
    )


def test_a_contract_error_says_where() -> None:
    assert errors.ContractError("odd", path="c.yaml", line=3, column=7).message == "c.yaml:3:7: odd"
    assert errors.ContractError("odd", path="c.yaml").message == "c.yaml: odd"
    assert errors.ContractError("odd").message == "odd"
