"""planexec as a library: ``from planexec import Contract, run``. The laws are those of the command line.

The plan is judged by the same rules and the patch by the same verifiers, in the same sandbox; the journal is written
to the same place, so that ``planexec status``, ``show`` and ``apply`` know a run that was begun here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from planexec.assembly.choices import ModelChoice
from planexec.assembly.contracts import contract_for_tests, load_contract
from planexec.assembly.driving import Ended, drive, go_on
from planexec.assembly.opened import mend
from planexec.assembly.parts import Run, Settings
from planexec.core import contract as c
from planexec.core import events as e
from planexec.core.errors import PlanexecError, UsageError
from planexec.core.state import SUCCEEDED
from planexec.core.usage import RAISABLE
from planexec.journal.chain import Stored
from planexec.testing.discovery import named_here
from planexec.workspace.where import Where

__all__ = ["Contract", "Options", "PlanexecError", "Result", "resume", "run"]

Anywhere = str | os.PathLike[str]
Event = Mapping[str, Any]


@dataclass(frozen=True)
class Contract:
    """A task: what is wrong and what has to hold afterwards, every check bound to a verifier.

    ``text`` is what is kept with a run. Make one with ``load`` or ``for_tests``.
    """

    text: str
    bound: c.Contract = field(repr=False)

    @classmethod
    def load(cls, path: Anywhere) -> Contract:
        """Read a YAML file and the tests beside it. Raises ContractError with line and column, UsageError."""
        bound, text = load_contract(Path(path))
        return cls(text, bound)

    @classmethod
    def for_tests(cls, *tests: str) -> Contract:
        """The contract of failing tests, given as pytest ids from the repository's root. Raises UsageError."""
        if not tests:
            raise UsageError("no test is named", "such as tests/test_x.py::test_y")
        return cls(*contract_for_tests(tests)[::-1])

    @property
    def goal(self) -> str:
        """What the contract asks for, in its own words."""
        return self.bound.goal

    @property
    def required_checks(self) -> dict[str, str]:
        """Check name to verifier name."""
        return self.bound.required_checks

    @property
    def digest(self) -> str:
        """SHA-256, in hex, of everything that counts."""
        return self.bound.digest


@dataclass(frozen=True)
class Options:
    """How a run is done; each field is the command line's option of that name. ``budget`` is in seconds, 0 for the
    contract's. A proven patch is kept and not applied unless ``apply`` or ``branch`` says so.
    """

    planner: str = "auto"
    executor: str = "auto"
    model: str = ""
    base_url: str = ""
    executor_model: str = ""
    record: Anywhere | None = None
    replay: Anywhere | None = None
    sandbox: str = "auto"
    python: str | None = None
    state_dir: Anywhere | None = None
    apply: bool = False
    branch: str = ""
    include_dirty: bool = False
    budget: float = 0.0

    def settings(self, repo: Anywhere) -> Settings:
        """What the assembly needs. Raises UsageError for options that exclude each other."""
        if self.branch and self.include_dirty:
            raise UsageError("branch does not go with include_dirty", "commit first, or leave branch out")
        return Settings(
            self.where(repo), self.planner, self.executor, self.sandbox, named_here(self.python, Path()),
            apply=self.apply, branch=self.branch, include_dirty=self.include_dirty, budget=self.budget,
            models=self.models,
        )  # fmt: skip

    def where(self, repo: Anywhere) -> Where:
        """The repository and its state folder."""
        return Where(Path(repo), Path(self.state_dir) if self.state_dir is not None else None)

    @property
    def models(self) -> ModelChoice:
        """What is said of models."""
        record, replay = (Path(each) if each is not None else None for each in (self.record, self.replay))
        return ModelChoice(self.model, self.base_url, self.executor_model, record, replay)


@dataclass(frozen=True)
class Result:
    """How a run ended.

    ``status`` is ``succeeded``, ``blocked``, ``failed`` or ``waiting``; ``reason`` a word and ``message`` a line that
    says why. ``patch`` is the proven one as a unified diff, empty where nothing is proved. ``conflict`` says what stood
    in the way of applying it. ``document`` is what ``planexec status --json`` prints.
    """

    run_id: str
    status: str
    reason: str
    message: str
    patch: str
    conflict: str
    exit_code: int
    document: Mapping[str, Any] = field(repr=False)

    @property
    def proved(self) -> bool:
        """Whether every required check passed on a clean tree."""
        return self.status == SUCCEEDED


def _silent(what: object) -> None:
    """Nobody listens."""


def run(
    contract: Contract | Anywhere,
    repo: Anywhere = ".",
    options: Options = Options(),
    *,
    on_event: Callable[[Event], None] = _silent,
    on_progress: Callable[[str], None] = _silent,
) -> Result:
    """Carry a contract (or the file of one) out in a repository, to its end.

    ``on_event`` hears each event after it is committed, as ``--events`` prints it; ``on_progress`` short lines about
    what is being done. A run without a proof is a result and no exception. Raises PlanexecError where a run cannot
    begin or the machine fails it: a wrong contract or option (UsageError), uncommitted changes (ConflictError), no
    sandbox, interpreter or model (EnvironmentFailure). A KeyboardInterrupt leaves a run that ``resume`` goes on with.
    """
    bound = contract if isinstance(contract, Contract) else Contract.load(contract)
    settings = options.settings(repo)
    mend(settings.where, on_progress)
    ended = drive(bound.bound, bound.text, settings, on_progress, lambda run: _listen(run, on_event))
    return _result(ended)


def resume(
    run_id: str = "",
    repo: Anywhere = ".",
    options: Options = Options(),
    *,
    limits: Mapping[str, float] = MappingProxyType({}),
    on_event: Callable[[Event], None] = _silent,
    on_progress: Callable[[str], None] = _silent,
) -> Result:
    """Go on with an interrupted run (a run id, the beginning of one, or empty for the latest), or with one that ended
    at a limit: ``limits`` gives that limit anew, by its name in the contract.

    Of ``options`` only the models, ``record``, ``replay`` and ``state_dir`` count; the rest is as the run began.
    """
    if unknown := sorted(limits.keys() - RAISABLE.values()):
        raise UsageError(f"'{unknown[0]}' is no limit that can be raised", f"known: {', '.join(RAISABLE.values())}")
    where = options.where(repo)
    mend(where, on_progress)
    return _result(go_on(run_id, where, on_progress, lambda run: _listen(run, on_event), options.models, limits))


def _listen(run: Run, on_event: Callable[[Event], None]) -> None:
    def hear(stored: Stored, event: e.AnyEvent) -> None:
        on_event({"run_id": run.log.run_id, "seq": stored.seq, "at": stored.at, **msgspec.to_builtins(event)})

    run.log.listeners.append(hear)


def _result(ended: Ended) -> Result:
    state = ended.state
    return Result(
        state.run_id, state.status, state.reason, state.message, ended.document["diff"]["patch"], ended.conflict,
        ended.exit_code, ended.document,
    )  # fmt: skip
