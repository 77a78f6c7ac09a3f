"""Which sandbox is used; with the proof that it holds, for those who choose."""

from __future__ import annotations

from planexec.core.errors import EnvironmentFailure, UsageError
from planexec.sandbox.bubblewrap import BubblewrapSandbox
from planexec.sandbox.interface import Sandbox
from planexec.sandbox.landlock import LandlockSandbox
from planexec.sandbox.prove import Proof, prove
from planexec.sandbox.unconfined import UnconfinedSandbox

__all__ = ["NAMES", "Proof", "choose", "prove"]

NAMES = ("auto", "bubblewrap", "landlock", "none")


def choose(request: str = "auto") -> Sandbox:
    """The sandbox that ``request`` names; ``auto`` is bubblewrap, then Landlock, never none.

    Raises EnvironmentFailure when it does not work here, UsageError for an unknown name.
    """
    if request == "auto":
        return _first()
    if request == "bubblewrap":
        return BubblewrapSandbox.find()
    if request == "landlock":
        return LandlockSandbox.find()
    if request == "none":
        return UnconfinedSandbox()
    raise UsageError(f"unknown sandbox: {request}", f"one of {', '.join(NAMES)}")


def _first() -> Sandbox:
    try:
        return BubblewrapSandbox.find()
    except EnvironmentFailure as bubblewrap:
        try:
            return LandlockSandbox.find(bubblewrap.message)
        except EnvironmentFailure as landlock:
            raise EnvironmentFailure(
                f"no sandbox: {bubblewrap.message}; {landlock.message}",
                f"{bubblewrap.hint}; or run without confinement, on a throwaway machine only: --sandbox none",
            ) from landlock
