"""What a verifier is given and what it answers. A verifier judges a clean tree, never the scratch copy, and never a
text of a model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from planexec.core.contract import Check, Contract
from planexec.core.paths import is_test_path
from planexec.core.state import Frozen
from planexec.testing.bench import Bench, select
from planexec.testing.outcomes import TestReport
from planexec.workspace.manifest import Change, Manifest, changes

PASSED, FAILED, INCONCLUSIVE, ERROR = "passed", "failed", "inconclusive", "error"


@dataclass(frozen=True)
class Candidate:
    """A candidate as changes against the base, split into tests with their set-up (T) and source (S)."""

    base: Manifest
    changes: tuple[Change, ...]
    frozen: Frozen

    @classmethod
    def of(cls, base: Manifest, snapshot: Manifest, frozen: Frozen) -> Candidate:
        """The candidate that a snapshot is."""
        return cls(base, tuple(changes(base, snapshot)), frozen)

    @property
    def tests(self) -> tuple[Change, ...]:
        """T: the frozen regression test, and whatever else is test-like."""
        return tuple(change for change in self.changes if self._is_test(change))

    @property
    def source(self) -> tuple[Change, ...]:
        """S: everything else."""
        return tuple(change for change in self.changes if not self._is_test(change))

    def _is_test(self, change: Change) -> bool:
        return change.path in self.frozen.files or is_test_path(change.path)


@dataclass(frozen=True)
class Request:
    """One judgement: which check of which contract, on which candidate."""

    contract: Contract
    check: Check
    candidate: Candidate
    bench: Bench

    @property
    def regression_ids(self) -> tuple[str, ...]:
        """The ids that must turn from red to green: the contract's, or those of the frozen test."""
        return self.check.arguments.tests or self.candidate.frozen.ids


@dataclass(frozen=True)
class Verdict:
    """What was found: a status, one line that says why, and everything that was run and printed."""

    status: str
    summary: str
    detail: Mapping[str, Any] = field(default_factory=dict)
    code: str = ""


Verifier = Callable[[Request], Verdict]


def first_line(text: str) -> str:
    """The first line that says something."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def trouble(report: TestReport, where: str, wanted: Sequence[str] = ()) -> Verdict | None:
    """Why a report says nothing about the product: the environment, the time, or somebody tampered with it (R26).

    What the environment lacks counts only when none of the ``wanted`` tests (any, without them) could be run.
    """
    ran = any(select(report, name) for name in wanted) if wanted else bool(report.outcomes)
    if report.environment_problem and not ran:
        used = f"; run with {report.interpreter}" if report.interpreter else ""
        told = f"tests cannot be run on {where}: {report.environment_problem}{used}"
        return Verdict(ERROR, told, {"output": report.output})
    if report.timed_out:
        told = f"the tests on {where} {report.distrust}; limits.suite_seconds of the contract sets the limit"
        return Verdict(ERROR, told, {"output": report.output}, "TIMEOUT")
    if not report.trusted:
        return Verdict(
            FAILED,
            f"the report of {where} cannot be believed: {report.distrust}",
            {"output": report.output},
            "UNTRUSTED",
        )
    return None
