"""Puts a run together, a new one or one that was interrupted.

What the command line asks for goes in; a controller that is ready to run comes out, or one line that says why not.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

import platformdirs

from planexec.assembly.casting import Cast, executor_of, planner_of, sight_of
from planexec.assembly.choices import UNSAID, ModelChoice
from planexec.assembly.configuration import Configuration, user_configuration, variables
from planexec.assembly.contracts import contract_files, kept_contract, named_tests, root_for
from planexec.assembly.models import Models, hold_back, models_of, recorded
from planexec.controller.loop import Controller
from planexec.controller.metering import MeteredModel
from planexec.controller.steps import StepRunner
from planexec.core.contract import Contract
from planexec.core.errors import ConflictError, EnvironmentFailure, UsageError
from planexec.core.state import BLOCKED, RUNNING, SUCCEEDED, RunState
from planexec.core.usage import OPTIONS, RAISABLE
from planexec.journal.artifacts import ArtifactStore
from planexec.journal.journal import Journal
from planexec.journal.runlog import RunLock, RunLog, events_of, resolve, seconds_worked
from planexec.llm.interface import LanguageModel
from planexec.sandbox.choose import choose
from planexec.sandbox.interface import Sandbox
from planexec.testing.bench import Bench
from planexec.testing.harness import Harness
from planexec.testing.interpreter import Interpreter, discover
from planexec.testing.testids import file_patterns
from planexec.tools.toolbox import Toolbox
from planexec.verifiers.registry import Registry
from planexec.workspace.branch import Identity, check_branch
from planexec.workspace.copies import Workspace
from planexec.workspace.gitview import synthesise
from planexec.workspace.repository import Repository
from planexec.workspace.where import Where

SHOWN_DIRTY = 10
PYTHON, SANDBOX, PROJECT = "python_path", "sandbox_name", "project"
MODEL, EXECUTOR_MODEL, BASE_URL = "model", "executor_model", "base_url"
"""Settings with which an interrupted run is taken up again."""
APPLY, KEEP, DRY_RUN, BRANCH = "apply", "keep", "dry-run", "branch"


@dataclass(frozen=True)
class Settings:
    """What a person may choose on the command line.

    ``apply`` is whether a proven patch goes to the working tree; ``branch`` is the new branch that it goes to instead;
    ``budget`` is in seconds, 0 for the contract's; ``own_interpreter_first`` is for fixtures that ship with planexec.
    ``project`` is the project root relative to the repository's; None looks for it from where planexec works up.
    """

    where: Where
    planner: str = "auto"
    executor: str = "auto"
    sandbox: str = "auto"
    python: str | None = None
    dry_run: bool = False
    apply: bool = True
    own_interpreter_first: bool = False
    project: str | None = None
    branch: str = ""
    include_dirty: bool = False
    budget: float = 0.0
    models: ModelChoice = UNSAID

    @property
    def mode(self) -> str:
        """What becomes of a proven patch, in the word that the run is recorded with."""
        if self.dry_run:
            return DRY_RUN
        return BRANCH if self.branch else APPLY if self.apply else KEEP


@dataclass
class Run:
    """A run that is ready to go, with what its end needs."""

    controller: Controller
    log: RunLog
    store: ArtifactStore
    repository: Repository
    workspace: Workspace
    interpreter: Interpreter
    sandbox: Sandbox
    where: Where
    models: Models
    dirty: tuple[str, ...] = ()
    held_back: tuple[str, ...] = ()


@contextmanager
def prepared(contract: Contract, text: str, settings: Settings, progress: Callable[[str], None]) -> Iterator[Run]:
    """Put a new run of a contract (``text`` is what it was read from) together: repository, sandbox, interpreter,
    copies, journal; the user's tree is only read.
    """
    repository = Repository.open(settings.where.repo)
    own = contract_files(contract, repository.root)
    dirty = uncommitted(repository, own)
    if not settings.include_dirty:
        refuse_dirty(dirty)
    if settings.branch:
        check_branch(repository, settings.branch)
        Identity.of(repository)
    place = _place(contract, settings, repository)
    check_cast(settings, place.models)
    held_back = hold_back(place.models, repository, text)
    run_id = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
    with _locked(place, run_id) as log:
        progress("copying the tree")
        workspace = Workspace.create(repository, cache_folder(), run_id, place.store, [*own, *held_back])
        with _discarded(workspace, place.sandbox):
            run = _assembled(contract, settings, progress, place, workspace, log, contract.limits.seconds)
            yield replace(run, dirty=dirty, held_back=_as_text(held_back))


def check_cast(settings: Settings, models: Models) -> None:
    """Whether planner, executor and models are there, before anything is copied. Raises UsageError."""
    cast = Cast((), models.planning, models.acting)
    planner_of(settings.planner, cast)
    executor_of(settings.executor, cast)


@contextmanager
def resumed(
    name: str,
    where: Where,
    progress: Callable[[str], None],
    models: ModelChoice = UNSAID,
    raised: Mapping[str, float] = MappingProxyType({}),
) -> Iterator[Run]:
    """Put an interrupted run together again, as it was: same contract, base, interpreter and kind of sandbox.

    ``name`` is a run id, the beginning of one, or empty for the latest. ``raised`` are limits (by their keys in the
    contract) that a run which ended at them is given anew. Raises UsageError where nothing is to be resumed,
    ConflictError where the repository moved on.
    """
    repository = Repository.open(where.repo)
    folder = where.folder()
    with Journal.open(folder, create=False) as journal:
        state = RunLog(journal, resolve(journal, name)).state
    if state.status != RUNNING and not at_limit(state, raised):
        raise UsageError(f"run {state.run_id} is {state.status}, so nothing is to be resumed", _instead(state, where))
    if repository.head != state.base["commit"]:
        raise ConflictError(
            f"run {state.run_id} began on commit {state.base['commit'][:12]}, and the repository is on"
            f" {repository.head[:12]}",
            "check that commit out, or start a new run",
        )
    contract = kept_contract(state, ArtifactStore(folder / "artifacts"))
    kept = state.settings
    settings = Settings(
        where, kept["planner"], kept["executor"], kept[SANDBOX], kept[PYTHON], kept["mode"] == DRY_RUN,
        kept["mode"] == APPLY, project=kept.get(PROJECT, ""), models=_same(models, kept),
    )  # fmt: skip
    place = _place(contract, settings, repository)
    with _locked(place, state.run_id) as log:
        progress("bringing the copies back")
        workspace = _copies_of(state, place.store)
        with _discarded(workspace, place.sandbox):
            allowed = raised.get("seconds") or float(kept.get("seconds", contract.limits.seconds))
            seconds = allowed - seconds_worked(events_of(log.journal, log.run_id))
            run = _assembled(contract, settings, progress, place, workspace, log, seconds)
            yield run


def at_limit(state: RunState, raised: Mapping[str, float]) -> bool:
    """Whether a run ended at a limit of which it is given more."""
    limit = RAISABLE.get(state.reason, "") if state.status == BLOCKED else ""
    return bool(limit) and limit in raised


def _same(models: ModelChoice, kept: Mapping[str, str]) -> ModelChoice:
    """The models that the run began with, where the command line does not name others."""
    return replace(
        models,
        model=models.model or kept.get(MODEL, ""),
        executor_model=models.executor_model or kept.get(EXECUTOR_MODEL, ""),
        base_url=models.base_url or kept.get(BASE_URL, ""),
    )


def _instead(state: RunState, where: Where) -> str:
    """What a person can do where there is nothing to resume."""
    if state.status == BLOCKED and state.reason in RAISABLE:
        return f"it ended at a limit; more of it: {where.command('resume', state.run_id, OPTIONS[state.reason], 'N')}"
    mode, branch = state.settings.get("mode"), state.settings.get("branch", "")
    if state.status != SUCCEEDED or mode == DRY_RUN:
        return "start a new run"
    if mode == BRANCH and state.branch_made != "finished":
        return f"{where.command('apply', state.run_id, '--branch', branch)} commits its patch"
    waits = mode != BRANCH and state.apply != "finished"
    return f"{where.command('apply', state.run_id)} applies its patch" if waits else "start a new run"


def _copies_of(state: RunState, store: ArtifactStore) -> Workspace:
    """The copies that the interrupted process left, or new ones from what the journal keeps."""
    try:
        return Workspace.reopen(cache_folder(), state.run_id, store)
    except EnvironmentFailure:
        return Workspace.rebuild(cache_folder(), state.run_id, store, state.base["workspace"])


@dataclass(frozen=True)
class _Place:
    """Where a run works and with what."""

    repository: Repository
    sandbox: Sandbox
    interpreter: Interpreter
    folder: Path
    store: ArtifactStore
    project: str
    configuration: Configuration
    models: Models


def _place(contract: Contract, settings: Settings, repository: Repository) -> _Place:
    configuration, root = user_configuration(), repository.root
    models = models_of(settings.models, configuration)
    asked = settings.sandbox if settings.sandbox != "auto" else configuration.sandbox or "auto"
    sandbox = choose(asked)
    project = root_for(contract, settings.where.repo, root) if settings.project is None else settings.project
    own = settings.own_interpreter_first  # a fixture has its packages beside planexec, not where the user's projects do
    interpreter = discover(
        root, project=root / project, flag=settings.python, configured=None if own else configuration.python or None,
        contract=contract.environment.python or None, own_first=own,
    )  # fmt: skip
    folder = settings.where.claim()
    # What lies in the repository is under the tree and the git folder that tests see there, editable sources too.
    outside = not folder.is_relative_to(root)
    if outside and any(folder.is_relative_to(mount.source) for mount in interpreter.mounts()):
        raise UsageError(f"the state folder {folder} can be read by the tests", "choose another --state-dir")
    store = ArtifactStore(folder / "artifacts")
    return _Place(repository, sandbox, interpreter, folder, store, project, configuration, models)


@contextmanager
def _locked(place: _Place, run_id: str) -> Iterator[RunLog]:
    """The log of a run, for this process alone. Raises UsageError while another process works on the run."""
    lock = RunLock(place.folder, run_id)
    if not lock.acquire():
        raise UsageError(f"another process works on run {run_id}", "wait for it to end")
    try:
        with Journal.open(place.folder) as journal:
            yield RunLog(journal, run_id)
    finally:
        lock.release()


@contextmanager
def _discarded(workspace: Workspace, sandbox: Sandbox) -> Iterator[None]:
    """Remove the copies at the end: what a run needs to go on is in its journal. Large ones are kept for the next run,
    where nothing that was executed could reach the pristine one.
    """
    try:
        yield
    finally:
        workspace.discard(keep=sandbox.remaps)


def _assembled(
    contract: Contract,
    settings: Settings,
    progress: Callable[[str], None],
    place: _Place,
    workspace: Workspace,
    log: RunLog,
    seconds: float,
) -> Run:
    git = synthesise(place.repository, workspace.folder / "git") if place.sandbox.remaps else []
    harness = Harness(
        place.sandbox, place.interpreter, place.repository.root, [*git, *workspace.mounts],
        env=variables(place.configuration), project=place.project, patterns=file_patterns(named_tests(contract)),
    )  # fmt: skip
    bench = Bench(workspace, harness, place.store, contract.limits.suite_seconds)
    deadline = time.monotonic() + seconds

    def left() -> float:
        return deadline - time.monotonic()

    def metered(model: LanguageModel | None) -> MeteredModel | None:
        if model is None:
            return None
        clean, price = models.redactor.text, models.prices.cost
        return MeteredModel(model, log, place.store, contract.limits, left, clean, price, progress)

    models, toolbox = recorded(place.models, settings.models), Toolbox.standard()

    shown = sight_of(contract, bench, log)
    cast = Cast(tuple(toolbox.tools.values()), metered(models.planning), metered(models.acting), shown)
    executor, planner = executor_of(settings.executor, cast), planner_of(settings.planner, cast)
    steps = StepRunner(contract, log, executor, toolbox, bench, Registry.of(contract), left, progress)
    controller = Controller(contract, log, planner, steps, progress)
    return Run(
        controller, log, place.store, place.repository, workspace, place.interpreter, place.sandbox, settings.where,
        models,
    )  # fmt: skip


def uncommitted(repository: Repository, own: Collection[str]) -> tuple[str, ...]:
    """The files that differ from the commit, as text; the contract's ``own`` files do not count."""
    return _as_text(path for path in repository.dirty() if path not in own)


def _as_text(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(os.fsencode(path).decode("utf-8", "backslashreplace") for path in paths)


def refuse_dirty(dirty: Sequence[str]) -> None:
    """What a run starts from is what is committed, unless it is asked for otherwise. Raises ConflictError."""
    if dirty:
        more = f" and {len(dirty) - SHOWN_DIRTY} more" if len(dirty) > SHOWN_DIRTY else ""
        raise ConflictError(
            f"the tree has uncommitted changes: {', '.join(dirty[:SHOWN_DIRTY])}{more}",
            "commit or stash them first, or start from them: --include-dirty",
        )


def cache_folder() -> Path:
    """Where copies are made: the user's cache folder."""
    folder = Path(platformdirs.user_cache_path("planexec"))
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise EnvironmentFailure(
            f"the cache folder {folder} cannot be made: {error.strerror}", "set XDG_CACHE_HOME"
        ) from None
    return folder
