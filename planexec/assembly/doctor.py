"""``planexec doctor``: can planexec work on this repository, on this machine, with what is found? If not, why."""

from __future__ import annotations

import secrets
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planexec import __version__
from planexec.assembly.choices import ModelChoice
from planexec.assembly.configuration import configuration_file, user_configuration, variables
from planexec.assembly.models import models_of
from planexec.assembly.parts import cache_folder
from planexec.core.contract import Limits
from planexec.core.errors import EnvironmentFailure, PlanexecError, UsageError
from planexec.journal.artifacts import ArtifactStore
from planexec.journal.journal import Journal
from planexec.llm.examining import examine_model
from planexec.llm.settings import OWN_SERVER
from planexec.sandbox.bubblewrap import BubblewrapSandbox
from planexec.sandbox.choose import choose
from planexec.sandbox.interface import Sandbox
from planexec.sandbox.landlock import LandlockSandbox
from planexec.testing.bench import Bench, flaky
from planexec.testing.discovery import Surroundings
from planexec.testing.harness import Harness
from planexec.testing.interpreter import Interpreter, attempts
from planexec.testing.outcomes import TestReport
from planexec.workspace.copies import Workspace
from planexec.workspace.forms import forms
from planexec.workspace.gitcommand import git, program
from planexec.workspace.gitview import synthesise
from planexec.workspace.projectroot import project_root
from planexec.workspace.repository import Repository
from planexec.workspace.where import Where

SHOWN_DIRTY = 10
Document = dict[str, Any]


@dataclass(frozen=True)
class Questions:
    """What a person asks with: a folder of the repository, the interpreter, the sandbox, whether to run the tests,
    which model to ask (None asks none).
    """

    where: Where
    env: dict[str, str]
    python: str | None = None
    sandbox: str = "auto"
    tests: bool = True
    models: ModelChoice | None = None
    suite_seconds: float = Limits().suite_seconds


def examine(questions: Questions, progress: Callable[[str], None]) -> Document:
    """Look at everything that a run needs; the document has stable keys, see ``docs/environment.md``.

    ``usable`` says whether planexec can work here, ``advice`` has one line for each thing that is wrong. Nothing is
    written but copies in the cache folder and a file beside the state folder, and these are removed again. Raises
    UsageError for what a person asked for and cannot be had.
    """
    doctor = _Doctor(questions, progress)
    sections: dict[str, Callable[[], Document | None]] = {
        "configuration": doctor.configuration, "sandbox": doctor.sandboxes, "git": doctor.git,
        "repository": doctor.repository, "state": doctor.state, "interpreter": doctor.interpreters,
        "baseline": doctor.baseline, "model": doctor.model,
    }  # fmt: skip
    found: Document = {"planexec": __version__}
    for name, look in sections.items():
        try:
            found[name] = look()
        except UsageError:
            raise
        except PlanexecError as error:
            doctor.wrong(error)
            found[name] = {"problem": error.message}
    return {**found, "usable": doctor.usable, "advice": doctor.advice}


class _Doctor:
    """Asks one thing after the other; what was found is kept for the later questions."""

    def __init__(self, questions: Questions, progress: Callable[[str], None]) -> None:
        self.questions, self.progress = questions, progress
        self.advice: list[str] = []
        self.usable = True
        self._sandbox: Sandbox | None = None
        self._repository: Repository | None = None
        self._interpreter: Interpreter | None = None
        self._project = ""

    def wrong(self, error: PlanexecError) -> None:
        """Without this planexec cannot work."""
        self.usable = False
        self.advice.append(error.told)

    def model(self) -> Document | None:
        """What the model's server can do, where a person asks for it."""
        choice = self.questions.models
        if choice is None:
            return None
        models = models_of(choice, user_configuration())
        if models.planning is None:
            raise UsageError("no model is configured", "name one: --model-name NAME, PLANEXEC_MODEL, or config.yaml")
        self.progress(f"asking the model {models.planning.name}")
        found = examine_model(models.planning, models.base_url or OWN_SERVER)
        if not found["answers"]:
            self.wrong(EnvironmentFailure(found["problem"], found["hint"]))
        return found

    def configuration(self) -> Document:
        """The user's own configuration."""
        file = configuration_file()
        found = user_configuration()
        return {"file": str(file), "exists": file.is_file(), "pass_env": list(found.pass_env)}

    def sandboxes(self) -> Document:
        """Every mechanism, and the chosen one."""
        self.progress("trying the sandbox mechanisms")
        found: Document = {"chosen": None, "mechanisms": [_mechanism(each) for each in ("bubblewrap", "landlock")]}
        asked = self.questions.sandbox
        try:
            self._sandbox = choose(asked if asked != "auto" else user_configuration().sandbox or "auto")
        except EnvironmentFailure as error:
            self.wrong(error)
            return {**found, "problem": error.message}
        return {**found, "chosen": self._sandbox.name, "describes": self._sandbox.describe()}

    def git(self) -> Document:
        """The git of this machine."""
        version = git(["--version"], Path("/")).stdout.decode("utf-8", "replace")
        return {"program": program(), "version": version.removeprefix("git version").strip()}

    def repository(self) -> Document:
        """Root, commit, uncommitted files, special forms, project root."""
        self.progress("looking at the repository")
        self._repository = repository = Repository.open(self.questions.where.repo)
        self._project = project_root(self.questions.where.repo, repository.root)
        dirty = repository.dirty()
        if dirty:
            self.advice.append(f"{len(dirty)} uncommitted files, the first '{dirty[0]}': commit or stash them first")
        return {
            "root": str(repository.root), "head": repository.head, "project": self._project,
            "dirty": len(dirty), "dirty_files": dirty[:SHOWN_DIRTY], "forms": forms(repository),
        }  # fmt: skip

    def state(self) -> Document:
        """Where journals go, and whether they can: tried with one that is removed again."""
        folder = self.questions.where.folder()
        try:
            with tempfile.TemporaryDirectory(prefix="planexec-doctor-", dir=folder.parent) as probe:
                Journal.open(Path(probe)).close()
        except OSError as error:
            hint = "make it writable for you"
            raise EnvironmentFailure(f"{folder.parent} cannot be written: {error.strerror}", hint) from None
        return {"folder": str(folder), "usable": True}

    def interpreters(self) -> Document:
        """Every rule, what it named, and what came of it."""
        self.progress("looking for the interpreter")
        root = self._repository.root if self._repository else self.questions.where.repo.resolve()
        around = Surroundings(
            root, root / self._project, self.questions.env, self.questions.python,
            user_configuration().python or None,
        )  # fmt: skip
        tried = []
        for attempt in attempts(around):
            place = str(attempt.place) if attempt.place else None
            tried.append({"rule": attempt.rule, "place": place, "taken": attempt.taken, "reason": attempt.reason})
            self._interpreter = attempt.interpreter or self._interpreter
        if self._interpreter is None:
            raise EnvironmentFailure("no usable Python interpreter was found", "name one with --python")
        return {**_described(self._interpreter), "rules": tried}

    def baseline(self) -> Document | None:
        """The whole suite, twice, in the sandbox on a clean tree; None where that is not asked for or impossible."""
        repository, sandbox, interpreter = self._repository, self._sandbox, self._interpreter
        if not self.questions.tests or repository is None or sandbox is None or interpreter is None:
            return None
        with _bench(repository, sandbox, interpreter, self._project, self.questions.suite_seconds, self.progress) as it:
            self.progress("collecting the tests")
            with it.tree() as tree:
                known = it.harness.collect(tree)
            self.progress(f"running {len(known)} tests twice")
            first, second = it.baseline()
        self._judge(known, first, second)
        return _measured(known, first, second)

    def _judge(self, known: list[str], first: TestReport, second: TestReport) -> None:
        """One line of advice for each thing that is wrong with the suite."""
        used = f"the tests ran with {first.interpreter}"
        make = "make a .venv with what they need, or name the interpreter with --python"
        if not known:
            self.wrong(EnvironmentFailure(f"no test was found in {self._project or 'the repository'}", make))
        if first.environment_problem:
            problem = EnvironmentFailure(first.environment_problem, f"{used}: {make}")
            self.wrong(problem) if not first.outcomes else self.advice.append(problem.told)
        for path in [] if first.environment_problem else sorted(first.collection_errors)[:1]:
            self.advice.append(f"'{path}' and {len(first.collection_errors) - 1} more cannot be collected; {used}")
        for report in (first, second):
            if report.timed_out:
                limit = f"{self.questions.suite_seconds:.0f} s"
                self.advice.append(f"the suite takes longer than {limit}: only tests that name the change are run")
            elif report.distrust and not report.environment_problem:
                self.wrong(EnvironmentFailure(f"a run of the suite cannot be believed: {report.distrust}"))
            if report.distrust:
                break
        unsteady = flaky(first, second)
        if unsteady and not first.distrust and not second.distrust:
            self.advice.append(f"{len(unsteady)} flaky tests, the first '{unsteady[0]}': they will not count")


def _mechanism(name: str) -> Document:
    try:
        kind = BubblewrapSandbox if name == "bubblewrap" else LandlockSandbox
        return {"name": name, "usable": True, "reason": "", "describes": kind.find().describe()}
    except EnvironmentFailure as error:
        return {"name": name, "usable": False, "reason": error.message, "describes": ""}


def _described(interpreter: Interpreter) -> Document:
    own = interpreter.pytest is None
    return {
        "executable": str(interpreter.executable), "version": ".".join(map(str, interpreter.version)),
        "source": interpreter.source, "virtual": interpreter.is_virtual,
        "pytest": {"whose": "planexec's" if own else "the project's", "version": interpreter.pytest or _own_version()},
    }  # fmt: skip


def _own_version() -> str:
    from importlib.metadata import version  # noqa: PLC0415 - only where ours stands in

    return version("pytest")


@contextmanager
def _bench(
    repository: Repository,
    sandbox: Sandbox,
    interpreter: Interpreter,
    project: str,
    seconds: float,
    progress: Callable[[str], None],
) -> Iterator[Bench]:
    """A bench on copies that are removed at the end, with artifacts that are nobody's but its own."""
    progress("copying the tree")
    cache = cache_folder()
    with tempfile.TemporaryDirectory(prefix="doctor-", dir=cache) as folder:
        store = ArtifactStore(Path(folder) / "artifacts")
        workspace = Workspace.create(repository, cache, f"doctor-{secrets.token_hex(4)}", store)
        try:
            synthetic = synthesise(repository, workspace.folder / "git") if sandbox.remaps else []
            harness = Harness(
                sandbox, interpreter, repository.root, [*synthetic, *workspace.mounts],
                env=variables(user_configuration()), project=project,
            )  # fmt: skip
            yield Bench(workspace, harness, store, seconds)
        finally:
            workspace.discard(keep=sandbox.remaps)


def _measured(known: list[str], first: TestReport, second: TestReport) -> Document:
    return {
        "collected": len(known),
        "counts": dict(Counter(outcome.status for outcome in first.outcomes.values())),
        "seconds": [round(first.seconds, 3), round(second.seconds, 3)],
        "flaky": flaky(first, second),
        "collection_errors": first.collection_errors,
        "environment_problem": first.environment_problem,
        "distrust": [each.distrust for each in (first, second) if each.distrust],
        "outcomes": {name: outcome.status for name, outcome in first.outcomes.items()},
    }
