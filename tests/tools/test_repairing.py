from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from planexec.core.events import RecordSupport
from planexec.core.state import RunState
from planexec.testing.bench import Bench
from planexec.tools.interface import ToolResult
from planexec.tools.repairing import Repair, RepairArguments

from ..projects import BY_TESTS, FAULT, FIX, SHOP, make_bench, make_contract, step, workbench

UNREACHABLE = """
    from shop.basket import total


    def test_more():
        assert total([1]) == "a text that no edit makes"
"""


def repair(bench: Bench, text: str = BY_TESTS, state: RunState | None = None) -> ToolResult:
    return Repair().run(RepairArguments(), workbench(bench, make_contract(text), step("repair"), state))


def test_survivors_are_stored_contents(bench: Bench) -> None:
    result = repair(bench)
    assert result.ok and not result.claims
    best = result.data["survivors"][0]
    assert best["path"] == "shop/basket.py"
    fixed = bench.store.get(best["content"]).decode()
    assert fixed == (bench.workspace.pristine / "shop/basket.py").read_text().replace(FAULT, FIX)
    assert (bench.workspace.scratch / "shop/basket.py").read_text().count(FAULT) == 1  # a search changes nothing


def test_another_survivor_comes_from_the_search_before(bench: Bench) -> None:
    tool, contract = Repair(), make_contract(BY_TESTS)
    first = tool.run(RepairArguments(), workbench(bench, contract, step("repair")))
    refuted = RunState(refuted=tuple(each["content"] for each in first.data["survivors"]))
    again = tool.run(RepairArguments(), workbench(bench, contract, step("repair"), refuted))
    assert first.data["surviving"] and first.data["ended"] == "exhausted"
    assert (again.data["survivors"], again.data["surviving"], again.data["disagreeing"]) == ([], 0, 0)
    assert again.data["reused"] and again.data["seconds"] == 0.0
    assert again.data["tried"] == first.data["tried"]
    assert "by the search before" in again.summary


@pytest.mark.parametrize("by", ["replan", "undo"])
def test_what_does_not_stand_is_passed_over_by_the_next_search(bench: Bench, by: str) -> None:
    tool, contract = Repair(), make_contract(BY_TESTS)
    first = tool.run(RepairArguments(), workbench(bench, contract, step("repair")))
    known = frozenset(each["content"] for each in first.data["survivors"])
    bare = workbench(bench, contract, step("repair"), RunState(refuted=tuple(known) if by == "replan" else ()))
    bare = replace(bare, given_up=lambda: known) if by == "undo" else bare
    wide = tool.run(RepairArguments(reach="wide"), bare)
    assert not {each["content"] for each in wide.data["survivors"]} & known
    assert "reused" not in wide.data


def test_nothing_found_is_a_claim_with_a_record(tmp_path: Path) -> None:
    files = {
        **SHOP,
        "tests/test_more.py": UNREACHABLE,
    }
    bench = make_bench(tmp_path, files)
    text = BY_TESTS.replace("tests/test_basket.py::test_discount", "tests/test_more.py::test_more")
    result = repair(bench, text.replace("repair_seconds: 60", "repair_seconds: 20, repair_candidates: 40"))
    assert result.ok
    (claim,) = result.claims
    assert (claim.subject, claim.value) == ("search.suspicious", "no_survivor")
    assert claim.supports == (RecordSupport("obs-x-1", "outcome", "no_survivor"),)
    assert result.data["tried"] > 0
    assert result.data["suspects"][0]["text"]


def test_when_the_time_is_used_up_no_search_begins(shared_bench: Bench) -> None:
    bench = workbench(
        shared_bench, make_contract(BY_TESTS), step("repair"), RunState(settings={"repair_seconds": "90"})
    )
    result = Repair().run(RepairArguments(reach="wide"), replace(bench, searched=lambda: 90.0))
    assert result.ok
    assert result.summary == "the wide search was not begun: the 90 s for searching are used up"
    (claim,) = result.claims
    assert (claim.subject, claim.value) == ("search.wide", "no_survivor")
    assert (result.data["outcome"], result.data["survivors"]) == ("no_survivor", [])


def test_what_is_out_of_scope_is_not_edited(bench: Bench) -> None:
    result = repair(bench, BY_TESTS + "scope: {deny: [shop/basket.py]}\n")
    assert result.data["survivors"] == []


def test_nothing_red_is_nothing_to_search_for(shared_bench: Bench) -> None:
    result = repair(shared_bench, BY_TESTS.replace("test_discount", "test_total"))
    assert (result.ok, result.code) == (False, "NOT_RED")
