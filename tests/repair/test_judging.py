from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence

import pytest

from planexec.repair.judging import OracleJudge

BASE = {"a.py": b"answer = 1\n", "b.py": b"other = 2\n"}


def oracle(files: Mapping[str, bytes], ids: Sequence[str]) -> list[str]:
    values: dict[str, object] = {}
    for content in files.values():
        exec(content, values)
    return [test for test in ids if not eval(test, values)]


@pytest.mark.parametrize(
    ("content", "outcome"),
    [
        (b"answer = 3\n", "passed"),
        (b"answer = 4\n", "failed"),
        (b"raise OSError('no')\n", "error"),
        (b"raise SystemExit(0)\n", "error"),
        (b"import os; os._exit(0)\n", "crashed"),
        (b"import os, signal; os.kill(os.getpid(), signal.SIGKILL)\n", "crashed"),
        (b"x = bytearray(1 << 34)\n", "error"),
    ],
)
def test_outcomes(content: bytes, outcome: str) -> None:
    found = OracleJudge(BASE, oracle).judge({"a.py": content}, ["answer == 3", "other == 2"], seconds=10)
    assert found.outcome == outcome
    assert found.failing == (["answer == 3"] if outcome == "failed" else [])
    if outcome == "error":
        assert found.detail


def test_a_hang_is_ended() -> None:
    started = time.monotonic()
    assert OracleJudge(BASE, oracle).judge({"a.py": b"while True: pass\n"}, ["1"], seconds=0.3).outcome == "timeout"
    assert time.monotonic() - started < 5


def test_the_parent_and_the_base_are_untouched() -> None:
    judge = OracleJudge(BASE, oracle)
    content = b"import sys, os\nsys.planted = 1\nos.environ['PLANTED'] = '1'\nprint('noise')\nanswer = 3\n"
    assert judge.judge({"a.py": content}, ["answer == 3"], seconds=10).outcome == "passed"
    assert not hasattr(sys, "planted")
    assert "PLANTED" not in os.environ
    assert judge.judge({}, ["answer == 1"], seconds=10).outcome == "passed"


def test_the_answer_of_the_child() -> None:
    judge = OracleJudge(BASE, oracle)
    assert judge.answer(BASE, ["answer == 1"]) == "passed\n"
    assert judge.answer(BASE, ["answer == 2", "other == 3"]) == "failed\nanswer == 2\nother == 3"
    assert judge.answer({"a.py": b"raise SystemExit('bye')"}, []) == "error\nSystemExit: bye"
