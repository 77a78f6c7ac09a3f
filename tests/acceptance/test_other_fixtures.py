"""The two other fixtures, each with the contract of its name: another assumption of the first plan breaks in each."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

from .conftest import PROJECT, Shown, command_line, commit, copied, git, one, ran_once

# Continuous integration sees both succeed as dry-runs; these look at how.
pytestmark = pytest.mark.slow

RATES, LOG = PROJECT / "fixtures" / "parcel_rates", PROJECT / "fixtures" / "work_log"


@pytest.fixture(scope="session")
def rates(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    return ran_once(tmp_path_factory, RATES)


@pytest.fixture(scope="session")
def log(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    return ran_once(tmp_path_factory, LOG)


def proved(document: dict[str, Any], *checks: str) -> None:
    assert (document["status"], document["reason"]) == ("succeeded", "proved")
    assert (document["revision"], document["replans_left"], document["metrics"]["replans"]) == (2, 1, 1)
    assert {name: check["status"] for name, check in document["checks"].items()} == dict.fromkeys(checks, "passed")
    assert document["revisions"][1]["preserved"] == ["inspect", "reproduce"]
    assert document["diff"]["removed"] == 1


def source_change(document: dict[str, Any]) -> list[str]:
    """The lines of the source that the patch takes away and adds."""
    parts = [part for part in document["diff"]["patch"].split("diff --git ") if part and "/tests/" not in part[:60]]
    (source,) = parts
    return [line for line in source.splitlines()[1:] if line[:1] in "-+" and line[:3] not in {"---", "+++"}]


def test_the_fault_lies_where_no_test_runs_a_line(rates: Shown) -> None:
    assert rates.done.code == 0, rates.done.err
    document = rates.document
    proved(document, "reproduction", "price_list", "tests", "diff_scope")
    assert source_change(document) == [
        "-        heavy = Decimal(limit) > HEAVY",
        "+        heavy = Decimal(limit) >= HEAVY",
    ]
    near = one(document["facts"], subject="search.suspicious")
    assert near["value"] == "no_survivor" and "(all of them)" in near["claim"]
    wider = one(document["steps"], id="wider-patch")
    assert wider["status"] == "completed"
    assert wider["preconditions"] == [{"predicate": "fact_is", "subject": "search.suspicious", "value": "no_survivor"}]
    assert near["claim"] in document["revisions"][1]["reason"]
    assert document["revisions"][1]["superseded"] == ["patch", "verify"]


def test_the_first_patch_breaks_what_runs_in_another_process(log: Shown) -> None:
    assert log.done.code == 0, log.done.err
    document = log.document
    proved(document, "reproduction", "every_month", "tests", "diff_scope")
    removed, added = source_change(document)
    assert removed[1:].replace("length - 1", "length") == added[1:]
    lineage = document["revisions"][1]
    assert "tests/test_command.py::CommandTest::test_a_week_is_monday_to_sunday" in lineage["reason"]
    assert lineage["new"] == ["patch-2", "verify-2"]
    first, second = one(document["steps"], id="patch"), one(document["steps"], id="patch-2")
    assert (first["status"], second["status"]) == ("superseded", "completed")
    assert first["evidence"][0]["status"] == "passed"  # it had turned the failing test green
    assert second["predicates"] == [*first["predicates"], {"predicate": "check_passed", "check": "tests"}]
    verify = one(document["steps"], id="verify")
    assert (verify["failure"]["cause"], verify["failure"]["code"]) == ("side_effect", "CHECK_FAILED")


def test_the_regression_test_runs_without_pytest(log: Shown, tmp_path: Path) -> None:
    repository = commit(copied(tmp_path / "clean", LOG))
    (tmp_path / "the.patch").write_text(log.document["diff"]["patch"])
    git(repository, "apply", str(tmp_path / "the.patch"))
    command = [sys.executable, "-S", "-m", "unittest", "tests.test_month_end", "tests.test_command"]
    assert subprocess.run(command, cwd=repository, capture_output=True, check=False).returncode == 0
    git(repository, "checkout", "--", "worklog")
    assert subprocess.run(command, cwd=repository, capture_output=True, check=False).returncode == 1


def test_a_project_without_pytest_of_its_own(tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", symlinks=True)
    planexec = command_line(tmp_path)
    python = tmp_path / "bare" / "bin" / "python"
    contract = PROJECT / "contracts" / "work-log.yaml"
    done = planexec("run", "--fixture", LOG, contract, "--json", "--python", python)
    assert done.code == 0, done.err
    proved(done.document, "reproduction", "every_month", "tests", "diff_scope")


def test_without_a_replan_the_first_plan_runs_every_test_itself(tmp_path: Path) -> None:
    planexec = command_line(tmp_path)
    contracts = tmp_path / "contracts"
    shutil.copytree(PROJECT / "contracts", contracts)
    contract = contracts / "work-log.yaml"
    contract.write_text(contract.read_text().replace("replan_budget: 2", "replan_budget: 0"))
    done = planexec("run", "--fixture", LOG, contract, "--json")
    assert (done.code, done.document["revision"]) == (0, 1), done.err
    assert "+    return Period(first, first + timedelta(days=length), " in done.document["diff"]["patch"]
