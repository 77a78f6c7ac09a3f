"""What a tool is: a name, arguments with a schema, whether it may be done again, and one function (R12, R15).

A tool acts on the scratch tree only, or runs tests on clean trees. Its result is an observation: nothing that it
says counts before the host's verifiers have looked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import msgspec

from planexec.core.contract import Contract
from planexec.core.events import Claim
from planexec.core.plan import Step
from planexec.core.state import RunState
from planexec.testing.bench import Bench
from planexec.verifiers.interface import Candidate
from planexec.workspace.manifest import ScanCache, scan


class NoArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tool that takes nothing."""


@dataclass(frozen=True)
class Workbench:
    """Everything that a tool may touch during one step. ``seconds`` says how long the run may still take, ``searched``
    for how many seconds it has searched for a patch, ``observed`` the artifact of an observation by its id (empty when
    there is none), ``given_up`` the digests of whole files that were put in and taken back.
    """

    contract: Contract
    state: RunState
    step: Step
    bench: Bench
    cache: ScanCache
    seconds: Callable[[], float]
    progress: Callable[[str], None] = lambda text: None
    observation: str = ""
    searched: Callable[[], float] = lambda: 0.0
    observed: Callable[[str], str] = lambda name: ""
    given_up: Callable[[], frozenset[str]] = frozenset

    @property
    def scratch(self) -> Path:
        """The tree that tools work on."""
        return self.bench.workspace.scratch

    def candidate(self) -> Candidate:
        """What the scratch tree is at this moment, as changes against the base."""
        snapshot = scan(self.scratch, self.bench.store, self.cache)
        return Candidate.of(self.bench.workspace.base, snapshot, self.state.frozen)


@dataclass(frozen=True)
class ToolResult:
    """What a tool gave: ``code`` names an error when ``ok`` is false; ``environment`` says it is not the product's."""

    ok: bool
    summary: str
    data: Mapping[str, Any] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    code: str = ""
    environment: bool = False


class Tool(Protocol):
    """One tool. ``arguments`` is a strict struct: its schema is what a model is shown."""

    name: str
    description: str
    arguments: type[msgspec.Struct]
    idempotent: bool

    def run(self, arguments: Any, workbench: Workbench) -> ToolResult:
        """Act. Raises PlanexecError for what a person should see; never anything foreseeable else."""
        ...
