"""The observation verifier: turns a structured claim into a fact, or says why not (R12).

It believes nothing that the observation says: lines are read again, occurrences counted again, tests and traces run
again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from planexec.core import events as e
from planexec.core import wire
from planexec.core.contract import Contract
from planexec.core.paths import matches
from planexec.testing.bench import Bench, select
from planexec.testing.outcomes import TraceReport
from planexec.verifiers.registry import judge_base
from planexec.workspace.manifest import Manifest

OUTSIDE = "no such file in the tree"


class ObservationVerifier:
    """Checks claims against ``snapshot``, the tree that the step works on, and ``records``, the stored observations."""

    def __init__(
        self,
        contract: Contract,
        bench: Bench,
        snapshot: Manifest,
        records: Mapping[str, str],
        claims: Sequence[e.Claim],
    ) -> None:
        self.contract, self.bench, self.snapshot, self.records = contract, bench, snapshot, records
        supports = [support for claim in claims for support in claim.supports]
        self.values = {support.value for support in supports if isinstance(support, e.TraceSupport)}
        self._traces: dict[object, TraceReport] = {}

    def objection(self, claim: e.Claim) -> str:
        """Why the claim does not hold; empty when every support does."""
        if not claim.supports:
            return "the claim names nothing that could be checked"
        for support in claim.supports:
            if why := self._check(support):
                return why
        return ""

    def _check(self, support: e.Support) -> str:
        match support:
            case e.LinesSupport():
                return self._lines(support)
            case e.OccurrencesSupport():
                return self._occurrences(support)
            case e.OutcomeSupport():
                return self._outcome(support)
            case e.TraceSupport():
                return self._trace(support)
            case e.RecordSupport():
                return self._record(support)
            case e.CheckSupport():
                return self._of_check(support)

    def _lines(self, support: e.LinesSupport) -> str:
        content = self._content(support.path)
        if content is None:
            return f"'{support.path}': {OUTSIDE}"
        same = lines_digest(content, support.start, support.end) == support.sha256
        return "" if same else f"'{support.path}' lines {support.start} to {support.end} are not what was claimed"

    def _occurrences(self, support: e.OccurrencesSupport) -> str:
        found = occurrences(self._sources(support.globs), support.text)
        return "" if found == support.places else f"'{support.text}' stands at {', '.join(found) or 'no place'}"

    def _outcome(self, support: e.OutcomeSupport) -> str:
        report = self.bench.run((), [support.id], {path: text.encode() for path, text in support.files.items()})
        outcomes = select(report, support.id)
        if not report.trusted or not outcomes:
            why = report.distrust or report.environment_problem or "not collected"
            return f"'{support.id}' could not be run again: {why}"
        for outcome in outcomes:
            if outcome.status != support.status:
                return f"'{outcome.id}' is {outcome.status}, not {support.status}"
            if support.shows and support.shows not in outcome.detail + outcome.message:
                return f"'{outcome.id}' does not show {support.shows}"
        return ""

    def _trace(self, support: e.TraceSupport) -> str:
        for sighting in self._traced(support).sightings:
            if (sighting.path, sighting.line, sighting.name, sighting.value) == (
                support.path, support.line, support.name, support.value,
            ):  # fmt: skip
                return ""
        return f"'{support.name}' was not {support.value} at {support.path}:{support.line}"

    def _traced(self, support: e.TraceSupport) -> TraceReport:
        """One run for all claims about the same test."""
        key = (support.id, tuple(sorted(support.files.items())))
        if key not in self._traces:
            extra = {path: text.encode() for path, text in support.files.items()}
            self._traces[key] = self.bench.trace((), [support.id], sorted(self.values), extra)
        return self._traces[key]

    def _record(self, support: e.RecordSupport) -> str:
        digest = self.records.get(support.observation)
        if digest is None:
            return f"there is no observation '{support.observation}'"
        data: dict[str, Any] = wire.decode(self.bench.store.get(digest)).get("data", {})
        return "" if str(data.get(support.field)) == support.value else f"the record says {data.get(support.field)!r}"

    def _of_check(self, support: e.CheckSupport) -> str:
        check = self.contract.checks.get(support.check)
        if check is None:
            return f"the contract names no check '{support.check}'"
        verdict = judge_base(self.contract, check, self.bench)
        return (
            "" if verdict.status == support.status else f"check '{check.name}' is {verdict.status}: {verdict.summary}"
        )

    def _content(self, path: str) -> bytes | None:
        entry = self.snapshot.entries.get(path)
        return self.bench.store.get(entry.digest) if entry else None

    def _sources(self, globs: tuple[str, ...]) -> dict[str, bytes]:
        chosen = {path: entry for path, entry in self.snapshot.entries.items() if matches(path, globs)}
        return {path: self.bench.store.get(entry.digest) for path, entry in sorted(chosen.items())}


def lines_digest(content: bytes, start: int, end: int) -> str:
    """SHA-256 of lines ``start`` to ``end`` (from 1, both included), with their ends."""
    return hashlib.sha256(b"".join(content.splitlines(keepends=True)[start - 1 : end])).hexdigest()


def occurrences(sources: Mapping[str, bytes], text: str) -> tuple[str, ...]:
    """Every line that holds ``text``, as ``path:line``."""
    wanted = text.encode()
    return tuple(
        f"{path}:{number}"
        for path, content in sources.items()
        for number, line in enumerate(content.splitlines(), start=1)
        if wanted in line
    )
