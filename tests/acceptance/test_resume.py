"""``resume``: an interrupted run goes on to the verdict and the patch of one that nobody disturbed."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest

from .conftest import FAILING, FIXED, CommandLine, command_line, git, shop
from .kills import killed

KILLS = int(os.environ.get("PLANEXEC_KILLS", "4"))
SEED = int(os.environ.get("PLANEXEC_SEED", "0")) or random.SystemRandom().randrange(1, 1_000_000)
CONTRACT = f"""
goal: Totals count the shipping
success:
  works: {{verifier: verify_named_tests, acceptance: [judged.py]}}
  reproduction: {{tests: [{FAILING}], runs: 1}}
"""
JUDGED = "from shop.basket import total\n\n\ndef test_judged():\n    assert total([2, 3], 4) == 9\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return shop(tmp_path / "work")


def until(told: IO[bytes], event: str, **fields: Any) -> None:
    """Read events up to one of this kind with these fields."""
    for line in told:
        found = json.loads(line)
        if found["event"] == event and fields.items() <= found.items():
            return
    raise AssertionError(f"no {event} with {fields}")


def test_a_killed_run_goes_on_where_it_was(planexec: CommandLine, tree: Path) -> None:
    with killed(planexec, tree, "fix", FAILING, "--events") as told:
        until(told, "observation_recorded", step="patch")
    shown = planexec("status", cwd=tree)
    assert "planexec resume" in shown.out
    for command in ("diff", "apply"):
        planexec(command, cwd=tree).refused(2, "is interrupted, so it has no proven patch", "planexec resume")
    done = planexec("resume", "--events", cwd=tree)
    assert done.code == 0, done.err
    events = [json.loads(line) for line in done.out.splitlines()]
    assert [each["event"] for each in events][:2] == ["run_resumed", "step_recovered"]
    again = [each["step"] for each in events if each["event"] == "step_started"]
    assert again == ["patch", "verify"], "what was completed is not done again"
    assert {each["run_id"] for each in events} == {events[0]["run_id"]} != {""}
    assert FIXED in (tree / "shop" / "basket.py").read_text(), "it was to be applied, and is"
    planexec("resume", cwd=tree).refused(2, "is succeeded", "nothing is to be resumed")


@pytest.mark.slow
def test_an_interrupted_run_needs_neither_its_copies_nor_its_contract(planexec: CommandLine, tree: Path) -> None:
    """After a signal the copies are gone; the contract and its hidden test are those that the run began with."""
    beside = tree.parent / "beside"
    beside.mkdir()
    (beside / "contract.yaml").write_text(CONTRACT)
    (beside / "judged.py").write_text(JUDGED)
    process = planexec.started("run", beside / "contract.yaml", "--dry-run", "--events", cwd=tree)
    assert process.stdout is not None
    until(process.stdout, "step_completed", step="reproduce")
    process.send_signal(signal.SIGTERM)
    process.stdout.read()
    process.stdout.close()
    assert process.wait(60) == 143
    assert [*(planexec.cache / "planexec" / "runs").iterdir()] == []
    shutil.rmtree(beside)
    done = planexec("resume", "--json", cwd=tree)
    assert done.code == 0, done.err
    assert done.document["status"] == "succeeded"
    assert {name: check["status"] for name, check in done.document["checks"].items()} == {
        "works": "passed",
        "reproduction": "passed",
    }
    assert FIXED in done.document["diff"]["patch"]
    planexec("apply", cwd=tree).refused(2, "dry-run")


def test_what_cannot_be_resumed_is_said(planexec: CommandLine, tree: Path) -> None:
    planexec("resume", cwd=tree).refused(2, "no run in this repository yet")
    process = planexec.started("fix", FAILING, "--events", cwd=tree)
    assert process.stdout is not None
    until(process.stdout, "step_started", step="inspect")
    planexec("resume", cwd=tree).refused(2, "another process works on run")
    process.send_signal(signal.SIGTERM)
    process.stdout.read()
    process.stdout.close()
    process.wait(60)
    git(tree, "commit", "--quiet", "--allow-empty", "--message", "later")
    planexec("resume", cwd=tree).refused(3, "began on commit", "start a new run")
    planexec("resume", "nothing-like-it", cwd=tree).refused(2, "there is no run 'nothing-like-it'")


@dataclass(frozen=True)
class Undisturbed:
    """What an undisturbed run says in the end, and how many events it has."""

    document: dict[str, Any]
    events: int


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    folder = tmp_path_factory.mktemp("undisturbed")
    planexec, tree = command_line(folder), shop(folder / "work")
    told = planexec("fix", FAILING, "--no-apply", "--events", cwd=tree)
    assert told.code == 0, told.err
    return Undisturbed(planexec("status", "--json", cwd=tree).document, len(told.out.splitlines()))


@pytest.mark.slow
@pytest.mark.parametrize("number", range(KILLS))
def test_killed_again_and_again_it_ends_the_same(undisturbed: Undisturbed, tmp_path: Path, number: int) -> None:
    dice = random.Random(f"{SEED}/{number}")
    planexec, tree = command_line(tmp_path), shop(tmp_path / "work")
    command: tuple[str, ...] = ("fix", FAILING, "--no-apply", "--events")
    for _ in range(2):
        with killed(planexec, tree, *command) as told:
            for _, _ in zip(range(dice.randint(1, undisturbed.events // 2)), told, strict=False):
                pass
        command = ("resume", "--events")
    done = planexec("resume", "--json", cwd=tree)
    assert done.code == 0, f"PLANEXEC_SEED={SEED}: {done.err}"
    wanted = undisturbed.document
    assert done.document["diff"] == wanted["diff"]
    assert [step["status"] for step in done.document["steps"]] == [step["status"] for step in wanted["steps"]]
    verdicts = {name: check["status"] for name, check in wanted["checks"].items()}
    assert {name: check["status"] for name, check in done.document["checks"].items()} == verdicts
