"""The real mechanisms. Where one cannot run, its tests fail: a green suite means that the sandbox was tried."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from planexec.sandbox.bubblewrap import BubblewrapSandbox
from planexec.sandbox.interface import Command, CommandResult, Limits, Mount, Sandbox
from planexec.sandbox.landlock import LandlockSandbox
from planexec.sandbox.unconfined import UnconfinedSandbox

settings.register_profile("sandbox", deadline=None)  # a busy machine is no failure
settings.load_profile("sandbox")

MAKERS: dict[str, Callable[[], Sandbox]] = {
    "bubblewrap": BubblewrapSandbox.find,
    "landlock": LandlockSandbox.find,
    "none": UnconfinedSandbox,
}
made = functools.cache(lambda name: MAKERS[name]())
CONFINING = [name for name in MAKERS if name != "none"]


@pytest.fixture(params=list(MAKERS))
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Every mechanism in turn."""
    return made(request.param)


@pytest.fixture(params=CONFINING)
def confining(request: pytest.FixtureRequest) -> Sandbox:
    """Every mechanism that confines, in turn."""
    return made(request.param)


@pytest.fixture
def bubblewrap() -> Sandbox:
    return made("bubblewrap")


@pytest.fixture
def given(tmp_path: Path) -> Mount:
    """A folder that the command may write, at its own place."""
    folder = tmp_path / "given"
    folder.mkdir()
    return Mount(folder, folder, writable=True)


def shell(sandbox: Sandbox, script: str, *mounts: Mount, cwd: Path = Path("/"), **limits: float) -> CommandResult:
    """Run ``script`` with a generous time limit, or the given limits."""
    chosen = Limits(**{"seconds": 30.0, **limits})  # type: ignore[arg-type]
    return sandbox.run(Command(("/bin/sh", "-c", script), cwd=cwd, mounts=mounts, limits=chosen))


def is_running(token: str) -> bool:
    """Whether a process of this machine has ``token`` in its command line."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if token.encode() in path.read_bytes():
                return True
        except OSError:
            continue
    return False
