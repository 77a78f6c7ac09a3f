from __future__ import annotations

import pytest

from planexec.assembly.driving import Ended
from planexec.core.state import RunState


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (RunState(status="succeeded"), 0),
        (RunState(status="failed", reason="unsatisfiable"), 1),
        (RunState(status="failed", reason="safety"), 6),
        (RunState(status="blocked"), 3),
        (RunState(status="blocked", environment=True), 5),
        (RunState(status="waiting"), 4),
    ],
)
def test_the_exit_code_is_the_verdict(state: RunState, code: int) -> None:
    assert Ended(state, {}, "").exit_code == code
    assert Ended(state, {}, "it moved on").exit_code == 3
