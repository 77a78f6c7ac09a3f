"""What a person chooses for a run: where its state lies, what it starts from, where its patch goes, how long it may
search; and how to go on after Ctrl-C.
"""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest

from .conftest import FAILING, FAULTY, FIXED, CommandLine, contents, differences, git, shop
from .kills import killed
from .test_resume import until

PATIENCE = 2.0
"""Seconds within which a signal has to end a command."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return shop(tmp_path / "work")


def interrupted(planexec: CommandLine, tree: Path, event: str, number: int, *options: str | Path) -> str:
    """Begin ``fix`` and send a signal after an event (at once, without one); returns the line that it ends with."""
    process = subprocess.Popen(
        planexec._argv(["fix", FAILING, "--events", *options]), cwd=tree, env=planexec.environment,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout if event else ():
        if json.loads(line)["event"] == event:
            break
    time.sleep(0.3 if event else 1.5)
    process.send_signal(number)
    sent = time.monotonic()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number, err
    assert time.monotonic() - sent < PATIENCE
    return err.decode().splitlines()[-1]


def test_a_branch_and_a_state_folder_and_the_command_that_resumes(planexec: CommandLine, tree: Path) -> None:
    state = tree.parent / "the state"
    before = contents(tree)
    planexec.environment |= {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org"}
    chosen = ["--branch", "mend", "--budget", "2m", "--state-dir", str(state), "--repo", str(tree)]
    line = interrupted(planexec, tree.parent, "step_started", signal.SIGINT, *chosen)
    command = shlex.split(line.partition("to go on: ")[2])
    assert command[:2] == ["planexec", "resume"]
    assert command[3:] == ["--repo", str(tree), "--state-dir", str(state)]
    done = planexec(*command[1:], "--json")
    assert done.code == 0, done.err
    document = done.document
    assert document["settings"]["repair_seconds"] == "120"
    assert document["report"]["search"]["budget"] == 120
    assert document["branch"] == {
        "name": "mend", "commit": git(tree, "rev-parse", "mend").strip(), "outcome": "finished",
    }  # fmt: skip
    assert FIXED in git(tree, "show", "mend:shop/basket.py")
    assert document["run_id"] in git(tree, "log", "-1", "--format=%b", "mend")
    assert differences(before, contents(tree)) == []
    assert git(tree, "status", "--porcelain") == ""
    assert not (tree / ".git" / "planexec").exists()


@pytest.mark.slow
def test_uncommitted_work_is_the_base_and_stays(planexec: CommandLine, tree: Path) -> None:
    file = tree / "shop" / "basket.py"
    dirt = file.read_text().replace("with shipping", "with the shipping") + "\n\nMINE = 1\n"
    file.write_text(dirt)
    (tree / "shop" / "mine.py").write_text("MINE = 2\n")
    (tree / "run.sh").unlink()
    with killed(planexec, tree, "fix", FAILING, "--include-dirty", "--events") as told:
        until(told, "step_started", step="patch")
    done = planexec("resume", "--json", cwd=tree)
    assert done.code == 0, done.err
    assert done.document["dirty"] == ["run.sh", "shop/basket.py", "shop/mine.py"]
    assert done.document["diff"]["files"] == ["shop/basket.py"]
    assert "MINE" not in done.document["diff"]["patch"].replace(" MINE = 1", "")
    assert file.read_text() == dirt.replace(FAULTY, FIXED)
    assert (tree / "shop" / "mine.py").read_text() == "MINE = 2\n"
    planexec("apply", "--branch", "mend", cwd=tree).refused(2, "uncommitted")
    assert planexec("apply", "--reverse", cwd=tree).code == 0
    assert file.read_text() == dirt


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("event", ["", "run_started", "step_started", "action_started", "gate_started"])
def test_a_signal_ends_each_phase_with_the_command_that_resumes(
    planexec: CommandLine, tree: Path, event: str, number: int
) -> None:
    line = interrupted(planexec, tree, event, number)
    if not event:
        assert "interrupted before" in line
        return
    command = shlex.split(line.partition("to go on: ")[2])
    run_id = planexec("status", "--json", cwd=tree).document["run_id"]
    assert command == ["planexec", "resume", run_id]
