from __future__ import annotations

import hmac
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planexec.testing.records import Records, fold, parse, read_file, why_not_trusted
from planexec.testing.target.channel import Channel

KEY = b"k" * 32
CANARY = "test_0123"


def entry(test: str, when: str, outcome: str = "passed", **more: Any) -> dict[str, Any]:
    base = {"kind": "report", "id": test, "when": when, "outcome": outcome, "xfail": False, "subtest": False}
    base.update(body="passed" if when == "call" else "", exception="", message="", detail="", seconds=0.5)
    return {**base, **more}


def three(test: str, **call: Any) -> list[dict[str, Any]]:
    return [entry(test, "setup"), entry(test, "call", **call), entry(test, "teardown")]


def planted() -> list[dict[str, Any]]:
    return three(f"{CANARY}.py::{CANARY}", outcome="failed", body="raised", exception="AssertionError")


def sealed(*entries: Mapping[str, Any], code: int = 1) -> Records:
    return Records([*entries, {"kind": "closing", "exit": code}], sealed=True)


def status(*entries: Mapping[str, Any]) -> str:
    return fold(Records(entries)).outcomes["t"].status


def test_what_the_channel_writes_is_read_back(tmp_path: Path) -> None:
    with (tmp_path / "report").open("wb") as stream:
        channel = Channel(stream.fileno(), KEY)
        channel.emit("start", id="t \udc80 é")
        channel.close(exit=1)
        channel.emit("start", id="too late")
    data = read_file(tmp_path / "report")
    records = parse(data, KEY)
    assert records.sealed
    assert [each["kind"] for each in records.entries] == ["start", "closing"]
    assert records.last_started == "t \udc80 é"
    assert not parse(data, b"another key").sealed
    assert not parse(data + data, KEY).sealed
    assert not parse(data.replace(b'"start"', b'"stopp"'), KEY).sealed
    assert not parse(data[: data.index(b'{"kind": "closing"')], KEY).sealed


@given(st.binary(max_size=400))
def test_no_bytes_are_sealed_by_chance(data: bytes) -> None:
    assert not parse(data, KEY).sealed


@given(st.lists(st.sampled_from(['{"kind": "seal"}', '{"kind": "closing"}', "[]", "1", '{"kind": 3}', "{", "\0"])))
def test_odd_lines_are_no_seal(lines: list[str]) -> None:
    assert not parse("\n".join(lines).encode() + b"\n", KEY).sealed


def test_a_seal_without_a_closing_record_does_not_count() -> None:
    line = b'{"kind": "start", "id": "t"}\n'
    seal = json.dumps({"kind": "seal", "digest": hmac.new(KEY, line, "sha256").hexdigest()}).encode() + b"\n"
    assert not parse(line + seal, KEY).sealed


@pytest.mark.parametrize("make", ["link", "pipe", "folder", "nothing"])
def test_only_a_regular_file_is_read(make: str, tmp_path: Path) -> None:
    place = tmp_path / "report"
    (tmp_path / "secret").write_bytes(b"secret")
    if make == "link":
        place.symlink_to(tmp_path / "secret")
    elif make == "pipe":
        os.mkfifo(place)
    elif make == "folder":
        place.mkdir()
    assert read_file(place) == b""


def test_folding() -> None:
    assert status(*three("t")) == "passed"
    assert status(*three("t", outcome="failed", body="raised")) == "failed"
    assert status(entry("t", "setup", "failed"), entry("t", "teardown")) == "error"
    assert status(entry("t", "setup"), entry("t", "call"), entry("t", "teardown", "failed")) == "error"
    assert status(entry("t", "setup", "skipped"), entry("t", "teardown")) == "skipped"
    assert status(*three("t", outcome="skipped", xfail=True)) == "xfailed"
    assert status(*three("t", xfail=True)) == "xpassed"
    assert status(entry("t", "setup"), entry("t", "call")) == "error"
    assert status(entry("t", "setup"), entry("t", "teardown")) == "error"


def test_a_red_subtest_makes_the_test_red() -> None:
    part = entry("t", "call", "failed", subtest=True, exception="AssertionError", message="1 != 2")
    assert status(entry("t", "setup"), part, entry("t", "call"), entry("t", "teardown")) == "failed"
    green = entry("t", "call", subtest=True)
    assert status(entry("t", "setup"), green, entry("t", "teardown")) == "error"


def test_the_last_try_of_a_rerun_decides() -> None:
    first = [entry("t", "setup"), entry("t", "call", "rerun", body="raised"), entry("t", "teardown")]
    assert status(*first[:2], *three("t")) == "passed"
    assert status(*first[:2], *three("t", outcome="failed")) == "failed"


def test_seconds_are_summed_and_the_red_report_tells_why() -> None:
    group = three("t", outcome="failed", exception="ValueError", message="bad", detail="whole text", body="raised")
    outcome = fold(Records(group)).outcomes["t"]
    assert (outcome.seconds, outcome.phase, outcome.exception) == (1.5, "call", "ValueError")
    assert (outcome.message, outcome.detail) == ("bad", "whole text")


COLLECTED = {"kind": "collected", "ids": ["t"]}


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        (sealed(COLLECTED, *three("t"), *planted()), ""),
        (Records([COLLECTED, {"kind": "start", "id": "t"}]), "during t"),
        (sealed(COLLECTED, *three("t"), *planted(), {"kind": "finding", "text": "x was replaced"}), "x was replaced"),
        (sealed(COLLECTED, *three("t", body="raised"), *planted()), "its body raised"),
        (sealed(COLLECTED, *three("t", body="not run"), *planted()), "its body did not run"),
        (sealed(COLLECTED, *three("t")), "planted"),
        (sealed(COLLECTED, *three("t"), *three(f"{CANARY}.py::{CANARY}")), "planted"),
        (sealed({"kind": "collected", "ids": ["t", "u"]}, *three("t"), *planted()), "no report"),
        (sealed({"kind": "collected", "ids": ["t", "u", "v"]}, *three("t"), *planted()), "and 1 more"),
        (sealed({"kind": "collected", "ids": []}, *three("t"), *planted()), "not been collected"),
        (sealed(COLLECTED, COLLECTED, *three("t"), *planted()), "not been collected"),
        (sealed(COLLECTED, *three("t"), *planted(), code=0), "exit code"),
    ],
)
def test_trust(records: Records, reason: str) -> None:
    found = why_not_trusted(records, fold(records), CANARY, 1)
    assert (found == "") if not reason else (reason in found)
    assert "\n" not in found


def test_the_process_has_to_end_as_the_report_says() -> None:
    records = sealed(COLLECTED, *three("t"), *planted())
    assert "exit code is 0" in why_not_trusted(records, fold(records), CANARY, 0)
