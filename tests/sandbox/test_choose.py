"""Which sandbox is used: here, and where something is missing. The latter by running inside a sandbox."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import planexec
from planexec.core.errors import UsageError
from planexec.sandbox.choose import NAMES, choose
from planexec.sandbox.interface import Command, Limits, Mount, Sandbox
from planexec.sandbox.prove import interpreter_mounts

PACKAGE = Path(planexec.__file__).parent
START = "import sys; sys.path.insert(0, '/opt/planexec-test'); from planexec.sandbox.choose import choose\n"


def inside(sandbox: Sandbox, source: str) -> str:
    """Run ``source`` with this package in a sandbox, where namespaces cannot be had any more."""
    mounts = [*interpreter_mounts(), Mount(PACKAGE, Path("/opt/planexec-test/planexec"))]
    argv = (os.path.realpath(sys.executable), "-I", "-S", "-c", START + source)
    result = sandbox.run(Command(argv, cwd=Path("/tmp"), mounts=mounts, limits=Limits(seconds=60)))
    assert result.exit_code == 0, result.stderr.decode()
    return result.stdout.decode()


def test_auto_is_bubblewrap() -> None:
    assert choose().name == choose("auto").name == "bubblewrap"


@pytest.mark.parametrize("name", NAMES[1:])
def test_by_name(name: str) -> None:
    assert choose(name).name == name


def test_an_unknown_name() -> None:
    with pytest.raises(UsageError, match="docker") as caught:
        choose("docker")
    assert "bubblewrap" in caught.value.hint


def test_auto_falls_back_to_landlock_and_says_why(bubblewrap: Sandbox) -> None:
    said = inside(bubblewrap, "sandbox = choose(); print(sandbox.name); print(sandbox.describe())")
    assert said.startswith("landlock\n")
    assert "used because bubblewrap does not work here" in said
    assert "not even loopback" in said  # a network namespace cannot be had either


def test_without_any_the_error_tells_what_to_do(bubblewrap: Sandbox) -> None:
    # Sixteen domains are as many as the kernel stacks: then Landlock cannot be had either.
    said = inside(
        bubblewrap,
        "from planexec.sandbox import supervisor\n"
        "from planexec.core.errors import EnvironmentFailure\n"
        "for _ in range(16): supervisor.restrict((1 << 11).to_bytes(8, 'little'), [])\n"
        "for request in ('auto', 'landlock', 'bubblewrap'):\n"
        "    try: choose(request)\n"
        "    except EnvironmentFailure as error: print(error.message, '|', error.hint)\n",
    )
    auto, landlock, bubblewrap_line = said.splitlines()
    assert auto.startswith("no sandbox: bubblewrap does not work here") and "landlock does not work here" in auto
    assert "--sandbox none" in auto and "install bubblewrap" in auto
    assert "landlock" in landlock and "--sandbox none" not in landlock
    assert bubblewrap_line.startswith("bubblewrap does not work here")
