"""The proof: it holds where it should, and it fails where nothing is confined."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from planexec.core.errors import EnvironmentFailure
from planexec.sandbox.bubblewrap import BubblewrapSandbox
from planexec.sandbox.interface import Command, CommandResult, Sandbox
from planexec.sandbox.landlock import LandlockSandbox, abi
from planexec.sandbox.prove import Proof, interpreter_mounts, prove
from planexec.sandbox.unconfined import UnconfinedSandbox

ROOT = Path(__file__).parents[2]


def by_name(proofs: list[Proof]) -> dict[str, bool]:
    return {proof.name: proof.holds for proof in proofs}


@pytest.mark.parametrize("sandbox", [BubblewrapSandbox.find(), LandlockSandbox.find()], ids=lambda s: s.name)
def test_everything_holds(sandbox: Sandbox) -> None:
    proofs = prove(sandbox)
    assert [proof for proof in proofs if not proof.holds] == []
    assert all(proof.detail for proof in proofs) and len(by_name(proofs)) == 8


def test_only_loopback_is_missing_where_there_is_no_network() -> None:
    proofs = prove(LandlockSandbox(abi(), "none"))
    assert [proof.name for proof in proofs if not proof.holds] == ["loopback works"]


def test_nothing_is_claimed_for_no_sandbox(tmp_path: Path) -> None:
    source = (
        "from planexec.sandbox.choose import choose, prove\n"
        "for proof in prove(choose('none')): print(proof.holds, proof.name, proof.detail, sep='|')\n"
    )
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "API_TOKEN": "secret", "PYTHONPATH": str(ROOT)}
    said = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True, env=env).stdout
    rows = {name: (holds == "True", detail) for holds, name, detail in (line.split("|") for line in said.splitlines())}
    assert {name: holds for name, (holds, _) in rows.items()} == {
        "a write outside the mounts fails": False,
        "a write to a writable mount works": True,
        "a secret file cannot be read": False,
        "a connection to the outside fails": False,
        "loopback works": True,
        "another process cannot be signalled": False,
        "the environment shows no secret": False,
        "no process survives": True,
    }
    detail = rows["the environment shows no secret"][1]
    assert "API_TOKEN" in detail and "secret" not in detail
    assert "127.0.0.1" in rows["a connection to the outside fails"][1]


def test_the_proof_leaves_nothing_behind(tmp_path: Path) -> None:
    source = "from planexec.sandbox.choose import choose, prove\nprove(choose('none')); prove(choose())\n"
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()
    env = {"HOME": str(home), "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", source], check=True, env=env)
    assert [*home.iterdir(), *temporary.iterdir()] == []


def test_without_a_home_that_can_be_written(tmp_path: Path) -> None:
    source = (
        "from planexec.sandbox.choose import choose, prove\n"
        "print([proof.name for proof in prove(choose()) if not proof.holds])\n"
    )
    env = {"HOME": str(tmp_path / "none"), "PYTHONPATH": str(ROOT)}
    said = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True, env=env)
    assert said.stdout == "[]\n"


class Mute(UnconfinedSandbox):
    """A sandbox in which nothing is said."""

    def run(self, command: Command) -> CommandResult:
        return CommandResult(3, b"", b"first\nbroken python\n", 0.1)


def test_a_probe_that_cannot_run_is_an_environment_failure() -> None:
    with pytest.raises(EnvironmentFailure, match="3: broken python"):
        prove(Mute())


def test_the_interpreter_of_this_program_runs_inside(bubblewrap: Sandbox) -> None:
    argv = (os.path.realpath(sys.executable), "-I", "-c", "import sys, ctypes; print(sys.version_info[:2])")
    result = bubblewrap.run(Command(argv, cwd=Path("/tmp"), mounts=interpreter_mounts()))
    assert result.stdout.decode().strip() == str(sys.version_info[:2])
