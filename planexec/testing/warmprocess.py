"""A sandboxed process of the target side that stays up and is asked about candidates, a line of JSON at a time."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from planexec.core.errors import EnvironmentFailure, SafetyViolation
from planexec.sandbox.interface import MIB, Limits, Mount, Session
from planexec.testing import records as reading
from planexec.testing.judgedtree import JudgedTree
from planexec.testing.layout import INSIDE_BACKUP, INSIDE_PRIVATE, INSIDE_TOUCHED, Layout, skipped
from planexec.testing.outcomes import Judgement
from planexec.testing.testids import IdTranslator

# The process lives as long as the search; each candidate has a limit of its own.
LIFE_SECONDS = 24 * 3600.0
LINE_BYTES = 32 * MIB
DETAIL_CHARACTERS = 8000

# Numerical libraries start threads when they are imported, and a process with threads cannot be forked soundly.
SINGLE_THREADED = {
    f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL", "BLIS", "NUMEXPR", "VECLIB_MAXIMUM")
}


class WarmProcess:
    """One such process over ``tree``, which it rewrites and puts back; ``private`` is a folder of its own."""

    def __init__(self, layout: Layout, tree: JudgedTree, private: Path) -> None:
        self._layout, self._tree, self._private = layout, tree, private
        self._session: Session | None = None

    def start(self, words: Sequence[str], seconds: float, **more: Any) -> str:
        """Start it with ``words`` and tell it where it is; ``more`` goes along. Returns why it does not answer within
        ``seconds``, in one line; empty when it does.
        """
        layout = self._layout
        mounts = layout.mounts_for(self._tree.tree, self._private, *self._tree.mounts())
        command = layout.command(mounts, words=words, seconds=LIFE_SECONDS)
        limits = Limits(LIFE_SECONDS, None, layout.limits.file_bytes, LINE_BYTES)
        env = {**command.env, **SINGLE_THREADED}
        self._session = layout.sandbox.start(type(command)(command.argv, command.cwd, command.mounts, env, limits))
        try:
            self._session.send(json.dumps({**self._setup(mounts), **more}).encode())
            ready = self._session.receive(seconds)
        except BrokenPipeError:
            ready = None
        if ready is not None:
            return ""
        lines = self._session.errors().decode("utf-8", "replace").strip().splitlines()
        self.end()
        return lines[-1] if lines else "it does not answer"

    def _setup(self, mounts: Sequence[Mount]) -> dict[str, Any]:
        layout = self._layout
        # Only a mount namespace has a /tmp of its own that may be emptied.
        shared = ["/tmp", "/dev/shm", "/var/tmp"] if layout.sandbox.remaps else []
        inner = layout.sandbox.locate(INSIDE_PRIVATE, mounts)
        return {
            "root": str(layout.sandbox.locate(layout.root, mounts)),
            "home": str(layout.root),
            "project": layout.project,
            "pytest": layout.own_pytest(mounts),
            "backup": str(layout.sandbox.locate(INSIDE_BACKUP, mounts)),
            "touched": str(INSIDE_TOUCHED) if any(each.target == INSIDE_TOUCHED for each in mounts) else "",
            "cache": str(inner / "cache"),
            "private": str(inner / "tmp"),
            "bytecode": str(inner / "bytecode"),
            "skipped": skipped(layout),
            "shared": [*shared, str(inner / "cache"), str(inner / "tmp")],
            "memory_bytes": layout.limits.memory_bytes,
            "file_bytes": layout.limits.file_bytes,
        }

    def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any] | None:
        """The answer to one request; None when the process has ended or does not answer within ``seconds``."""
        if self._session is None:
            raise EnvironmentFailure("the warm test process is not running", "use it as a context manager")
        try:
            self._session.send(json.dumps(request).encode())
            line = self._session.receive(seconds)
        except BrokenPipeError:
            return None
        if line is None:
            return None
        answer = json.loads(line)
        return answer if isinstance(answer, dict) else None

    def end(self) -> None:
        """End it with everything that it started."""
        if self._session is not None:
            self._session.close()
            self._session = None


@dataclass(frozen=True)
class Question:
    """One candidate, ``changes`` (relative posix path to content), to be judged by ``ids`` within ``seconds``.

    Raises SafetyViolation where a path leads out of the tree or into git's folder.
    """

    changes: Mapping[str, bytes]
    ids: Sequence[str]
    seconds: float
    translator: IdTranslator
    canary: str
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    def __post_init__(self) -> None:
        for path in self.changes:
            _check(path)

    def request(self) -> dict[str, Any]:
        """What the process is asked."""
        texts = {path: base64.b64encode(content).decode() for path, content in self.changes.items()}
        ids = self.translator.inward(self.ids)
        return {"changes": texts, "ids": ids, "seconds": self.seconds, "key": self.key.hex(), "canary": self.canary}

    def judgement(self, answer: Mapping[str, Any]) -> Judgement:
        """What the answer says of the candidate, as far as its report is to be believed."""
        records = reading.parse(base64.b64decode(answer["records"]), self.key)
        return _judgement(self.translator.translated(records, self.canary), answer, self.ids, self.canary)


def _check(path: str) -> None:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or any(part.lower() == ".git" for part in parts):
        raise SafetyViolation(f"a candidate may not write {path}", "only files of the tree")


def _judgement(records: reading.Records, answer: Mapping[str, Any], ids: Sequence[str], canary: str) -> Judgement:
    folded = reading.fold(records)
    planted = f"{canary}.py::"
    red = {test: each for test, each in folded.outcomes.items() if not test.startswith(planted)}
    red = {test: each for test, each in red.items() if each.detail and each.status in ("failed", "error")}
    seconds, code = float(answer["seconds"]), answer["exit"]
    if code is None:
        running = [records.last_started] if records.last_started else []
        return Judgement("timeout", running, "it did not end in time", seconds)
    errors = records.of("collection_error")
    if errors:
        text = str(errors[0]["text"])[-DETAIL_CHARACTERS:]
        return Judgement("error", [str(each["id"]) for each in errors], text, seconds)
    if red:
        first = next(iter(red.values()))
        outcome = "failed" if first.status == "failed" else "error"
        return Judgement(outcome, list(red), first.detail[:DETAIL_CHARACTERS], seconds)  # type: ignore[arg-type]
    if not records.sealed:
        running = [records.last_started] if records.last_started else []
        printed = base64.b64decode(answer["output"]).decode("utf-8", "replace")[-2000:]
        return Judgement("crashed", running, f"the process ended with {code}\n{printed}", seconds)
    return _passed(records, folded, ids, canary, code, seconds)


def _passed(
    records: reading.Records, folded: reading.Folded, ids: Sequence[str], canary: str, code: int, seconds: float
) -> Judgement:
    """Nothing was red: passed, when the report holds and every wanted id is among the passed."""
    distrust = reading.why_not_trusted(records, folded, canary, code)
    if distrust:
        return Judgement("error", [], distrust, seconds)
    statuses = {test: each.status for test, each in folded.outcomes.items()}
    not_passed = [test for test in ids if "[" in test or "::" in test if statuses.get(test, "passed") != "passed"]
    missing = [test for test in ids if not any(_covers(test, other) for other in statuses)]
    if missing or not_passed:
        return Judgement("failed", [*missing, *not_passed], "missing, skipped or expected to fail", seconds)
    return Judgement("passed", [], "", seconds)


def _covers(wanted: str, test: str) -> bool:
    return test == wanted or any(test.startswith(wanted.rstrip("/") + sign) for sign in ("::", "[", "/"))
