from __future__ import annotations

import sys
import venv
from pathlib import Path

import pytest

from planexec.assembly.beginning import begin, take_up
from planexec.assembly.contracts import contract_for_tests, repository_ids
from planexec.assembly.parts import Settings, prepared, resumed
from planexec.core.errors import UsageError
from planexec.workspace.where import Where

from ..projects import QUIET, RED, SHOP, make_repository

BACKEND = {"backend/setup.cfg": "", **{f"backend/{name}": text for name, text in SHOP.items()}}


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name, value in QUIET.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "config" / "planexec").mkdir(parents=True)
    (tmp_path / "config" / "planexec" / "config.yaml").write_text(f"python: {sys.executable}\npass_env: {[*QUIET]}\n")


def test_the_project_root_is_recorded_and_used_again(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", BACKEND)
    start = root / "backend" / "tests"
    contract, text = contract_for_tests(repository_ids([RED], start))
    settings = Settings(Where(start))
    told: list[str] = []
    with prepared(contract, "", settings, told.append) as run:
        begin(run, contract, settings, text)
        state = run.log.state
    assert (state.settings["project"], state.settings["tests"]) == ("backend", "4")
    assert state.settings["pass_env"] == ", ".join(QUIET)
    assert state.settings["interpreter"].endswith("(the user's configuration)")
    assert state.baseline["outcomes"] == {"passed": 3, "failed": 1} and state.baseline["flaky"] == []
    assert "running the suite twice on the base" in told
    with resumed("", Where(root), told.append) as again:
        take_up(again)
        assert again.controller.steps.bench.project == "backend"
        assert again.log.state.baseline == state.baseline
        report = again.controller.steps.bench.run((), [f"backend/{RED}"])
        assert report.with_status("failed") == [f"backend/{RED}"]


def test_an_editable_install_of_the_repository_does_not_show_its_state(tmp_path: Path) -> None:
    """Its folder is among what the interpreter reads; in the sandbox the tree and another git folder lie over it."""
    root = make_repository(tmp_path / "repo", SHOP)
    environment = tmp_path / "environment"
    venv.create(environment, symlinks=True, with_pip=False)
    (package_folder,) = environment.glob("lib/python*/site-packages")
    (package_folder / "shop.pth").write_text(f"{root}\n")
    contract, text = contract_for_tests([RED])
    settings = Settings(Where(root), python=str(environment))
    with prepared(contract, "", settings, lambda told: None) as run:
        assert any(mount.source == root for mount in run.interpreter.mounts())
        begin(run, contract, settings, text)
        seen = run.controller.steps.bench.command((), ["/bin/ls", str(root / ".git")], seconds=30)
        assert b"HEAD" in seen.stdout and b"planexec" not in seen.stdout
    elsewhere = Where(root, tmp_path / "environment" / "state")
    wrong = Settings(elsewhere, python=str(environment))
    with pytest.raises(UsageError, match="can be read by the tests"), prepared(contract, "", wrong, lambda told: None):
        pass
