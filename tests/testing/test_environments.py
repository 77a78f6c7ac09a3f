from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest

from planexec.testing import environments

from .conftest import write


def environment(folder: Path, version: str = "3.11.2", *, with_pytest: bool = False) -> Path:
    write(folder, {"pyvenv.cfg": f"home = /usr/bin\nversion = {version}\n", "bin/python": ""})
    if with_pytest:
        (folder / "lib" / "python3.11" / "site-packages" / "pytest-9.0.0.dist-info").mkdir(parents=True)
    return folder


def short(text: str) -> str:
    return urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode()[:8]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def test_the_environments_of_poetry(project: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    env = {"HOME": str(home)}
    own = f"my-project_x-{short(str(project))}"
    kept = home / ".cache" / "pypoetry" / "virtualenvs"
    old, new = environment(kept / f"{own}-py3.9"), environment(kept / f"{own}-py3.12")
    environment(kept / "my-project_x-AAAAAAAA-py3.11")
    assert environments.poetry(project, env) == []  # not one of poetry's projects
    write(project, {"pyproject.toml": '[tool.poetry]\nname = "My.Project x"\n'})
    assert environments.poetry(project, env) == [new, old]
    (kept / "envs.toml").write_text(f'[{own}]\nminor = "3.9"\npatch = "3.9.1"\n')
    assert environments.poetry(project, env) == [old, new]


def test_poetry_keeps_them_where_its_configuration_says(project: Path, tmp_path: Path) -> None:
    write(
        project,
        {"pyproject.toml": '[project]\nname = "x"\n[build-system]\nbuild-backend = "poetry.core.masonry.api"\n'},
    )
    name = f"x-{short(str(project))}-py3.11"
    config = tmp_path / "home" / ".config" / "pypoetry" / "config.toml"
    write(config.parent, {"config.toml": f'cache-dir = "{tmp_path}/cache"\n'})
    env = {"HOME": str(tmp_path / "home")}
    in_cache = environment(tmp_path / "cache" / "virtualenvs" / name)
    assert environments.poetry(project, env) == [in_cache]
    config.write_text(f'[virtualenvs]\npath = "{tmp_path}/elsewhere"\n')
    elsewhere = environment(tmp_path / "elsewhere" / name)
    assert environments.poetry(project, env) == [elsewhere]
    assert environments.poetry(project, {**env, "POETRY_CACHE_DIR": str(tmp_path / "cache")}) == [elsewhere]
    variable = {**env, "POETRY_VIRTUALENVS_PATH": str(tmp_path / "third")}
    assert environments.poetry(project, variable) == []


def test_the_environment_of_pipenv(project: Path, tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path / "home")}
    name = f"project-{short(str(project / 'Pipfile'))}"
    found = environment(tmp_path / "home" / ".local" / "share" / "virtualenvs" / name)
    assert environments.pipenv(project, env) == []
    write(project, {"Pipfile": "[packages]\n"})
    assert environments.pipenv(project, env) == [found]
    own = environment(tmp_path / "workon" / "chosen")
    assert environments.pipenv(
        project, {"WORKON_HOME": str(tmp_path / "workon"), "PIPENV_CUSTOM_VENV_NAME": "chosen"}
    ) == [own]


@pytest.mark.parametrize("text", ["name: science\n", "dependencies: [python]\nname:  'science'  # ours\n"])
def test_the_environments_of_conda(text: str, project: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    env = {"HOME": str(home)}
    listed = environment(tmp_path / "anywhere" / "science")
    usual = environment(home / "miniforge3" / "envs" / "science")
    write(home, {".conda/environments.txt": f"{tmp_path}/anywhere/other\n{listed}\n{tmp_path}/gone/science\n"})
    assert environments.conda(project, env) == []
    write(project, {"environment.yml": text})
    assert environments.conda(project, env) == [listed, usual]


@pytest.mark.parametrize(
    "text", ["name: ../../evil\n", "name: base\n", "name: ..\n", "x:\n  name: science\n", "", "a: &a [*a]\n"]
)
def test_a_name_that_is_no_environment_of_conda_names_nothing(text: str, project: Path, tmp_path: Path) -> None:
    environment(tmp_path / "home" / "miniforge3" / "envs" / "science")
    environment(tmp_path / "home" / "evil")
    write(project, {"environment.yml": text})
    assert environments.conda(project, {"HOME": str(tmp_path / "home")}) == []


def test_the_environments_of_tox_and_nox(project: Path) -> None:
    old = environment(project / ".tox" / "py39", "3.9.1", with_pytest=True)
    new = environment(project / ".tox" / "py312", "3.12.0", with_pytest=True)
    bare = environment(project / ".tox" / "py313", "3.13.0")
    environment(project / ".tox" / "lint", "3.14.0", with_pytest=True)
    assert environments.tox(project, {}) == [new, old, bare]
    tests = environment(project / ".nox" / "tests-3-11", "3.11.0", with_pytest=True)
    environment(project / ".nox" / "docs", "3.12.0")
    assert environments.nox(project, {}) == [tests]


@pytest.mark.parametrize("text", ["not = [toml", "[tool]\npoetry = 3\n", "[tool.poetry]\nname = 3\n", "\0\0\0"])
def test_a_broken_project_file_is_no_error(text: str, project: Path) -> None:
    write(project, {"pyproject.toml": text})
    assert environments.poetry(project, {"HOME": "/nonexistent"}) == []
