"""What a person could add where a run ends without a fix, worked out from what this run saw: figures, names and lines.

A hint is one line: what was seen, then what would help. Where nothing speaks for a hint it is not given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import Any

from planexec.core import state as s
from planexec.core.contract import RELATED_TESTS, Contract
from planexec.core.paths import allows, is_protected

BUDGET = "--budget (limits.repair_seconds)"
MANY_LINES = 4
"""From how many lines with the same suspicion on they are said not to be told apart."""

HIGH = 0.5
"""The part of the highest score from which on a line counts as highly suspected."""

Search = Mapping[str, Any]


def hints(contract: Contract, state: s.RunState, searches: Sequence[Search], suspects: Sequence[Search]) -> list[str]:
    """The hints in the order of what a person would try first; ``searches`` are in the order in which they ran."""
    missing = list(_missing(searches))
    found = [*_environment(state), *_flaky(state), *_suite(contract, state), *missing, *_scope(contract, suspects)]
    found += _broken(searches)
    if not missing:  # no longer search and no further test would write code that is not there
        found += [*_budget(contract, searches), *_alike(searches), *_exhausted(searches)]
    return list(dict.fromkeys(found))


def _said(state: s.RunState) -> list[str]:
    """What failures and verdicts of this run said."""
    failures = [record.failure.message for record in state.records.values() if record.failure]
    verdicts = [check.evidence.summary for check in state.checks.values() if check.evidence]
    return [state.message, *failures, *verdicts]


def _environment(state: s.RunState) -> Iterator[str]:
    for text in _said(state):
        if found := re.search(r"No module named '([\w.]+)'", text):
            python = state.settings.get("interpreter") or state.settings.get("python") or "the project's interpreter"
            yield (f"the tests cannot import '{found[1]}': install it for {python}, or name another one with --python")


def _flaky(state: s.RunState) -> Iterator[str]:
    for name, record in state.records.items():
        if record.failure and record.failure.code == "FLAKY":
            yield (
                f"step '{name}' met a test that disagrees with itself ({record.failure.message}): make it the same on "
                "every run first (time, random numbers, order, files that are left behind)"
            )


def _suite(contract: Contract, state: s.RunState) -> Iterator[str]:
    seconds = f"{contract.limits.suite_seconds:g} s"
    if any("suite is too long" in text or "took too long" in text for text in _said(state)):
        check = next((check.name for check in contract.checks.values() if check.kind == RELATED_TESTS), "tests")
        yield (
            f"a run of the tests takes longer than limits.suite_seconds ({seconds}): raise it, or name the tests that "
            f"count: {check}: {{verifier: {RELATED_TESTS}, tests: [...]}}"
        )


def _missing(searches: Sequence[Search]) -> Iterator[str]:
    ground = searches[-1].get("ground", {}) if searches else {}
    exception = str(ground.get("exception", ""))
    if name := ground.get("missing"):
        yield (
            f"the failing test asks for '{name}', which no source defines ({exception}): the fault is code that is "
            "missing, and the search changes only code that stands"
        )
    elif exception.rpartition(".")[2] == "NotImplementedError":
        yield f"the failing test ends with {exception}: the fault is code that is missing, not code that is wrong"


def _scope(contract: Contract, suspects: Sequence[Search]) -> Iterator[str]:
    scope = contract.scope
    top = max((each["score"] for each in suspects), default=0.0)
    high = [each for each in suspects if each["score"] >= top * HIGH]
    outside = [each for each in high if not allows(each["path"], scope.allow, scope.deny)]
    paths = [path for path in dict.fromkeys(each["path"] for each in outside) if not is_protected(path)]
    if paths:
        denied = all(allows(path, scope.allow, ()) for path in paths)
        what = "take it out of scope.deny" if denied else "widen scope.allow"
        yield f"{len(outside)} of the {len(high)} most suspected lines lie outside the scope: {what} ({_few(paths)})"


def _broken(searches: Sequence[Search]) -> Iterator[str]:
    for search in searches:
        count = search.get("surviving", 0)
        if count:
            what = "1 patch turns" if count == 1 else f"{count} patches turn"
            broken = search.get("broke", [])
            why = f"; what it breaks: {_few(broken)}" if broken else ""
            yield (
                f"{what} the failing test green ({search['id']}) and none stands up to every check{why}: "
                "see whether these checks ask for what you want, or state more values in the reproduction"
            )


def _budget(contract: Contract, searches: Sequence[Search]) -> Iterator[str]:
    """Of the searches that were cut off, the one that left most: what would do for it does for the others."""
    cut_off = [
        each
        for each in searches
        if each.get("ended") in {"time", "candidates"} and not each.get("surviving") and each.get("tried")
    ]
    if not cut_off:
        return
    search = max(cut_off, key=lambda each: (each.get("left", 0), each["tried"]))
    left, seconds, tried = search.get("left", 0), max(search["seconds"], 0.1), search["tried"]
    short = search["bounds"].get("run", False)  # the run's own time was shorter
    cut = f"the {search['reach']} search was cut off after {tried} candidates in {seconds:.0f} s"
    if not left:
        limit = "limits.repair_candidates" if search["ended"] == "candidates" else "limits.seconds" if short else BUDGET
        yield f"{cut}: raise {limit}"
        return
    rate = tried / seconds
    more = _round_up(sum(each.get("seconds", 0.0) for each in searches) + left / rate * 1.2)
    raised = [f"{BUDGET} {more}"] if more > search["bounds"]["seconds"] else []
    if tried + left > search["bounds"]["candidates"]:
        raised.append(f"limits.repair_candidates: {_round_up(tried + left)}")
    if short and search["ended"] == "time":
        raised.append("as much more limits.seconds")
    yield f"{cut}; about {left} are left, {rate:.1f} a second: {' and '.join(raised)} would let it try them all"


def _alike(searches: Sequence[Search]) -> Iterator[str]:
    ground = searches[-1].get("ground", {}) if searches else {}
    top, failing = ground.get("top", 0), ground.get("failing", 0)
    if not ground:
        return
    one = "a second failing test that reaches the fault another way" if failing == 1 else "a failing test more"
    if not ground["beside"]:
        yield (
            f"of {ground['passing']} passing tests that were traced none runs a line that the failing test runs: "
            "nothing tells these lines apart, and passing tests of the same functions would"
        )
    elif top >= MANY_LINES:
        yield (
            f"{top} lines share the highest suspicion: {one}, or a passing test that runs only some of them, would "
            "tell them apart"
        )


def _exhausted(searches: Sequence[Search]) -> Iterator[str]:
    if searches and all(each.get("ended") == "exhausted" and not each.get("surviving") for each in searches):
        tried = sum(each.get("tried", 0) for each in searches)
        wide = any(each.get("reach") == "wide" for each in searches)
        where = "in all code that was run or imported" if wide else "on the lines that the failing test runs"
        yield (
            f"all {tried} small edits {where} were tried: the fix is larger than one of them, or lies where they do "
            "not reach (other file kinds, code that is never imported)"
        )


def _round_up(number: float) -> int:
    """To two digits, so that a limit reads as one that a person would write."""
    step: int = 10 ** max(0, len(str(ceil(number))) - 2)
    return ceil(number / step) * step


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
