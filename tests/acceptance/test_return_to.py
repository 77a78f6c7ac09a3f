"""A2: the first seed's worked example, from the contract to the proof, in one run of the command line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .conftest import CONTRACT, FIXTURE, Shown, commit, copied, git, one

CALLBACK = "accountsite/callback.py"
CHECKS = ["reproduction", "relative_return", "external_url", "tests", "diff_scope"]


@pytest.fixture
def document(shown: Shown) -> dict[str, Any]:
    return shown.document


def test_it_succeeds_with_one_json_document_alone_on_standard_output(shown: Shown) -> None:
    assert shown.done.code == 0, shown.done.err
    document, end = json.JSONDecoder().raw_decode(shown.done.out)
    assert shown.done.out[end:].strip() == ""
    assert (document["status"], document["reason"]) == ("succeeded", "proved")
    assert "Traceback" not in shown.done.err


def test_the_plan_was_revised_once(document: dict[str, Any]) -> None:
    assert (document["revision"], document["replans_left"], len(document["plan_history"])) == (2, 1, 1)
    assert [(each["number"], each["parent"], each["spent_budget"]) for each in document["revisions"]] == [
        (1, 0, False),
        (2, 1, True),
    ]


def test_every_check_passed_with_evidence(document: dict[str, Any]) -> None:
    assert list(document["checks"]) == CHECKS == list(document["required_checks"])
    for name, check in document["checks"].items():
        assert check["status"] == "passed"
        assert check["verifier"] == document["required_checks"][name] == check["evidence"]["verifier"]
        assert check["evidence"]["status"] == "passed"
        assert len(check["evidence"]["artifact"]) == 64


def test_the_inspection_is_kept_and_the_reproduction_superseded(document: dict[str, Any]) -> None:
    first = document["plan_history"][0]
    assert [step["id"] for step in first] == ["inspect", "reproduce", "patch", "verify"]
    assert one(first, id="inspect")["status"] == "completed"
    assert one(first, id="reproduce")["status"] != "completed"
    assert one(document["steps"], id="inspect")["status"] == "completed"
    assert one(document["steps"], id="inspect")["attempts"] == 1
    assert one(document["steps"], id="reproduce")["status"] == "superseded"
    lineage = document["revisions"][1]
    assert lineage["preserved"] == ["inspect"]
    assert lineage["superseded"][0] == "reproduce"
    assert lineage["new"] == ["extend-fixture", "red-test", "patch", "reject-external", "verify"]


def test_every_other_step_of_the_second_plan_is_completed(document: dict[str, Any]) -> None:
    statuses = {step["id"]: step["status"] for step in document["steps"] if step["id"] != "reproduce"}
    assert list(statuses) == ["inspect", *document["revisions"][1]["new"]]
    assert set(statuses.values()) == {"completed"}


def test_every_completed_step_has_action_observation_and_evidence(document: dict[str, Any]) -> None:
    completed = [step for step in document["steps"] if step["status"] == "completed"]
    seen = {each["id"]: each for each in document["observations"]}
    for step in completed:
        assert step["actions"] and step["observations"] and step["evidence"], step["id"]
        assert all(each["status"] == "passed" and each["id"] and each["artifact"] for each in step["evidence"])
        assert len(step["evidence"]) == len(step["predicates"])
        for observation in step["observations"]:
            assert seen[observation]["step_id"] == step["id"]
            assert seen[observation]["action"] in step["actions"]
    evidence = [each["id"] for step in completed for each in step["evidence"]]
    evidence += [check["evidence"]["id"] for check in document["checks"].values()]
    assert len(evidence) == len(set(evidence))


def test_there_are_the_four_facts_of_the_first_seed_each_with_evidence(document: dict[str, Any]) -> None:
    facts = document["facts"]
    assert len(facts) == 4
    seen = {each["id"] for each in document["observations"]}
    assert all(fact["evidence_ref"] in seen and fact["supports"] for fact in facts)
    stored, refused, lost, absent = (fact["claim"] for fact in facts)
    assert "'/settings'" in stored and "session['return_to']" in stored and f"entry.py:{_line('entry.py')}" in stored
    assert "external_url" in refused and "https://evil.example" in refused and "refused" in refused
    assert "session['next_path']" in lost and f"{CALLBACK}:{_line('callback.py')}" in lost and "'/'" in lost
    assert "login_query" in absent and "returnTo" in absent and "tests/conftest.py" in absent


def _line(name: str) -> int:
    """Where the module speaks of the key; counted here, so that the fixture may move."""
    lines = (FIXTURE / "accountsite" / name).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if re.search(r"return_to\"|next_path", line))


def test_the_fourth_fact_triggers_the_replan(document: dict[str, Any]) -> None:
    fourth, lineage = document["facts"][3], document["revisions"][1]
    assert fourth["id"] in lineage["evidence"]
    assert fourth["evidence_ref"] in lineage["evidence"]
    assert fourth["claim"] in lineage["reason"]
    needs = one(document["plan_history"][0], id="reproduce")["preconditions"]
    assert {"predicate": "fact_is", "subject": fourth["subject"], "value": "present"} in needs
    assert fourth["value"] == "absent"


def test_the_evidence_of_red_quotes_actual_and_expected(document: dict[str, Any]) -> None:
    red = one(one(document["steps"], id="red-test")["evidence"], verifier="verify_regression_red")
    gate = document["checks"]["reproduction"]["evidence"]
    for evidence in (red, gate):
        assert re.search(r"red on the base 3 of 3 times: .*'/' == '/settings'", evidence["summary"])
    assert "green on the candidate 3 of 3 times" in gate["summary"]
    assert "red again without the source change" in gate["summary"]


def test_the_source_change_is_confined_to_the_callback(document: dict[str, Any]) -> None:
    diff = document["diff"]
    assert diff["files"] == [CALLBACK, "tests/test_return_to.py"]
    source, test = diff["patch"].split("diff --git ")[1:]
    assert source.count("\n@@ ") == 1
    removed, added = (re.findall(rf"^\{sign}(?!\{sign}\{sign} )(.*)$", source, re.M) for sign in "-+")
    assert removed == ['    destination = session.pop("next_path", None) or url_for("pages.home")']
    assert added == [removed[0].replace("next_path", "return_to")]
    assert "new file mode 100644" in test
    assert not re.search(r"^-(?!-- )", test, re.M), "a line of an existing test was taken away"


def test_the_repository_itself_is_as_it_was(shown: Shown) -> None:
    assert git(shown.repository, "status", "--porcelain") == ""
    assert git(shown.repository, "log", "--format=%s").splitlines() == ["The fixture login_return_to"]
    assert "next_path" in (shown.repository / CALLBACK).read_text()
    assert shown.document["settings"]["mode"] == "dry-run"
    assert shown.document["applied"] == ""


def test_the_copies_of_the_run_are_gone(shown: Shown) -> None:
    runs = shown.planexec.cache / "planexec" / "runs"
    assert [*runs.iterdir()] == []


def test_someone_else_finds_the_patch_good(shown: Shown, tmp_path: Path) -> None:
    """git applies it to a clean copy, and the project's and the contract's tests pass there, without planexec."""
    repository = commit(copied(tmp_path / "clean"))
    (tmp_path / "the.patch").write_text(shown.document["diff"]["patch"])
    assert _judge(repository, tmp_path / "red") != 0
    git(repository, "apply", "--check", str(tmp_path / "the.patch"))
    git(repository, "apply", str(tmp_path / "the.patch"))
    assert _judge(repository, tmp_path / "green") == 0


def _judge(repository: Path, caches: Path) -> int:
    hidden = repository / "tests" / "hidden"
    hidden.mkdir(exist_ok=True)
    for file in (CONTRACT.parent / "login-return-to").glob("*.py"):
        (hidden / file.name).write_text(file.read_text())
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-o", f"cache_dir={caches}", "tests"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(command, cwd=repository, env=environment, capture_output=True, check=False).returncode


def test_status_shows_the_same_run(shown: Shown) -> None:
    again = shown.planexec("status", "--repo", shown.repository, "--json")
    assert again.code == 0
    assert again.err == ""
    assert again.document == shown.document


def test_status_tells_a_person_why_the_plan_changed(shown: Shown) -> None:
    said = shown.planexec("status", cwd=shown.repository)
    assert (said.code, said.err) == (0, "")
    document = shown.document
    for text in (
        document["run_id"],
        "succeeded",
        document["revisions"][1]["reason"],
        "keeps inspect",
        "supersedes reproduce",
    ):
        assert text in said.out
    for step in document["steps"]:
        assert re.search(rf"^  {step['id']} +{step['status']} ", said.out, re.M)
    for name in CHECKS:
        assert re.search(rf"^  {name} +passed ", said.out, re.M)
    assert "\x1b" not in said.out


def test_status_shows_a_past_revision(shown: Shown) -> None:
    past = shown.planexec("status", "--revision", "1", "--json", cwd=shown.repository)
    assert past.document["revision"] == 1
    assert past.document["steps"] == shown.document["plan_history"][0]
    assert past.document["plan_history"] == []
    said = shown.planexec("status", "--revision", "1", cwd=shown.repository)
    assert said.code == 0
    assert re.search(r"^  inspect +completed ", said.out, re.M)
    assert "extend-fixture" not in said.out
    shown.planexec("status", "--revision", "3", cwd=shown.repository).refused(2, "has no plan 3", "1 to 2")


def test_a_dry_run_can_be_read_and_never_applied(shown: Shown) -> None:
    printed = shown.planexec("diff", cwd=shown.repository)
    assert (printed.code, printed.err) == (0, "")
    assert printed.out == shown.document["diff"]["patch"]
    shown.planexec("apply", cwd=shown.repository).refused(2, "dry-run")
    assert git(shown.repository, "status", "--porcelain") == ""


def test_the_run_is_listed(shown: Shown) -> None:
    listed = shown.planexec("status", "--all", "--json", cwd=shown.repository).document["runs"]
    assert [(row["run_id"], row["status"], row["revision"]) for row in listed] == [
        (shown.document["run_id"], "succeeded", 2)
    ]
