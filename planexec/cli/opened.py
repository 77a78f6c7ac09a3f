"""Opening a repository's journal for a command; what had to be mended is told on standard error."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager

from planexec.assembly.opened import Opened
from planexec.assembly.opened import opened as opened_telling
from planexec.cli.text import clean
from planexec.workspace.where import Where


def opened(where: Where) -> AbstractContextManager[Opened]:
    """The journal of a repository. Raises UsageError where nothing was run yet."""
    return opened_telling(where, tell)


def tell(text: str) -> None:
    """One line on standard error."""
    sys.stderr.write(f"planexec: {clean(text)}\n")
