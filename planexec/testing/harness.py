"""Runs the target project's tests in the sandbox and says what happened, and whether that is to be believed."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from planexec.core.errors import EnvironmentFailure
from planexec.sandbox.interface import CommandResult, FileTree, Limits, Mount, Sandbox
from planexec.testing import records as reading
from planexec.testing.interpreter import Interpreter
from planexec.testing.layout import INSIDE_CHANNEL, INSIDE_PRIVATE, Layout, private_folder
from planexec.testing.outcomes import Frame, Sighting, TestReport, TraceReport
from planexec.testing.records import Records
from planexec.testing.testids import IdTranslator
from planexec.testing.warmjudge import WarmJudge

OUTPUT_CHARACTERS = 40_000
COLLECT_SECONDS = 120.0
# pytest's own exit codes
INTERNAL_ERROR, USAGE_ERROR = 3, 4
REPORT = "report.jsonl"


class Harness:
    """Runs tests of trees that stand in for the repository at ``root``.

    A tree is mounted writable at ``root``; ``mounts`` come after it (large ignored folders, environments). Tests run in
    the ``project`` root (relative to ``root``, posix), commands at ``root``. Test ids are pytest node ids relative to
    ``root``; a class, a file, a folder or a test without its parameters may stand for all of its tests. ``env`` is
    added to the environment (what the person asked to pass through). ``patterns`` are globs of test files besides those
    that the project's configuration has.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        interpreter: Interpreter,
        root: Path,
        mounts: Sequence[Mount] = (),
        limits: Limits | None = None,
        *,
        env: Mapping[str, str] | None = None,
        project: str = "",
        patterns: Sequence[str] = (),
    ) -> None:
        self._ids = IdTranslator(project)
        given, where = dict(env or {}), self._ids.project
        self._layout = Layout(
            sandbox, interpreter, root, tuple(mounts), limits or Limits(), given, where, tuple(patterns)
        )

    def run(self, tree: FileTree, ids: Sequence[str] = (), *, seconds: float) -> TestReport:
        """Run ``ids``, or the whole suite, in ``tree`` for at most ``seconds``.

        Ids that do not exist have no outcome. Raises EnvironmentFailure only when our own pytest is needed and does
        not fit; everything else is in the report.
        """
        return self._run("run", tree, ids, seconds)[0]

    def collect(self, tree: FileTree, ids: Sequence[str] = (), *, seconds: float = COLLECT_SECONDS) -> list[str]:
        """The ids of the tests in ``tree``. Raises EnvironmentFailure when they cannot be collected at all."""
        report, records = self._run("collect", tree, ids, seconds)
        used = self._used()
        other = "make a .venv with what the project needs, or name an interpreter that has it with --python"
        if records.of("foreign"):
            raise EnvironmentFailure(
                f"{records.of('foreign')[0]['text']}; run with {used}", f"pip install -e . ; or {other}"
            )
        if not records.of("collected"):
            reason = report.environment_problem or next(iter(report.collection_errors.values()), "") or report.distrust
            raise EnvironmentFailure(f"the tests cannot be collected with {used}: {reason}", other)
        return report.collected

    def trace(self, tree: FileTree, ids: Sequence[str], *, watch: Sequence[str] = (), seconds: float) -> TraceReport:
        """Run ``ids`` with every line of the project recorded; ``watch`` holds reprs of values to look out for."""
        report, records = self._run("trace", tree, ids, seconds, watch=watch)
        found = records.of("trace")
        data: Mapping[str, Any] = found[-1]["data"] if found and records.sealed else {}
        return TraceReport(
            report=report,
            lines=data.get("lines", {}),
            import_lines=data.get("import_lines", {}),
            frames=msgspec.convert(data.get("frames", {}), dict[str, list[Frame]]),
            sightings=msgspec.convert(data.get("sightings", []), list[Sighting]),
        )

    def warm(self, tree: FileTree) -> WarmJudge:
        """A judge of many candidates (context manager). ``tree`` is rewritten by it: give it a private copy."""
        return WarmJudge(self._layout, tree)

    def command(self, tree: FileTree, argv: Sequence[str], *, seconds: float) -> CommandResult:
        """Run a program in ``tree`` with the environment that tests have, for at most ``seconds``."""
        layout = self._layout
        with private_folder() as private:
            mounts = layout.mounts_for(tree, private)
            command = layout.command(mounts, seconds=seconds)
            cwd = layout.sandbox.locate(layout.root, mounts)
            return layout.sandbox.run(replace(command, argv=tuple(argv), cwd=cwd))

    def _used(self) -> str:
        return f"{self.interpreter.executable} ({self.interpreter.source})"

    @property
    def project(self) -> str:
        """The project root relative to the repository's root, posix; empty when they are the same."""
        return self._ids.project

    @property
    def root(self) -> Path:
        """The repository's root, in whose place the trees stand."""
        return self._layout.root

    @property
    def interpreter(self) -> Interpreter:
        """What runs the tests."""
        return self._layout.interpreter

    @property
    def variables(self) -> list[str]:
        """The names of what is added to the environment."""
        return sorted(self._layout.env)

    def layers(self, folder: Path) -> bool:
        """Whether trees in ``folder`` may be changes over another tree, instead of whole ones."""
        return self._layout.layers(folder)

    @property
    def sandbox(self) -> Sandbox:
        """Where everything of the target runs."""
        return self._layout.sandbox

    def _run(
        self, mode: str, tree: FileTree, ids: Sequence[str], seconds: float, *, watch: Sequence[str] = ()
    ) -> tuple[TestReport, Records]:
        layout, key, canary = self._layout, secrets.token_bytes(32), canary_name()
        with private_folder() as private:
            mounts = layout.mounts_for(tree, private)
            channel = layout.sandbox.locate(INSIDE_CHANNEL, mounts)
            request = {
                "mode": mode,
                "ids": self._ids.inward(ids),
                "watch": list(watch),
                "key": key.hex(),
                "canary": canary,
                "root": str(layout.sandbox.locate(layout.root, mounts)),
                "home": str(layout.root),
                "project": layout.project,
                "report": str(channel / REPORT),
                "cache": str(layout.sandbox.locate(INSIDE_PRIVATE, mounts) / "cache"),
                "pytest": layout.own_pytest(mounts),
                "patterns": list(layout.patterns),
            }
            stdin = json.dumps(request).encode()
            result = layout.sandbox.run(layout.command(mounts, stdin=stdin, seconds=seconds))
            records = reading.parse(reading.read_file(private / "channel" / REPORT), key)
        records = self._ids.translated(records, canary)
        report = assemble(records, result, canary)
        return msgspec.structs.replace(report, interpreter=self._used()), records


def canary_name() -> str:
    """A name that looks like that of any other test module and cannot be foreseen."""
    return "test_" + secrets.token_hex(8)


def assemble(records: Records, result: CommandResult, canary: str) -> TestReport:
    """The report from what came back over the channel and how the process ended."""
    folded = reading.fold(records)
    problem = environment_problem(records, result)
    if result.timed_out:
        where = f" during {records.last_started}" if records.last_started else ""
        distrust = f"timed out after {result.seconds:.0f} s{where}"
    else:
        distrust = reading.why_not_trusted(records, folded, canary, result.exit_code)
        if distrust and problem and not folded.outcomes:
            distrust = f"the tests could not be run: {problem}"
    outcomes = {test: each for test, each in folded.outcomes.items() if not test.startswith(f"{canary}.py::")}
    return TestReport(
        outcomes=outcomes,
        collection_errors={str(each["id"]): str(each["text"]) for each in records.of("collection_error")},
        trusted=not distrust,
        distrust=distrust,
        exit_code=result.exit_code,
        timed_out=result.timed_out,
        seconds=result.seconds,
        output=printed(result, canary),
        collected=[str(test) for entry in records.of("collected") for test in entry["ids"]],
        environment_problem=problem,
    )


def environment_problem(records: Records, result: CommandResult) -> str:
    """What the environment lacks, in one line: told by the target side, or pytest's own refusal of its command line."""
    told = records.of("environment")
    if told:
        return str(told[0]["text"])
    if records.of("start") or records.of("collected") or result.timed_out:
        return ""
    closing = records.of("closing")
    if closing and closing[-1]["exit"] == INTERNAL_ERROR:
        text = (result.stdout + result.stderr).decode("utf-8", "replace")
        found = re.findall(r"^(?:INTERNALERROR> |E +)(\w\S*: .*)$", text, re.MULTILINE)
        return "pytest stops with an internal error" + (f": {found[-1].strip()}" if found else "")
    if closing and closing[-1]["exit"] == USAGE_ERROR:
        lines = [line.strip() for line in result.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
        told_by_pytest = [line for line in lines if "error:" in line.lower() and "usage:" not in line]
        last = (told_by_pytest or lines or ["its configuration is wrong"])[0]
        return "" if records.of("collection_error") else f"pytest refuses to start: {last}"
    if not records.entries and not result.stdout and result.stderr:
        return "the interpreter does not start: " + result.stderr.decode("utf-8", "replace").strip().splitlines()[-1]
    return ""


def printed(result: CommandResult, canary: str) -> str:
    """What pytest printed, without control characters of terminals and lines about the planted test, bounded."""
    text = (result.stdout + b"\n" + result.stderr).decode("utf-8", "replace").strip()
    text = "\n".join(line for line in text.splitlines() if canary not in line)
    if len(text) <= OUTPUT_CHARACTERS:
        return text
    half = OUTPUT_CHARACTERS // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
