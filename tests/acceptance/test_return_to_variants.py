"""A2, its variants: other names and places, nothing to fix, nothing to find."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from .conftest import CONTRACT, CommandLine, Done, copied, one, replaced

Edit = tuple[str, str, str]
"""Glob, old text, new text."""

CALLBACK = "accountsite/callback.py"
QUICK = "limits:\n  repair_seconds: 60\n"
SEARCHED = 'destination = session.pop("next_path", None) or url_for("pages.home")'


@dataclass(frozen=True)
class Variant:
    """What is other than in the shipped example; ``fix`` is the source line with which it has to end."""

    edits: tuple[Edit, ...] = ()
    contract: tuple[tuple[str, str], ...] = ()
    renamed: tuple[str, str] | None = None
    fix: tuple[str, str] = (CALLBACK, SEARCHED.replace("next_path", "return_to"))
    revision: int = 2
    subject: str = "setup.login_query.returnTo"


FOUND = {
    "session keys renamed": Variant(
        edits=(("*.py", 'return_to"', 'after_sign_in"'), ("*.py", "next_path", "resume_at")),
        fix=(CALLBACK, SEARCHED.replace("next_path", "after_sign_in")),
    ),
    "callback in another module": Variant(
        renamed=(CALLBACK, "accountsite/handoff.py"),
        edits=(("accountsite/__init__.py", "from .callback import", "from .handoff import"),),
        fix=("accountsite/handoff.py", SEARCHED.replace("next_path", "return_to")),
    ),
    "another path": Variant(
        contract=(("returnTo: /settings", "returnTo: /billing"), ("expected: /settings", "expected: /billing")),
    ),
    "parameter and set-up renamed": Variant(
        edits=(("*.py", "returnTo", "continueAt"), ("tests/*.py", "login_query", "sign_in_parameters")),
        contract=(("returnTo", "continueAt"), ("login_query", "sign_in_parameters")),
        subject="setup.sign_in_parameters.continueAt",
    ),
    "set-up carries the field already": Variant(
        edits=(("tests/conftest.py", '"user": "ada"}', '"user": "ada", "returnTo": "/settings"}'),),
        revision=1,
    ),
}  # fmt: skip


def _prepared(folder: Path, variant: Variant, limits: str = QUICK) -> tuple[Path, Path]:
    """The varied fixture and its contract, with one red run instead of three, and no check of external addresses."""
    fixture, beside = copied(folder / "project"), folder / "contract"
    if variant.renamed:
        old, new = variant.renamed
        (fixture / old).rename(fixture / new)
    for edit in variant.edits:
        replaced(fixture, *edit)
    copied(beside / CONTRACT.stem, CONTRACT.with_suffix(""))
    text = CONTRACT.read_text().replace("limits:\n", limits)
    text = text.replace("    verifier: verify_regression_red\n", "    verifier: verify_regression_red\n    runs: 1\n")
    for start, end in (("  external_url:", "  tests:"), ("  verify_external_url_rejected:", "\nlimits:")):
        text = text[: text.index(start)] + text[text.index(end) :]
    (beside / CONTRACT.name).write_text(text)
    for old, new in variant.contract:
        replaced(beside, "*.yaml", old, new)
        if old in "".join(file.read_text() for file in beside.rglob("*.py")) and old.isidentifier():
            replaced(beside, "*.py", old, new)
    return fixture, beside / CONTRACT.name


def _run(planexec: CommandLine, folder: Path, variant: Variant, limits: str = QUICK) -> Done:
    fixture, contract = _prepared(folder, variant, limits)
    done = planexec("run", "--fixture", fixture, contract, "--json")
    assert "Traceback" not in done.err
    return done


@pytest.mark.slow
@pytest.mark.parametrize("name", FOUND)
def test_the_fix_is_found_under_other_names(planexec: CommandLine, tmp_path: Path, name: str) -> None:
    variant = FOUND[name]
    done = _run(planexec, tmp_path, variant)
    assert done.code == 0, done.err
    document = done.document
    assert document["status"] == "succeeded"
    assert {check["status"] for check in document["checks"].values()} == {"passed"}
    assert document["revision"] == variant.revision
    assert len(document["plan_history"]) == variant.revision - 1
    path, line = variant.fix
    assert document["diff"]["files"] == [path, "tests/test_return_to.py"]
    source = document["diff"]["patch"].split("diff --git ")[1]
    assert [text.strip() for text in re.findall(r"^\+(?!\+\+ )(.*)$", source, re.M)] == [line]
    assert source.count("\n-") == 2, "more than one line was taken away"
    carried = one(document["facts"], subject=variant.subject)
    assert carried["value"] == ("absent" if variant.revision == 2 else "present")
    if variant.revision == 1:
        assert document["plan_history"] == []
        assert document["replans_left"] == 2
        assert "superseded" not in {step["status"] for step in document["steps"]}
        assert one(document["steps"], id="reproduce")["status"] == "completed"


@pytest.mark.slow
def test_where_the_fault_is_removed_nothing_is_changed(planexec: CommandLine, tmp_path: Path) -> None:
    done = _run(planexec, tmp_path, Variant(edits=((CALLBACK, "next_path", "return_to"),)))
    assert done.code == 3, done.err
    document = done.document
    assert (document["status"], document["reason"]) == ("blocked", "not_red")
    assert "not red on the base" in document["message"]
    assert document["diff"] == {"files": [], "added": 0, "removed": 0, "patch": ""}
    assert document["checks"]["reproduction"]["status"] != "passed"
    assert any("fixed already" in question for question in document["questions"])
    assert document["report"]["remaining_risks"]


@pytest.mark.slow
def test_where_the_fault_is_out_of_reach_the_report_says_what_is_open(planexec: CommandLine, tmp_path: Path) -> None:
    """The key is wrong and the value is read as a mapping, although text was stored: no single edit repairs both."""
    twofold = (
        'remembered = session.pop("next_path", None)\n'
        '    destination = remembered["path"] if remembered else url_for("pages.home")'
    )
    done = _run(
        planexec,
        tmp_path,
        Variant(edits=((CALLBACK, SEARCHED, twofold),)),
        "limits:\n  repair_seconds: 6\n  corrections: 1\n",
    )
    assert done.code == 3, done.err
    document = done.document
    assert document["status"] == "blocked"
    assert document["diff"]["patch"] == ""
    _is_a_report(document)


def _is_a_report(document: dict[str, Any]) -> None:
    """R21: completed steps, last observation, remaining risks, the question for the person."""
    report = document["report"]
    assert {"inspect", "red-test"} <= set(report["completed"])
    assert {step["id"] for step in document["steps"] if step["status"] == "completed"} == set(report["completed"])
    assert not set(report["completed"]) & set(report["unfinished"])
    seen = report["last_observation"]
    observation = one(document["observations"], id=seen["id"])
    assert observation["step_id"] == seen["step"]
    assert one(document["steps"], id=seen["step"])["status"] == "blocked"
    assert "candidates tried" in seen["summary"]
    assert report["search"]["tried"] > 0
    assert [each["reach"] for each in report["searches"]] == ["suspicious", "wide"][: len(report["searches"])]
    assert all(sum(each["by_template"].values()) == each["tried"] for each in report["searches"])
    assert any("limits.repair_seconds" in hint for hint in report["hints"])
    assert CALLBACK in {suspect["path"] for suspect in report["search"]["suspects"]}
    assert any("'reproduction'" in risk for risk in report["remaining_risks"])
    assert any("no replan is left" in risk for risk in report["remaining_risks"]) == (document["replans_left"] == 0)
    assert report["questions"] == document["questions"] != []
    assert all(question.endswith((".", "?")) for question in report["questions"])
