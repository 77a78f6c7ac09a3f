"""The host's side of the warm process: judges many candidates in one sandboxed process that forks for each."""

from __future__ import annotations

import base64
import json
import secrets
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any

from planexec.core.errors import EnvironmentFailure, SafetyViolation
from planexec.sandbox.interface import MIB, Limits, Mount, Session
from planexec.testing import records as reading
from planexec.testing.layout import INSIDE_BACKUP, INSIDE_PRIVATE, Layout, private_folder
from planexec.testing.outcomes import Judgement
from planexec.testing.testids import IdTranslator

# The process lives as long as the search; each candidate has a limit of its own.
LIFE_SECONDS = 24 * 3600.0
START_SECONDS = 60.0
LINE_BYTES = 32 * MIB
DETAIL_CHARACTERS = 8000

# Numerical libraries start threads when they are imported, and a process with threads cannot be forked soundly.
SINGLE_THREADED = {
    f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL", "BLIS", "NUMEXPR", "VECLIB_MAXIMUM")
}


class WarmJudge:
    """Judges candidates in ``tree``, which is rewritten and put back for each: it must be a private copy.

    To be used as a context manager, from one thread. The first judgement is preceded by one run of its ids on the
    unchanged tree, which tells which third-party modules to load in advance.
    """

    def __init__(self, layout: Layout, tree: Path) -> None:
        self._layout = layout
        self._tree = tree
        self._ids = IdTranslator(layout.project)
        self._stack = ExitStack()
        self._session: Session | None = None
        self._preload = True
        self._private: Path | None = None
        self.restarts = 0

    def __enter__(self) -> WarmJudge:
        try:
            self._private = self._stack.enter_context(private_folder())
            for cache in self._tree.rglob("__pycache__"):
                shutil.rmtree(cache, ignore_errors=True)
            skipped = {str(self._tree / path) for path in self._skipped()}
            shutil.copytree(
                self._tree,
                self._private / "backup",
                symlinks=True,
                ignore=lambda folder, names: [name for name in names if str(Path(folder) / name) in skipped],
            )
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()
        self._stack.close()

    def judge(self, changes: Mapping[str, bytes], ids: Sequence[str], *, seconds: float) -> Judgement:
        """Run ``ids`` in their order on the tree with ``changes`` (relative posix path to content), until one is red.

        ``seconds`` is the limit for this candidate; when it passes, everything that the candidate started is killed.
        Raises EnvironmentFailure when the process cannot be started again after a crash.
        """
        for path in changes:
            _check(path)
        key, canary = secrets.token_bytes(32), "test_" + secrets.token_hex(8)
        request = {
            "changes": {path: base64.b64encode(content).decode() for path, content in changes.items()},
            "ids": self._ids.inward(ids),
            "seconds": seconds,
            "key": key.hex(),
            "canary": canary,
        }
        answer = self._ask(request, seconds)
        if answer is not None and answer.get("restart"):
            self._preload = False
            self._restart()
            answer = self._ask(request, seconds)
        if answer is None or "exit" not in answer:
            self._restart()
            return Judgement("crashed", detail="the candidate ended the judging process", seconds=seconds)
        records = reading.parse(base64.b64decode(answer["records"]), key)
        return _judgement(self._ids.translated(records, canary), answer, ids, canary)

    def _ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any] | None:
        if self._session is None:
            raise EnvironmentFailure("the warm test process is not running", "use it as a context manager")
        try:
            self._session.send(json.dumps(request).encode())
            # The first request runs the unchanged tree before; then there are seconds for the clean-up.
            line = self._session.receive(seconds + max(30.0, 3 * seconds) + 60.0)
        except BrokenPipeError:
            return None
        if line is None:
            return None
        answer = json.loads(line)
        return answer if isinstance(answer, dict) else None

    def _restart(self) -> None:
        self.restarts += 1
        self._end()
        self._put_back()
        self._start()

    def _put_back(self) -> None:
        """The candidate may have ended the process before the tree was put back."""
        if self._private is None:
            return
        skipped = self._skipped()
        for entry in self._tree.iterdir():
            if any(PurePosixPath(path).parts[0] == entry.name for path in skipped):
                continue
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
        shutil.copytree(self._private / "backup", self._tree, symlinks=True, dirs_exist_ok=True)

    def _skipped(self) -> list[str]:
        """Places in the tree that something else is mounted over."""
        root = self._layout.root
        mounts = [*self._layout.mounts, *self._layout.interpreter.mounts()]
        below = [each.target for each in mounts if each.target != root and each.target.is_relative_to(root)]
        return sorted({each.relative_to(root).as_posix() for each in below})

    def _start(self) -> None:
        assert self._private is not None
        layout = self._layout
        backup = Mount(self._private / "backup", INSIDE_BACKUP)
        mounts = layout.mounts_for(self._tree, self._private, backup)
        words = ["warm"] if self._preload else ["warm", "--cold"]
        command = layout.command(mounts, words=words, seconds=LIFE_SECONDS)
        limits = Limits(LIFE_SECONDS, None, layout.limits.file_bytes, LINE_BYTES)
        env = {**command.env, **SINGLE_THREADED}
        command = type(command)(command.argv, command.cwd, command.mounts, env, limits)
        self._session = layout.sandbox.start(command)
        # Only a mount namespace has a /tmp of its own that may be emptied.
        shared = ["/tmp", "/dev/shm", "/var/tmp"] if layout.sandbox.remaps else []
        inner = layout.sandbox.locate(INSIDE_PRIVATE, mounts)
        setup = {
            "root": str(layout.sandbox.locate(layout.root, mounts)),
            "home": str(layout.root),
            "project": layout.project,
            "pytest": layout.own_pytest(mounts),
            "backup": str(layout.sandbox.locate(INSIDE_BACKUP, mounts)),
            "cache": str(inner / "cache"),
            "private": str(inner / "tmp"),
            "bytecode": str(inner / "bytecode"),
            "skipped": self._skipped(),
            "shared": [*shared, str(inner / "cache"), str(inner / "tmp")],
            "memory_bytes": layout.limits.memory_bytes,
            "file_bytes": layout.limits.file_bytes,
        }
        try:
            self._session.send(json.dumps(setup).encode())
            ready = self._session.receive(START_SECONDS)
        except BrokenPipeError:
            ready = None
        if ready is None:
            lines = self._session.errors().decode("utf-8", "replace").strip().splitlines()
            self._end()
            reason = lines[-1] if lines else "it does not answer"
            raise EnvironmentFailure(f"the warm test process does not start: {reason}", "see `planexec doctor`")

    def _end(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None


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
