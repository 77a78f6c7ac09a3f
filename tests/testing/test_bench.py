from __future__ import annotations

from pathlib import Path

import pytest

from planexec.core.errors import ConflictError
from planexec.sandbox.interface import Layered
from planexec.testing.bench import Bench, select

from ..projects import FAULT, FIX, RED, SHOP, candidate, edit, make_bench

SLOW = """
import time


def test_slow():
    time.sleep(5)


def test_quick():
    pass
"""


def test_a_clean_tree_has_the_changes_and_the_host_s_files(bench: Bench) -> None:
    edit(bench, "shop/basket.py", FAULT, FIX)
    extra = {"tests/test_more.py": b"x = 1"}
    with (
        bench.whole_tree(candidate(bench).changes, extra) as whole,
        bench.tree(candidate(bench).changes, extra) as tree,
    ):
        assert isinstance(tree, Layered) and tree.over == bench.workspace.pristine
        for folder in (whole, tree.folder):
            assert FIX in (folder / "shop/basket.py").read_text()
            assert (folder / "tests/test_more.py").read_bytes() == b"x = 1"
        shown = [
            bench.harness.command(each, ("ls", "-R", "shop", "tests"), seconds=30).stdout for each in (whole, tree)
        ]
        assert shown[0] == shown[1] and b"test_more.py" in shown[0]
    assert not whole.exists() and not tree.folder.exists()
    for make in (bench.tree, bench.whole_tree):
        with pytest.raises(ConflictError, match="exists already"), make((), {"shop/basket.py": b""}):
            pass


def test_the_base_is_run_twice_and_once_for_all(shared_bench: Bench) -> None:
    first, second = shared_bench.baseline()
    assert first is not second and first.outcomes.keys() == second.outcomes.keys()
    assert shared_bench.baseline()[0] is first
    assert shared_bench.failed_before(RED) and not shared_bench.failed_before("tests/test_basket.py::test_total")


def test_what_an_id_stands_for(shared_bench: Bench) -> None:
    first, _ = shared_bench.baseline()
    assert [each.id for each in select(first, RED)] == [RED]
    assert len(select(first, "tests/test_basket.py")) == len(select(first, "tests")) == 4
    assert select(first, "tests/test_basket.py::test_tot") == []


def test_companions_are_near_and_quick(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, {**SHOP, "tests/test_a_slow.py": SLOW})
    found = bench.companions([RED])
    assert found[0].startswith("tests/test_basket.py::")
    assert "tests/test_a_slow.py::test_quick" in found
    assert RED not in found and "tests/test_a_slow.py::test_slow" not in found
    trace = bench.trace_among((), [RED])
    assert set(trace.lines) == {RED, *found}


def test_where_companions_are_too_slow_the_failing_test_is_traced_alone(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, {**SHOP, "tests/test_a_slow.py": SLOW})
    bench.baseline()
    bench.companions = lambda failing: ["tests/test_a_slow.py::test_slow"]  # type: ignore[method-assign]
    bench.suite_seconds = 3.0
    trace = bench.trace_among((), [RED])
    assert not trace.report.timed_out
    assert list(trace.lines) == [RED]
