"""The one family of exceptions.

PlanexecError                what a user may see: one line, a hint, an exit code
├── UsageError          2    the command line or an argument is wrong
│   └── ContractError   2    the contract is wrong: file, line, column
├── EnvironmentFailure  5    no sandbox, no git, no interpreter, tests cannot be run
│   └── ModelFailure    5    the model's server, key or name: no answer can be had
├── JournalError        5    the journal cannot be opened, is not ours, or was altered
├── LimitReached        3    a limit was used up; a person may raise it, and the run goes on
├── ConflictError       3    the user's tree is not what the run started from
└── SafetyViolation     6    something tried to leave its bounds
"""

from __future__ import annotations

from typing import ClassVar


class PlanexecError(Exception):
    """An error with one line for the person (what is wrong, where) and a hint (what to do)."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def told(self) -> str:
        """The line, with the hint in brackets where there is one."""
        return f"{self.message} ({self.hint})" if self.hint else self.message


class UsageError(PlanexecError):
    """The command line or one of its arguments is wrong."""

    exit_code = 2


class ContractError(UsageError):
    """The contract is wrong. ``line`` and ``column`` count from 1; 0 means the file as a whole."""

    def __init__(self, message: str, hint: str = "", *, path: str = "", line: int = 0, column: int = 0) -> None:
        where = ":".join(str(part) for part in (path, line, column) if part)
        super().__init__(f"{where}: {message}" if where else message, hint)
        self.path, self.line, self.column = path, line, column


class EnvironmentFailure(PlanexecError):
    """The machine lacks something: a sandbox, git, an interpreter, a working test set-up (R26)."""

    exit_code = 5


class ModelFailure(EnvironmentFailure):
    """The model cannot be asked: no server, a wrong key or name, a quota, no answer in time."""


class JournalError(EnvironmentFailure):
    """The journal cannot be opened on this file system, has another schema, or was altered."""


class LimitReached(PlanexecError):
    """A limit of the run is used up; ``limit`` is the reason with which the run ends."""

    exit_code = 3

    def __init__(self, limit: str, message: str) -> None:
        super().__init__(message)
        self.limit = limit


class ConflictError(PlanexecError):
    """The user's tree is dirty, or no longer what the run started from."""

    exit_code = 3


class SafetyViolation(PlanexecError):
    """Something tried to leave its bounds."""

    exit_code = 6
