"""Two fixtures with a model in both roles: over real HTTP, then from the recording, without a server."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from planexec.llm.scripted import Reply, ScriptedServer

from .conftest import CONTRACT, FIXTURE, PROJECT, Done, command_line, one

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


def plan(*steps: dict[str, Any], scope: str = "current_repository") -> str:
    return json.dumps({"scope": scope, "steps": steps})


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


def rates_patching(name: str, after: str, **more: Any) -> dict[str, Any]:
    green = {"reproduction": "regression_green", "price_list": "check_passed"}
    more |= {"artifacts": ["patch"], "tools": ["read", "edit", "run_tests"], "writes": ["src/**"]}
    return planned(name, after, ["price_list"], green, **more)


def rates_judging(name: str, after: str) -> dict[str, Any]:
    checks = ["tests", "diff_scope"]
    return planned(name, after, checks, dict.fromkeys(checks, "check_passed"), artifacts=["verification"])


QUOTE, TARIFF = "src/parcelrates/quote.py", "src/parcelrates/tariff.py"
RATES_ANSWERS = [
    plan(
        reproducing("reproduce", ""), rates_patching("patch-quote", "reproduce"),
        rates_judging("verify", "patch-quote"),
        scope="src/**",
    ),
    "```json\n" + act("regression", part="plain") + "\n```",  # as some models write it
    act("finish"),
    act("read", path=QUOTE),
    act("give_up", reason="quote() only looks the price up; the bands are worked out in tariff.py"),
    plan(rates_patching("patch-bands", "reproduce"), rates_judging("judge", "patch-bands"), scope="src/**"),
    act("read", path=TARIFF),
    act("edit", path=TARIFF, old="Decimal(limit) > HEAVY", new="Decimal(limit) >= HEAVY"),
    act("run_tests"),
    act("finish"),
]  # fmt: skip


@dataclass(frozen=True)
class Example:
    """A fixture, what the model says, and what is to be seen: the step that fails, and which is kept."""

    fixture: Path
    contract: Path
    answers: list[str]
    refused: int
    superseded: str
    kept: str
    steps: set[str]
    patch: str


FIRST_FIXTURE = Example(
    FIXTURE, CONTRACT, ANSWERS, 1, "reproduce", "inspect",
    {"planning", "inspect", "extend", "red-test", "patch-callback"}, "patch-callback",
)  # fmt: skip
RATES = Example(
    PROJECT / "fixtures" / "parcel_rates", PROJECT / "contracts" / "parcel-rates.yaml", RATES_ANSWERS, 0, "patch-quote",
    "reproduce", {"planning", "reproduce", "patch-quote", "patch-bands"}, "patch-bands",
)  # fmt: skip


@dataclass(frozen=True)
class Both:
    """A run with a server, and one from its recording."""

    example: Example
    first: Done
    again: Done
    requests: list[dict[str, Any]]
    folder: Path


@pytest.fixture(scope="module", params=[FIRST_FIXTURE, RATES], ids=["return-to", "rates"])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Both:
    example: Example = request.param
    folder = tmp_path_factory.mktemp("model")
    recording = folder / "recording.jsonl"
    planexec = command_line(folder)
    planexec.environment["PLANEXEC_API_KEY"] = KEY

    def ran(into: str, *options: str | Path) -> Done:
        models = ["--planner", "model", "--executor", "model", *options]
        fixture = ["--fixture", example.fixture, "--into", folder / into]
        return planexec("run", *fixture, example.contract, "--json", *models)

    with ScriptedServer([Reply(each) for each in example.answers]) as server:
        first = ran("a", "--model", "m", "--base-url", server.url, "--record", recording)
        requests = server.requests
    return Both(example, first, ran("b", "--replay", recording), requests, folder)


def test_it_is_proved_with_one_replan(both: Both) -> None:
    assert both.first.code == 0, both.first.err
    document = both.first.document
    assert (document["status"], document["revision"], document["replans_left"]) == ("succeeded", 2, 1)
    assert document["revisions"][1]["preserved"] == [both.example.kept]
    assert document["metrics"]["refused_proposals"] == both.example.refused
    assert one(document["steps"], id=both.example.superseded)["status"] == "superseded"
    assert {check["status"] for check in document["checks"].values()} == {"passed"}


def test_every_request_is_short_and_begins_like_the_one_before(both: Both) -> None:
    sizes = [sum(len(each["content"]) for each in request["messages"]) for request in both.requests]
    assert len(sizes) == len(both.example.answers) and max(sizes) <= LARGEST
    systems = [request["messages"][0]["content"] for request in both.requests]
    mine = [each for each in systems if f"The step: {both.example.patch}" in each]
    assert len(mine) >= 2 and len(set(mine)) == 1
    assert len({each for each in systems if each.startswith("You plan")}) == 1


def test_what_the_model_took_is_told(both: Both) -> None:
    used = both.first.document["usage"]
    assert used["calls"] == used["requests"] == len(both.example.answers) and used["cost"] is None
    assert set(used["by_step"]) == both.example.steps


def test_the_recording_gives_the_same_run_without_a_server(both: Both) -> None:
    first, again = both.first.document, both.again.document
    assert both.again.code == 0, both.again.err
    assert again["diff"]["patch"] == first["diff"]["patch"]
    assert [step["id"] for step in again["steps"]] == [step["id"] for step in first["steps"]]
    assert [fact["claim"] for fact in again["facts"]] == [fact["claim"] for fact in first["facts"]]


def test_the_key_is_nowhere(both: Both) -> None:
    assert KEY not in both.first.out + both.first.err + both.again.out + both.again.err
    files = [path for path in both.folder.rglob("*") if path.is_file()]
    assert len(files) > 20 and both.folder / "recording.jsonl" in files
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []
