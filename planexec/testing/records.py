"""From the records of the target side to a ``TestReport``: the seal is checked, reports of an id are folded."""

from __future__ import annotations

import hmac
import json
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from planexec.testing.outcomes import Phase, Status, TestOutcome

MOST_BYTES = 512 * 1024 * 1024
TESTS_FAILED = 1  # pytest's exit code when a test failed: the planted one always does


@dataclass(frozen=True)
class Records:
    """The records of one run in order; ``sealed`` when the closing record and its seal are in place."""

    entries: Sequence[Mapping[str, Any]] = ()
    sealed: bool = False

    def of(self, kind: str) -> list[Mapping[str, Any]]:
        """All records of one kind."""
        return [entry for entry in self.entries if entry["kind"] == kind]

    @property
    def last_started(self) -> str:
        """The id of the test that began last; empty when none did."""
        started = self.of("start")
        return str(started[-1]["id"]) if started else ""


def read_file(path: Path) -> bytes:
    """The bytes that the sandbox left at ``path``; empty when it is no regular file of a sensible size.

    The sandbox may have put anything there: a link is not followed, a pipe does not block us.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > MOST_BYTES:
            return b""
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            return stream.read(MOST_BYTES)
    finally:
        os.close(descriptor)


def parse(data: bytes, key: bytes) -> Records:
    """The records in ``data``. Lines after a broken one are dropped; without a right seal nothing is ``sealed``."""
    seal = hmac.new(key, digestmod="sha256")
    entries: list[Mapping[str, Any]] = []
    lines = data.splitlines(keepends=True)
    for place, line in enumerate(lines):
        entry = _entry(line)
        if entry is None:
            break
        if entry["kind"] == "seal":
            right = hmac.compare_digest(str(entry.get("digest")), seal.hexdigest())
            closed = bool(entries) and entries[-1]["kind"] == "closing"
            return Records(entries, sealed=right and closed and place == len(lines) - 1)
        seal.update(line)
        entries.append(entry)
    return Records(entries)


def _entry(line: bytes) -> Mapping[str, Any] | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    well_formed = isinstance(entry, dict) and isinstance(entry.get("kind"), str) and line.endswith(b"\n")
    return entry if well_formed else None


@dataclass
class Folded:
    """Outcomes by id, and what does not fit together."""

    outcomes: dict[str, TestOutcome] = field(default_factory=dict)
    oddities: list[str] = field(default_factory=list)


def fold(records: Records) -> Folded:
    """One outcome for each id from all its reports: set-up, call, tear-down, subtests, the last try of a rerun."""
    grouped: dict[str, list[Mapping[str, Any]]] = {}
    for entry in records.of("report"):
        group = grouped.setdefault(str(entry["id"]), [])
        if entry["outcome"] == "rerun":
            group.clear()
        else:
            group.append(entry)
    folded = Folded()
    for test, group in grouped.items():
        folded.outcomes[test] = fold_test(test, group)
        folded.oddities.extend(_oddities(test, group))
    return folded


def fold_test(test: str, group: Sequence[Mapping[str, Any]]) -> TestOutcome:
    """The outcome of one test: any red report makes it red, and only a complete set of reports makes it passed."""
    seconds = sum(float(entry["seconds"]) for entry in group if not entry["subtest"])
    decisive, status = _decisive(group)
    if decisive is None:
        message = "its set-up, call and tear-down were not all reported"
        return TestOutcome(test, "error", "teardown", message=message, seconds=seconds)
    return TestOutcome(
        id=test,
        status=status,
        phase=decisive["when"],
        exception=decisive["exception"],
        message=decisive["message"],
        detail=decisive["detail"],
        seconds=seconds,
    )


def _decisive(group: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any] | None, Status]:
    red = sorted((e for e in group if e["outcome"] == "failed"), key=lambda entry: _SEVERITY[entry["when"]])
    if red:
        with_exception = [entry for entry in red if entry["when"] == red[0]["when"] and entry["exception"]]
        first = with_exception[0] if with_exception else red[0]
        return first, "failed" if first["when"] == "call" else "error"
    for entry in group:
        if entry["outcome"] == "skipped":
            return entry, "xfailed" if entry["xfail"] else "skipped"
    phases = {entry["when"] for entry in group if entry["outcome"] == "passed" and not entry["subtest"]}
    if phases != {"setup", "call", "teardown"}:
        return None, "error"
    call = next(entry for entry in group if entry["when"] == "call" and not entry["subtest"])
    return call, "xpassed" if call["xfail"] else "passed"


_SEVERITY: dict[Phase, int] = {"call": 0, "setup": 1, "teardown": 2}


def _oddities(test: str, group: Sequence[Mapping[str, Any]]) -> list[str]:
    """A call that is reported as passed although our wrapper around the body saw something else."""
    return [
        f"{test} is reported as passed but its body {'did not run' if e['body'] == 'not run' else 'raised'}"
        for e in group
        if e["when"] == "call" and not e["subtest"] and e["outcome"] == "passed" and not e["xfail"]
        if e["body"] != "passed"
    ]


def why_not_trusted(records: Records, folded: Folded, canary: str, exit_code: int) -> str:
    """One line that says why the run is no evidence; empty when it is."""
    if not records.sealed:
        where = f" (during {records.last_started})" if records.last_started else ""
        return f"the test process ended before its report was complete{where}"
    foreign = records.of("foreign")
    if foreign:
        return str(foreign[0]["text"])
    findings = [str(entry["text"]) for entry in records.of("finding")]
    if findings:
        return f"the test machinery was tampered with: {findings[0]}"
    if folded.oddities:
        return folded.oddities[0]
    planted = folded.outcomes.get(f"{canary}.py::{canary}")
    closing = records.of("closing")[-1]["exit"]
    if planted is None and closing != TESTS_FAILED:
        where = f" (during {records.last_started})" if records.last_started else ""
        return f"the test session was ended early, with pytest's exit code {closing}{where}"
    if planted is None or planted.status not in ("failed", "error"):
        return "the planted failing test was not reported as failed"
    collected = [str(test) for entry in records.of("collected") for test in entry["ids"]]
    missing = [test for test in collected if test not in folded.outcomes]
    if missing:
        return f"no report for a collected test: {missing[0]}" + (
            f" (and {len(missing) - 1} more)" if missing[1:] else ""
        )
    if len(records.of("collected")) != 1 or set(folded.outcomes) - set(collected) - {planted.id}:
        return "tests were reported that had not been collected"
    if exit_code != TESTS_FAILED or closing != TESTS_FAILED:
        return f"pytest's exit code is {exit_code} (1 is expected: the planted test fails)"
    return ""
