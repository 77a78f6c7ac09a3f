"""planexec fixes bugs in a local git repository by Plan-and-Execute, and proves each fix.

As a library: ``from planexec import Contract, run`` (docs/library.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planexec.api import Contract, Options, PlanexecError, Result, resume, run

__version__ = "0.1.0"
__all__ = ["Contract", "Options", "PlanexecError", "Result", "__version__", "resume", "run"]


def __getattr__(name: str) -> Any:
    """The library's names are imported when they are asked for, so that the command line starts quickly."""
    if name not in __all__:
        raise AttributeError(f"module 'planexec' has no attribute '{name}'")
    from planexec import api

    return getattr(api, name)
