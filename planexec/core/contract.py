"""The task contract (R1): what a person asks for, what would prove it, and the bounds. Immutable in a run.

The file's shape is the ``*Spec`` classes; ``Contract`` is the same after binding: every check has its verifier (R2,
R3).
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal

import msgspec

CURRENT_REPOSITORY = "current_repository"

REGRESSION_RED = "verify_regression_red"
RELATED_TESTS = "verify_related_tests"
DIFF_SCOPE = "verify_diff_scope"
NAMED_TESTS = "verify_named_tests"
COMMAND = "verify_command"

BOUND_BY_NAME = {"reproduction": REGRESSION_RED, "tests": RELATED_TESTS, "diff_scope": DIFF_SCOPE}
"""Checks whose name alone says which verifier judges them."""

ARGUMENTS_OF = {
    REGRESSION_RED: frozenset({"tests", "example", "runs", "shows"}),
    RELATED_TESTS: frozenset({"tests"}),
    DIFF_SCOPE: frozenset({"max_files", "max_lines"}),
    NAMED_TESTS: frozenset({"tests", "acceptance", "at", "visible"}),
    COMMAND: frozenset({"command", "exit_code", "output"}),
}
"""Which arguments each built-in verifier takes."""


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An unknown key is an error, never ignored."""


class Shows(_Strict, frozen=True):
    """The values that the failure on the base must show; ``raises`` names an exception type instead of a value."""

    actual: Any = msgspec.UNSET
    expected: Any = msgspec.UNSET
    raises: str = ""


class Example(_Strict, frozen=True):
    """An executable example, from which the host writes the regression test.

    ``setup`` is lines of Python, ``actual`` an expression after them, ``expected`` the value it should have (a plain
    YAML value, or ``expected_code``, an expression). ``shows`` is the value on the base, ``raises`` the exception
    there. ``fixtures`` are pytest fixtures of the project that the lines use; ``fields`` says which keys those of
    them that are mappings must carry; ``also`` are further values that the same fields must be able to carry.
    ``style`` says what is written: a function for pytest, or a method of a ``unittest.TestCase``, without fixtures.
    """

    actual: str
    expected: Any = msgspec.UNSET
    expected_code: str = ""
    shows: Any = msgspec.UNSET
    raises: str = ""
    setup: str | tuple[str, ...] = ()
    imports: str | tuple[str, ...] = ()
    fixtures: tuple[str, ...] = ()
    fields: dict[str, dict[str, Any]] = {}
    also: tuple[dict[str, dict[str, Any]], ...] = ()
    file: str = ""
    name: str = ""
    style: Literal["pytest", "unittest"] = "pytest"

    def setup_lines(self) -> list[str]:
        """The set-up as lines."""
        return _lines(self.setup)

    def import_lines(self) -> list[str]:
        """The imports as lines."""
        return _lines(self.imports)

    def expected_source(self) -> str:
        """The expected value as Python source."""
        return self.expected_code or repr(self.expected)


class Arguments(_Strict, frozen=True):
    """What a verifier may be told. Which of them fit which verifier: ``ARGUMENTS_OF``."""

    tests: tuple[str, ...] = ()
    example: Example | None = None
    runs: int = 3
    shows: Shows | None = None
    acceptance: str | tuple[str, ...] = ()
    at: str = ""
    visible: bool = False
    command: str | tuple[str, ...] = ()
    exit_code: int = 0
    output: str = ""
    max_files: int = 0
    max_lines: int = 0

    def acceptance_files(self) -> tuple[str, ...]:
        """Files beside the contract that hold host-supplied tests."""
        return (self.acceptance,) if isinstance(self.acceptance, str) else self.acceptance


class VerifierSpec(Arguments, frozen=True):
    """One entry of ``verifiers:``: a name of the project's own for a built-in verifier with arguments, or a plug-in
    (``uses``).
    """

    uses: str = ""
    options: dict[str, Any] = {}


class CheckSpec(Arguments, frozen=True):
    """A check as a mapping: the verifier, its arguments, a text for people, the step that shall carry it."""

    verifier: str = ""
    text: str = ""
    step: str = ""
    options: dict[str, Any] = {}


class ScopeSpec(_Strict, frozen=True):
    """``allow`` and ``deny`` are globs or the word ``current_repository``; prose goes in ``note``."""

    allow: str | tuple[str, ...] = CURRENT_REPOSITORY
    deny: str | tuple[str, ...] = ()
    note: str = ""


class Limits(_Strict, frozen=True):
    """Bounds of a run: seconds are wall-clock, ``model_cost`` is in US dollars (0: no bound), the rest are counts."""

    replan_budget: int = 2
    corrections: int = 3
    actions_per_step: int = 40
    seconds: float = 1800.0
    repair_seconds: float = 600.0
    repair_candidates: int = 20_000
    suite_seconds: float = 240.0
    model_calls: int = 200
    model_tokens: int = 2_000_000
    model_cost: float = 0.0


class EnvironmentSpec(_Strict, frozen=True):
    """Of the environment a contract may choose the interpreter and nothing else."""

    python: str = ""


class ContractFile(_Strict, frozen=True):
    """The contract as written."""

    goal: str
    success: dict[str, str | CheckSpec]
    scope: ScopeSpec = ScopeSpec()
    limits: Limits = Limits()
    verifiers: dict[str, VerifierSpec] = {}
    context: str = ""
    environment: EnvironmentSpec = EnvironmentSpec()
    forbidden: tuple[str, ...] = ()


class Check(msgspec.Struct, frozen=True):
    """A required check, bound. ``verifier`` is its name in the contract, ``kind`` the code that judges."""

    name: str
    text: str
    verifier: str
    kind: str
    arguments: Arguments
    step: str = ""
    options: dict[str, Any] = {}


class Scope(msgspec.Struct, frozen=True):
    """Globs; an empty ``allow`` means the whole repository."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    note: str = ""

    def label(self) -> str:
        """The scope as the first seed writes it: one word, or the globs."""
        return ", ".join(self.allow) or CURRENT_REPOSITORY


class Contract(msgspec.Struct, frozen=True):
    """A bound contract. ``digest`` is the SHA-256 of everything that counts; ``source`` says where it was written."""

    goal: str
    scope: Scope
    checks: dict[str, Check]
    limits: Limits
    context: str = ""
    environment: EnvironmentSpec = EnvironmentSpec()
    forbidden: tuple[str, ...] = ()
    files: dict[str, bytes] = {}
    source: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 over the content, whatever the place it was read from."""
        return hashlib.sha256(msgspec.json.encode(msgspec.structs.replace(self, source=""), order="sorted")).hexdigest()

    @property
    def required_checks(self) -> dict[str, str]:
        """Check name to verifier name: the map that planners read and can change nothing of (R3)."""
        return {name: check.verifier for name, check in self.checks.items()}

    @property
    def reproduction(self) -> Check | None:
        """The check that reproduces the fault, where there is one."""
        return next((check for check in self.checks.values() if check.kind == REGRESSION_RED), None)

    @property
    def names_tests(self) -> bool:
        """Whether some check tells the patch from other changes by a test: without one the built-in planner has no
        plan.
        """
        tested = (check.arguments.tests or check.arguments.acceptance for check in self.checks.values())
        return self.reproduction is not None or any(tested)


def _lines(text: str | tuple[str, ...]) -> list[str]:
    """Blank lines within stay: they may lie in a string."""
    parts = [text] if isinstance(text, str) else list(text)
    return [line for part in parts if part.strip() for line in part.strip("\n").split("\n")]
