"""The hash chain: each event names the one before it, so that a log that was edited is noticed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

ROOT = ""  # what the first event of a run names as its predecessor


@dataclass(frozen=True, slots=True)
class Stored:
    """One event as it stands in the journal. ``seq`` counts from 1 within a run; ``at`` is UTC, ISO 8601."""

    seq: int
    at: str
    digest: str
    previous: str
    payload: bytes


def link(previous: str, run_id: str, seq: int, at: str, payload: bytes) -> Stored:
    """The event that follows the one with the digest ``previous``."""
    return Stored(seq, at, event_digest(previous, run_id, seq, at, payload), previous, payload)


def event_digest(previous: str, run_id: str, seq: int, at: str, payload: bytes) -> str:
    """SHA-256 over all that the event says. Each field is led by its length: no two read the same."""
    hasher = hashlib.sha256()
    for field in (previous.encode(), run_id.encode(), str(seq).encode(), at.encode(), payload):
        hasher.update(b"%d:" % len(field))
        hasher.update(field)
    return hasher.hexdigest()


def first_broken(run_id: str, events: Iterable[Stored]) -> int | None:
    """The first ``seq`` at which ``events`` (in order) is not what was written; None if all are."""
    previous, expected = ROOT, 1
    for event in events:
        if event.seq != expected:
            return expected
        honest = link(previous, run_id, event.seq, event.at, event.payload)
        if event != honest:
            return event.seq
        previous, expected = event.digest, expected + 1
    return None
