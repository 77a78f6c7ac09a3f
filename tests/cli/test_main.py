"""What every command shares: help, version, start-up, errors in one line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from planexec import __version__

COMMANDS = ("run", "fix", "status", "plan", "diff", "apply", "validate")


def planexec(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "planexec.cli.main", *arguments]
    env = {**os.environ, "XDG_CACHE_HOME": str(cwd / "cache")}
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)


def test_help_names_every_command(tmp_path: Path) -> None:
    shown = planexec("--help", cwd=tmp_path)
    assert shown.returncode == 0
    for command in COMMANDS:
        assert f"\n  {command} " in shown.stdout
        assert planexec(command, "--help", cwd=tmp_path).returncode == 0
    assert planexec("--version", cwd=tmp_path).stdout == f"planexec {__version__}\n"


@pytest.mark.parametrize("arguments", ["['--help']", "['status', '--repo', REPO]"])
def test_help_and_status_import_nothing_heavy(tmp_path: Path, arguments: str) -> None:
    program = f"""
import sys
REPO = {str(tmp_path)!r}
sys.argv = ["planexec", *{arguments}]
from planexec.cli.main import main
try:
    main()
except SystemExit:
    pass
heavy = {{"openai", "git", "pytest", "_pytest", "pydantic", "yaml"}} & set(sys.modules)
sys.stderr.write(f"heavy: {{sorted(heavy)}}\\n")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stderr.endswith("heavy: []\n")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["run", "none.yaml"], 2),
        (["validate", "none.yaml"], 2),
        (["validate", "bad.yaml"], 2),
        (["validate"], 2),
        (["validate", "--schema", "good.yaml"], 2),
        (["plan", "bad.yaml"], 2),
        (["status"], 5),
        (["diff"], 5),
        (["apply"], 5),
        (["fix", "tests/test_x.py::test_y"], 5),
        (["run", "good.yaml"], 5),
        (["run", "good.yaml", "--into", "x"], 2),
        (["run", "good.yaml", "--fixture", "none"], 2),
        (["no-such-command"], 2),
        (["run", "--no-such-option"], 2),
    ],
)
def test_bad_input_is_one_line_and_an_exit_code(tmp_path: Path, arguments: list[str], code: int) -> None:
    (tmp_path / "bad.yaml").write_text("goal: g\nsucces: {}\n")
    (tmp_path / "good.yaml").write_text("goal: g\nsuccess: {tests: all of them}\n")
    done = planexec(*arguments, cwd=tmp_path)
    assert done.returncode == code
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    if not arguments[-1].startswith("--no-such") and arguments != ["no-such-command"]:
        assert len(done.stderr.splitlines()) == 1
        assert done.stderr.startswith("planexec: ")
    if "bad.yaml" in arguments:
        assert "bad.yaml:2:1: unknown key 'succes'" in done.stderr and "did you mean 'success'" in done.stderr


def test_validate_prints_the_schema_of_contracts(tmp_path: Path) -> None:
    done = planexec("validate", "--schema", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["required"] == ["goal", "success"]
