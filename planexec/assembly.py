"""The one place where concrete parts are chosen and put together.

What the command line asks for goes in; a controller that is ready to run comes out, or one line that says why not.
"""

from __future__ import annotations

import difflib
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import msgspec
import platformdirs

from planexec import __version__
from planexec.controller.loop import Controller
from planexec.controller.steps import StepRunner
from planexec.core import events as e
from planexec.core.contract import REGRESSION_RED, Contract
from planexec.core.contract_reader import read_contract
from planexec.core.errors import ConflictError, EnvironmentFailure, PlanexecError, UsageError
from planexec.core.example import default_file
from planexec.core.plan import Proposal
from planexec.core.roles import Executor, Planner
from planexec.core.rules import validate_plan
from planexec.core.state import RunState
from planexec.executors.workflow import WorkflowExecutor
from planexec.journal.artifacts import ArtifactStore
from planexec.journal.journal import Journal
from planexec.journal.runlog import RunLock, RunLog
from planexec.planners.workflow import REGRESSION_FILE, WorkflowPlanner
from planexec.sandbox.choose import choose
from planexec.sandbox.interface import Sandbox
from planexec.testing.bench import Bench
from planexec.testing.harness import Harness
from planexec.testing.interpreter import Interpreter, discover
from planexec.tools.investigate import target_ids
from planexec.tools.toolbox import Toolbox
from planexec.verifiers.registry import Registry, plugins
from planexec.workspace.copies import Workspace
from planexec.workspace.gitview import synthesise
from planexec.workspace.repository import Repository
from planexec.workspace.state import state_folder

PLANNERS: dict[str, Callable[[], Planner]] = {"workflow": WorkflowPlanner}
EXECUTORS: dict[str, Callable[[], Executor]] = {"workflow": WorkflowExecutor}
SHOWN_DIRTY = 10
_T = TypeVar("_T")


@dataclass(frozen=True)
class Settings:
    """What a person may choose on the command line. ``own_interpreter_first`` is for fixtures that ship with
    planexec.
    """

    repo: Path
    planner: str = "auto"
    executor: str = "auto"
    sandbox: str = "auto"
    python: str | None = None
    dry_run: bool = False
    own_interpreter_first: bool = False


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
    cleanup: list[Callable[[], None]] = field(default_factory=list)


def load_contract(path: Path) -> Contract:
    """Read a contract and the files beside it. Raises ContractError, UsageError."""
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        near = (
            difflib.get_close_matches(path.name, [p.name for p in path.parent.glob("*.y*ml")], n=1)
            if path.parent.is_dir()
            else []
        )
        raise UsageError(
            f"there is no contract '{path}'",
            f"did you mean '{path.parent / near[0]}'?" if near else "give the path of a YAML file",
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the contract '{path}' cannot be read: {error}", "it is a YAML file in UTF-8") from None
    return read_contract(text, str(path), lambda name: (path.parent / name).read_bytes(), plugins())


def contract_for_tests(tests: Sequence[str]) -> tuple[Contract, str]:
    """The contract that ``fix`` makes of failing tests, bound and as the text that is kept with the run."""
    many = "tests pass" if len(tests) > 1 else "test passes"
    body = {
        "goal": f"{len(tests)} failing {many}: {', '.join(tests)}"[:300],
        "success": {
            "reproduction": {
                "text": "the tests fail on the base and pass afterwards",
                "verifier": REGRESSION_RED,
                "tests": list(tests),
            },
            "tests": "everything that passed before still passes",
            "diff_scope": "nothing else is changed",
        },
    }  # fmt: skip
    text = msgspec.yaml.encode(body).decode()
    return read_contract(text, "contract.yaml"), text


@contextmanager
def prepared(contract: Contract, settings: Settings, progress: Callable[[str], None]) -> Iterator[Run]:
    """Put a run together: repository, sandbox, interpreter, copies, journal; the user's tree is only read."""
    repository = Repository.open(settings.repo)
    own = contract_files(contract, repository.root)
    refuse_dirty(repository, own)
    sandbox = choose(settings.sandbox)
    interpreter = discover(
        repository.root, flag=settings.python, contract=contract.environment.python or None,
        own_first=settings.own_interpreter_first,
    )  # fmt: skip
    state = state_folder(repository.root)
    run_id = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
    lock = RunLock(state, run_id)
    lock.acquire()
    with Journal.open(state) as journal:
        store = ArtifactStore(state / "artifacts")
        progress("copying the tree")
        workspace = Workspace.create(repository, cache_folder(), run_id, store, own)
        try:
            run = _assembled(
                contract,
                settings,
                progress,
                repository,
                sandbox,
                interpreter,
                workspace,
                store,
                RunLog(journal, run_id),
            )
            yield run
        finally:
            workspace.discard()
            lock.release()


def _assembled(
    contract: Contract,
    settings: Settings,
    progress: Callable[[str], None],
    repository: Repository,
    sandbox: Sandbox,
    interpreter: Interpreter,
    workspace: Workspace,
    store: ArtifactStore,
    log: RunLog,
) -> Run:
    git = synthesise(repository, workspace.folder / "git") if sandbox.remaps else []
    harness = Harness(sandbox, interpreter, repository.root, [*git, *workspace.mounts])
    bench = Bench(workspace, harness, store, contract.limits.suite_seconds)
    deadline = time.monotonic() + contract.limits.seconds
    steps = StepRunner(
        contract, log, _chosen(EXECUTORS, settings.executor, "executor")(), Toolbox.standard(), bench,
        Registry.of(contract), lambda: deadline - time.monotonic(), progress,
    )  # fmt: skip
    controller = Controller(contract, log, _chosen(PLANNERS, settings.planner, "planner")(), steps, progress)
    return Run(controller, log, store, repository, workspace, interpreter, sandbox)


def begin(run: Run, contract: Contract, settings: Settings, text: str) -> None:
    """Check that the tests can be run at all, then write the run's first event."""
    steps = run.controller.steps
    preflight(steps.bench, contract)
    base = run.workspace.base
    check = contract.reproduction
    chosen = {
        "planner": run.controller.planner.name,
        "executor": steps.executor.name,
        "mechanism": "fixed workflow with search: no model is configured",
        "sandbox": run.sandbox.describe(),
        "interpreter": f"{run.interpreter.executable} ({run.interpreter.source})",
        "python": ".".join(map(str, run.interpreter.version)),
        "mode": "dry-run" if settings.dry_run else "apply",
        "planexec": __version__,
        REGRESSION_FILE: default_file(check, base.entries) if check and check.arguments.example else "",
    }
    run.log.record(
        e.RunStarted(
            run_id=run.log.run_id,
            goal=contract.goal,
            contract=run.store.put(text.encode()),
            contract_digest=contract.digest,
            scope=contract.scope.label(),
            required_checks=contract.required_checks,
            replan_budget=contract.limits.replan_budget,
            corrections=contract.limits.corrections,
            actions_per_step=contract.limits.actions_per_step,
            base={
                "commit": run.repository.head,
                "repository": str(run.repository.root),
                "workspace": run.workspace.key,
            },
            settings=chosen,
            snapshot=run.store.put(base.encode()),
        )
    )


def preflight(bench: Bench, contract: Contract) -> None:
    """Tests that the contract names must exist, and the suite must be collectable. Raises UsageError,
    EnvironmentFailure.
    """
    with bench.tree() as tree:
        known = bench.harness.collect(tree)
    laid = {name.rsplit("/", 1)[-1] for name in contract.files}
    laid |= {check.arguments.at.rsplit("/", 1)[-1] for check in contract.checks.values()}
    for name in (*target_ids(contract), *(t for c in contract.checks.values() for t in c.arguments.tests)):
        file = name.split("::")[0]
        if any(each == name or each.startswith((f"{name}[", f"{name}::", f"{name}/")) for each in known):
            continue
        if file.rsplit("/", 1)[-1] in laid or (
            file in bench.workspace.base.entries and "::" in name and not _collected(file, known)
        ):
            continue
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        raise UsageError(
            f"there is no test '{name}'",
            f"did you mean '{near[0]}'?" if near else "ids look like tests/test_x.py::test_y",
        )


def _collected(file: str, known: Sequence[str]) -> bool:
    return any(each.startswith(f"{file}::") for each in known)


def refuse_dirty(repository: Repository, own: Collection[str] = ()) -> None:
    """A tree with uncommitted work is not a base to prove anything on; the contract's ``own`` files do not count.

    Raises ConflictError with the files.
    """
    dirty = [path for path in repository.dirty() if path not in own]
    if dirty:
        more = f" and {len(dirty) - SHOWN_DIRTY} more" if len(dirty) > SHOWN_DIRTY else ""
        raise ConflictError(
            f"the tree has uncommitted changes: {', '.join(dirty[:SHOWN_DIRTY])}{more}",
            "commit or stash them first; planexec starts from what is committed",
        )


def propose(contract: Contract, settings: Settings) -> tuple[Proposal, list[str]]:
    """The first plan and what the rules say of it; nothing is run and nothing is written."""
    repository = Repository.open(settings.repo)
    planner = _chosen(PLANNERS, settings.planner, "planner")()
    check = contract.reproduction
    file = default_file(check, repository.tracked()) if check and check.arguments.example else ""
    state = RunState(
        goal=contract.goal, scope=contract.scope.label(), required_checks=contract.required_checks,
        settings={REGRESSION_FILE: file}, replans_left=contract.limits.replan_budget,
    )  # fmt: skip
    proposal = planner.propose(contract, state)
    if proposal is None:
        raise PlanexecError(
            "the planner has no plan for this contract", "add a reproduction or a check that is bound to tests"
        )
    return proposal, validate_plan(proposal, state.scope, state.required_checks, Toolbox.standard().names)


def contract_files(contract: Contract, root: Path) -> list[str]:
    """The contract and the tests beside it, where they lie in the repository: nothing that is executed may see them
    (L2).
    """
    source = Path(contract.source).absolute()
    places = [source, *((source.parent / name).absolute() for name in contract.files)]
    return [
        str(place.resolve().relative_to(root))
        for place in places
        if place.is_file() and place.resolve().is_relative_to(root)
    ]


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


def _chosen(known: dict[str, _T], name: str, what: str) -> _T:
    """``auto`` is the workflow: without a model there is nothing else to choose from."""
    name = "workflow" if name == "auto" else name
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean '{near[0]}'?" if near else f"known: auto, {', '.join(known)}"
        raise UsageError(f"there is no {what} '{name}'", hint)
    return known[name]
