from __future__ import annotations

import sys
from pathlib import Path

import pytest

from planexec.assembly.beginning import begin, take_up
from planexec.assembly.contracts import contract_for_tests, repository_ids
from planexec.assembly.parts import Settings, prepared, resumed
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
    with prepared(contract, settings, told.append) as run:
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
