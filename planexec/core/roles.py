"""Who may do what (L2): a planner proposes, an executor acts, verifiers judge. None can speak for another.

An executor is a conversation: it yields a move and is sent the answer. It cannot call a tool, change a status or
state a fact.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from planexec.core.contract import Contract
from planexec.core.events import Claim, Evidence, ReplanTriggered
from planexec.core.plan import Proposal, Step
from planexec.core.state import RunState


@dataclass(frozen=True)
class Action:
    """A request to run a tool. ``arguments`` are plain JSON values."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Finish:
    """The executor thinks that the step is done, and asks for verification."""


@dataclass(frozen=True)
class GiveUp:
    """The executor has no move left. Its reason is a text; what kind of failure it is, the controller finds out."""

    reason: str


Move = Action | Finish | GiveUp


@dataclass(frozen=True)
class Unreadable:
    """A planner's answer that is no proposal: it is refused with these findings, like one that breaks the rules."""

    text: str
    findings: tuple[str, ...]


@dataclass(frozen=True)
class Observation:
    """What a tool gave, unverified: a line for people, data for the executor, claims for the observation verifier.

    ``verified`` are the texts of the claims that became facts, ``rejected`` those that did not, with the reason.
    """

    id: str
    ok: bool
    summary: str
    data: Mapping[str, Any] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    verified: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()


@dataclass(frozen=True)
class StepVerdict:
    """The answer to ``Finish``: whether every predicate held, and what was found."""

    holds: bool
    evidence: tuple[Evidence, ...]
    environment: bool = False


Reply = Observation | StepVerdict | None
Work = Generator[Move, Reply, None]


class Planner(Protocol):
    """Proposes plans. It sees the contract and the state, and changes neither.

    ``mechanism`` says of the last proposal how it came about, and why so (R11); ``reason`` what a first plan assumes.
    """

    name: str
    mechanism: str
    reason: str

    def propose(self, contract: Contract, state: RunState) -> Proposal | Unreadable | None:
        """The first plan; None where there is none. ``state.findings`` holds what was wrong with the last proposal."""

    def replan(self, contract: Contract, state: RunState, trigger: ReplanTriggered) -> Proposal | Unreadable | None:
        """A plan that replaces what ``trigger`` affects; None when there is no other way left."""


class Executor(Protocol):
    """Chooses the actions of one step."""

    name: str

    def work(self, contract: Contract, state: RunState, step: Step) -> Work:
        """The conversation for one attempt at ``step``."""
