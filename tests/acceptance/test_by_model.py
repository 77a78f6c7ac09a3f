"""The first worked example with a model in both roles: over real HTTP, then from the recording, without a server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planexec.llm.scripted import Reply, ScriptedServer

from .conftest import CONTRACT, FIXTURE, CommandLine, Done, command_line, one

LARGEST = 24_000
"""Characters that no request to a model exceeds."""
SETUP = "setup.login_query.returnTo"
KEY = "a-key-that-must-not-be-seen-0123"


def planned(name: str, after: str, covers: list[str], predicates: dict[str, str], **more: Any) -> dict[str, Any]:
    told = [{"predicate": kind, "about": about} for about, kind in predicates.items()]
    step = {"id": name, "goal": f"Bring about {name}", "depends_on": [after] if after else [], "covers": covers}
    step |= {"done_when": f"{name} can be seen", "predicates": told, "preconditions": [], "artifacts": [name]}
    return {**step, "tools": ["read", "run_tests"], "writes": [], **more}


def patching(name: str, after: str) -> dict[str, Any]:
    tools = ["search", "read", "edit", "undo", "run_tests"]
    green = {"reproduction": "regression_green", "relative_return": "check_passed"}
    return planned(name, after, ["relative_return"], green, artifacts=["patch"], tools=tools, writes=["accountsite/**"])


def judging(name: str, after: str) -> dict[str, Any]:
    checks = ["external_url", "tests", "diff_scope"]
    return planned(name, after, checks, dict.fromkeys(checks, "check_passed"), artifacts=["verification"])


def reproducing(name: str, after: str, **more: Any) -> dict[str, Any]:
    red = {"reproduction": "regression_red"}
    more |= {"artifacts": ["regression-test"], "tools": ["regression"], "writes": ["tests/**"]}
    return planned(name, after, ["reproduction"], red, **more)


def plan(*steps: dict[str, Any]) -> str:
    return json.dumps({"scope": "current_repository", "steps": steps})


def act(tool: str, **arguments: str) -> str:
    return json.dumps({"thought": "next", "tool": tool, "arguments": arguments})


INSPECTING = planned(
    "inspect", "", [], {"location": "fact_recorded", SETUP: "fact_recorded"}, artifacts=["inspection"],
    tools=["investigate", "read"],
)  # fmt: skip
FIRST = plan(
    INSPECTING,
    reproducing("reproduce", "inspect", preconditions=[{"subject": SETUP, "value": "present"}]),
    patching("patch", "reproduce"),
    judging("verify", "patch"),
)
SECOND = plan(
    planned(
        "extend", "inspect", [], {"reproduction": "setup_carries"}, tools=["regression"], writes=["tests/**"],
        preconditions=[{"subject": SETUP, "value": "absent"}],
    ),
    reproducing("red-test", "extend"),
    patching("patch-callback", "red-test"),
    judging("judge", "patch-callback"),
)  # fmt: skip
ANSWERS = [
    "I am sure that the fault is in callback.py.",  # no JSON: refused, and asked for again
    FIRST,
    act("investigate"),
    act("finish"),
    SECOND,
    act("regression", part="setup"),
    act("finish"),
    act("regression", part="extended"),
    act("finish"),
    act("read", path="accountsite/callback.py"),
    act("edit", path="accountsite/callback.py", old='session.pop("next_path"', new='session.pop("return_to"'),
    act("finish"),
]  # fmt: skip


def ran(planexec: CommandLine, folder: Path, *options: str | Path) -> Done:
    models = ["--planner", "model", "--executor", "model", *options]
    return planexec("run", "--fixture", FIXTURE, "--into", folder, CONTRACT, "--json", *models)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Done, Done, list[dict[str, Any]], Path]:
    """A run with a server and one from its recording."""
    folder = tmp_path_factory.mktemp("model")
    recording = folder / "recording.jsonl"
    planexec = command_line(folder)
    planexec.environment["PLANEXEC_API_KEY"] = KEY
    with ScriptedServer([Reply(each) for each in ANSWERS]) as server:
        first = ran(planexec, folder / "a", "--model", "m", "--base-url", server.url, "--record", recording)
        requests = server.requests
    return first, ran(planexec, folder / "b", "--replay", recording), requests, folder


def test_it_is_proved_with_one_replan(both: tuple[Done, Done, list[dict[str, Any]], Path]) -> None:
    first = both[0]
    assert first.code == 0, first.err
    document = first.document
    assert (document["status"], document["revision"], document["replans_left"]) == ("succeeded", 2, 1)
    assert document["revisions"][1]["preserved"] == ["inspect"]
    assert document["metrics"]["refused_proposals"] == 1
    assert one(document["steps"], id="reproduce")["status"] == "superseded"
    assert {check["status"] for check in document["checks"].values()} == {"passed"}


def test_every_request_is_short_and_begins_like_the_one_before(
    both: tuple[Done, Done, list[dict[str, Any]], Path],
) -> None:
    requests = both[2]
    sizes = [sum(len(each["content"]) for each in request["messages"]) for request in requests]
    assert len(sizes) == len(ANSWERS) and max(sizes) <= LARGEST
    systems = [request["messages"][0]["content"] for request in requests]
    assert systems[0] == systems[1] == systems[4] and len(set(systems[9:12])) == 1


def test_what_the_model_took_is_told(both: tuple[Done, Done, list[dict[str, Any]], Path]) -> None:
    used = both[0].document["usage"]
    assert used["calls"] == used["requests"] == len(ANSWERS) and used["cost"] is None
    assert set(used["by_step"]) == {"planning", "inspect", "extend", "red-test", "patch-callback"}
    assert used["by_step"]["patch-callback"]["m"]["calls"] == 3


def test_the_recording_gives_the_same_run_without_a_server(
    both: tuple[Done, Done, list[dict[str, Any]], Path],
) -> None:
    first, again = both[0].document, both[1].document
    assert both[1].code == 0, both[1].err
    assert again["diff"]["patch"] == first["diff"]["patch"]
    assert [step["id"] for step in again["steps"]] == [step["id"] for step in first["steps"]]
    assert [fact["claim"] for fact in again["facts"]] == [fact["claim"] for fact in first["facts"]]


def test_the_key_is_nowhere(both: tuple[Done, Done, list[dict[str, Any]], Path]) -> None:
    first, again, _, folder = both
    assert KEY not in first.out + first.err + again.out + again.err
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 20 and folder / "recording.jsonl" in files
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []
