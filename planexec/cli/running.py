"""Commands that work: run, fix, resume, plan. Progress goes to standard error, the result to standard output."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from planexec.assembly.beginning import propose
from planexec.assembly.choices import UNSAID, ModelChoice
from planexec.assembly.contracts import contract_for_tests, load_contract, repository_ids
from planexec.assembly.driving import Ended, drive, go_on
from planexec.assembly.opened import mend
from planexec.assembly.parts import (
    APPLY,
    DRY_RUN,
    Run,
    Settings,
    cache_folder,
)
from planexec.cli.inspecting import write_json
from planexec.cli.live import Narrator
from planexec.cli.opened import opened, tell
from planexec.core.contract import Contract
from planexec.core.durations import seconds_of
from planexec.core.errors import UsageError
from planexec.core.plan import as_json
from planexec.core.state import RUNNING, SUCCEEDED, RunState
from planexec.testing.discovery import named_here
from planexec.workspace.where import Where


@dataclass(frozen=True)
class Options:
    """The options that ``run`` and ``fix`` share."""

    where: Where
    dry_run: bool = False
    apply: bool = True
    planner: str = "auto"
    executor: str = "auto"
    sandbox: str = "auto"
    python: str | None = None
    as_json: bool = False
    events: bool = False
    branch: str = ""
    include_dirty: bool = False
    budget: str = ""
    models: ModelChoice = UNSAID

    def settings(self) -> Settings:
        """What the assembly needs. Raises UsageError for options that exclude each other."""
        python = named_here(self.python, Path())
        if self.branch and (self.dry_run or not self.apply):
            other = "--dry-run" if self.dry_run else "--no-apply"
            raise UsageError(f"--branch does not go with {other}", "leave one of them out")
        if self.branch and self.include_dirty:
            raise UsageError(
                "--branch does not go with --include-dirty: what is uncommitted cannot be under a commit",
                "commit it first, or leave --branch out",
            )
        return Settings(
            self.where, self.planner, self.executor, self.sandbox, python, self.dry_run, self.apply,
            branch=self.branch, include_dirty=self.include_dirty,
            budget=seconds_of(self.budget) if self.budget else 0.0, models=self.models,
        )  # fmt: skip


def run(path: Path, options: Options, fixture: Path | None, into: Path | None) -> int:
    """Run a contract in a repository, or in a throwaway one made from a folder."""
    contract, text = load_contract(path)
    settings = options.settings()
    if into is not None and fixture is None:
        raise UsageError("--into goes with --fixture", "it says where the throwaway repository is kept")
    if fixture is None:
        return _drive(contract, text, options, settings)
    from planexec.workspace.throwaway import make_repository

    if options.branch:
        raise UsageError("--branch does not go with --fixture, which is a dry-run", "leave one of them out")
    target = make_repository(fixture, into, cache_folder())
    sys.stderr.write(f"planexec: throwaway repository {target}\n")
    where = replace(settings.where, repo=target)
    settings = replace(settings, where=where, dry_run=True, own_interpreter_first=True)
    code = _drive(contract, text, options, settings)
    sys.stderr.write(f"planexec: look at it again with: {where.command('status')}\n")
    return code


def fix(tests: list[str], options: Options) -> int:
    """Make a contract of failing tests, and run it."""
    settings = options.settings()
    contract, text = contract_for_tests(repository_ids(tests, options.where.repo))
    return _drive(contract, text, options, settings)


def resume(run_id: str, options: Options, raised: Mapping[str, float]) -> int:
    """Go on with an interrupted run, to the end that it would have had; or with one that ended at a limit."""
    with opened(options.where) as found:  # mends, and says so where there is no run
        known = found.log(run_id).state
    narrator = Narrator(events=options.events, quiet=options.as_json)
    begun: list[Run] = []

    def ready(run: Run) -> None:
        begun.append(run)
        narrator.begin(run.log.run_id, run.log.state.settings)
        run.log.listeners.append(narrator.hear)

    with _telling(options.where, begun, known), narrator:
        ended = go_on(run_id, options.where, narrator.progress, ready, options.models, raised)
    return _told(ended, options)


def _drive(contract: Contract, text: str, options: Options, settings: Settings) -> int:
    mend(settings.where, tell)
    narrator = Narrator(events=options.events, quiet=options.as_json)
    begun: list[Run] = []

    def ready(run: Run) -> None:
        begun.append(run)
        run.log.listeners.append(narrator.hear)

    with _telling(settings.where, begun), narrator:
        ended = drive(contract, text, settings, narrator.progress, ready)
    return _told(ended, options)


@contextmanager
def _telling(where: Where, begun: Sequence[Run], known: RunState | None = None) -> Iterator[None]:
    """A signal ends a command with the line that says how to go on."""
    try:
        yield
    except KeyboardInterrupt as error:
        error.add_note(_interrupted(where, begun[0].log.state if begun else known or RunState()))
        raise


def _interrupted(where: Where, state: RunState) -> str:
    if not state.run_id:
        return "interrupted before the run began; nothing is left to be resumed"
    if state.status == RUNNING:
        return f"interrupted; to go on: {where.command('resume', state.run_id)}"
    branch = state.settings.get("branch", "")
    if state.status == SUCCEEDED and (state.settings.get("mode") == APPLY or branch):
        again = where.command("apply", state.run_id, *(["--branch", branch] if branch else []))
        return f"interrupted after the proof; what was being applied is mended by: {again}"
    return f"interrupted after the run had ended; to see it: {where.command('status', state.run_id)}"


def _told(ended: Ended, options: Options) -> int:
    """Say how a run ended; its exit code."""
    _result(ended.document, options)
    if ended.conflict:
        sys.stderr.write(f"planexec: {ended.conflict}\n")
    return ended.exit_code


def _result(document: dict[str, Any], options: Options) -> None:
    if options.as_json:
        write_json(document)
    elif not options.events:
        from planexec.cli.render import page, show_run

        show_run(page(), document)
        if document["status"] == SUCCEEDED:
            sys.stderr.write(f"planexec: {_applied(document, options.where)}\n")


def _applied(document: dict[str, Any], where: Where) -> str:
    if document["branch"]["outcome"] == "finished":
        return f"committed to the new branch {document['branch']['name']}; the work tree is as it was"
    if document["applied"] == "finished":
        return f"applied to {', '.join(document['diff']['files'])}; nothing is committed"
    if document["settings"].get("mode") == DRY_RUN:
        return "a dry-run: the patch is shown, and never applied"
    return f"not applied; {where.command('apply', document['run_id'])} applies the patch"


def plan(path: Path, repo: Path, planner: str, models: ModelChoice, as_document: bool) -> int:
    """Propose and check; 0 when the rules have nothing against the plan."""
    contract, _ = load_contract(path)
    proposal, findings = propose(contract, Settings(Where(repo), planner=planner, models=models))
    if as_document:
        write_json({"scope": proposal.scope, "steps": as_json(proposal.steps), "findings": findings})
    else:
        from planexec.cli.render import page, show_plan

        out = page()
        out.line(f"goal: {contract.goal}")
        show_plan(out, "Plan 1", as_json(proposal.steps))
        for finding in findings:
            out.line(f"  against the rules: {finding}", "red")
    return 3 if findings else 0
