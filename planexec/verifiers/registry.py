"""The registry that binds names to verifiers (R3): built in, or installed as plug-ins under the entry point
``planexec.verifiers``.

A plug-in is a callable ``(Request) -> Verdict``. Whatever it raises is an error of the check, never a pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from planexec.core import contract as c
from planexec.core import wire
from planexec.core.errors import PlanexecError
from planexec.core.events import Evidence
from planexec.core.state import Frozen
from planexec.testing.bench import Bench
from planexec.verifiers.command import verify_command
from planexec.verifiers.interface import ERROR, Candidate, Request, Verdict, Verifier
from planexec.verifiers.named import verify_named_tests
from planexec.verifiers.regression import verify_regression_red
from planexec.verifiers.related import verify_related_tests
from planexec.verifiers.scope import verify_diff_scope

GROUP = "planexec.verifiers"
BUILT_IN: Mapping[str, Verifier] = {
    c.REGRESSION_RED: verify_regression_red,
    c.RELATED_TESTS: verify_related_tests,
    c.DIFF_SCOPE: verify_diff_scope,
    c.NAMED_TESTS: verify_named_tests,
    c.COMMAND: verify_command,
}


def plugins() -> dict[str, EntryPoint]:
    """The installed verifiers by name; built-in names cannot be taken over."""
    return {point.name: point for point in entry_points(group=GROUP) if point.name not in BUILT_IN}


def load(contract: c.Contract) -> dict[str, Verifier]:
    """The verifiers that a contract's checks need; plug-ins are loaded only when one is named."""
    found = dict(BUILT_IN)
    installed = plugins()
    for check in contract.checks.values():
        if check.kind in installed:
            found[check.kind] = installed[check.kind].load()
    return found


def judge_base(contract: c.Contract, check: c.Check, bench: Bench) -> Verdict:
    """What the verifier of a check says of the base, before anything was changed."""
    base = bench.workspace.base
    return load(contract)[check.kind](Request(contract, check, Candidate.of(base, base, Frozen()), bench))


@dataclass
class Registry:
    """Judges requests and keeps what was found. ``numbers`` gives evidence its ids."""

    verifiers: Mapping[str, Verifier]
    numbers: int = 0

    @classmethod
    def of(cls, contract: c.Contract, evidence_so_far: int = 0) -> Registry:
        """The registry for one run; evidence is numbered on from ``evidence_so_far``."""
        return cls(load(contract), evidence_so_far)

    def judge(self, request: Request) -> Evidence:
        """Run the verifier of a check and store everything that it found."""
        return self.keep(request, request.check.verifier, request.check.name, self.verdict(request))

    def judge_all(self, requests: Sequence[Request]) -> Iterator[Evidence]:
        """Judge several checks of one candidate, at once where runs do not share anything; evidence comes in their
        order.
        """
        if not requests:
            return
        with ThreadPoolExecutor(max_workers=requests[0].bench.workers) as pool:
            for request, verdict in zip(requests, pool.map(self.verdict, requests), strict=True):
                yield self.keep(request, request.check.verifier, request.check.name, verdict)

    def verdict(self, request: Request) -> Verdict:
        """What the verifier of a check says; whatever a plug-in raises is an error of the check, never a pass."""
        try:
            return self.verifiers[request.check.kind](request)
        except PlanexecError as error:
            return Verdict(ERROR, error.message)
        except Exception as error:
            if request.check.kind in BUILT_IN:
                raise
            return Verdict(ERROR, f"the plug-in verifier failed: {type(error).__name__}: {error}")

    def keep(self, request: Request, verifier: str, about: str, verdict: Verdict) -> Evidence:
        """Store a verdict as evidence."""
        self.numbers += 1
        record: dict[str, Any] = {"verifier": verifier, "about": about, "status": verdict.status, "code": verdict.code}
        record |= {"summary": verdict.summary, "detail": verdict.detail}
        artifact = request.bench.store.put(wire.encode(record))
        return Evidence(f"ev-{self.numbers}", verifier, about, verdict.status, verdict.summary, artifact, verdict.code)
