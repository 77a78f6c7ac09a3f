from __future__ import annotations

import os
import sys
import venv
from pathlib import Path

import pytest

from planexec.core.errors import UsageError
from planexec.testing.discovery import RULES, Surroundings, named_here
from planexec.testing.interpreter import Interpreter, attempts, discover

HERE = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}
EMPTY = {"PATH": "/nonexistent"}
BASE = Path(os.path.realpath(sys.executable))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("envs") / "env"
    venv.create(folder, with_pip=False, symlinks=True)
    return folder


def site_of(environment: Path) -> Path:
    return environment / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"


def covered(interpreter: Interpreter, path: Path) -> bool:
    usr = path.is_relative_to("/usr")
    return usr or any(path.is_relative_to(mount.target) for mount in interpreter.mounts())


def test_the_order(tmp_path: Path, environment: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(BASE)
    active = {"PATH": str(tmp_path / "bin"), "VIRTUAL_ENV": str(environment)}

    def source(**more: object) -> str:
        return discover(repo, **{"env": active, **more}).source  # type: ignore[arg-type]

    assert source(flag=str(environment), contract=str(BASE)) == "--python"
    assert source(contract=str(BASE)) == "the contract's interpreter"
    assert source() == "VIRTUAL_ENV"
    assert source(env={"PATH": str(tmp_path / "bin")}) == "python3 on PATH"
    assert source(env={"PATH": str(tmp_path / "bin")}, own_first=True) == "the interpreter of planexec"
    assert source(env=EMPTY) == "the interpreter of planexec"
    (repo / "venv").symlink_to(environment)
    assert source(env=EMPTY) == "venv"
    (repo / ".venv").symlink_to(environment)
    assert source(env=EMPTY) == ".venv"


def test_a_virtual_environment(environment: Path, tmp_path: Path) -> None:
    found = discover(tmp_path, flag=str(environment), env=HERE)
    assert found.is_virtual and found.pytest is None
    assert (found.executable, found.prefix) == (environment / "bin" / "python", environment)
    assert found.base_prefix == Path(sys.base_prefix) and found.version == sys.version_info[:3]
    for path in (found.executable, site_of(environment), BASE, Path(os.__file__)):
        assert covered(found, path), path
    assert covered(found, Path(pytest.__file__))  # ours stands in
    assert discover(tmp_path, flag=str(environment / "bin" / "python"), env=HERE).prefix == environment


def test_the_interpreter_that_runs_this(tmp_path: Path) -> None:
    found = discover(tmp_path, flag=sys.executable, env=HERE)
    assert found.pytest == pytest.__version__
    assert found.own_pytest() == {}
    assert covered(found, Path(pytest.__file__))
    mounts = found.mounts()
    assert all(mount.source.exists() and not mount.writable for mount in mounts)
    home = Path.home()
    assert not any(home.is_relative_to(mount.target) for mount in mounts)
    assert len({mount.target for mount in mounts}) == len(mounts)


def test_editable_sources_and_chains_of_links_are_mounted(environment: Path, tmp_path: Path) -> None:
    (tmp_path / "library").mkdir()
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "middle").symlink_to(environment / "bin" / "python")
    (tmp_path / "env2" / "bin").mkdir(parents=True)
    (tmp_path / "env2" / "bin" / "python").symlink_to(tmp_path / "links" / "middle")
    (tmp_path / "env2" / "pyvenv.cfg").write_text(f"home = {BASE.parent}\n")
    site = site_of(tmp_path / "env2")
    site.mkdir(parents=True)
    (site / "library.pth").write_text(f"{tmp_path / 'library'}\n/\n")
    found = discover(tmp_path / "library", flag=str(tmp_path / "env2"), env=HERE)
    for path in (tmp_path / "library", tmp_path / "links" / "middle", environment / "bin" / "python"):
        assert covered(found, path), path
    assert not any(mount.target == Path("/") for mount in found.mounts())


def test_a_name_on_path_and_a_relative_place(tmp_path: Path, environment: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "special").symlink_to(BASE)
    env = {"PATH": str(tmp_path / "bin")}
    assert discover(tmp_path, flag="special", env=env).version == sys.version_info[:3]
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "env").symlink_to(environment)
    assert discover(tmp_path / "repo", contract="env", env=env).is_virtual


def test_the_prefix_of_an_installation_stands_for_its_interpreter(tmp_path: Path) -> None:
    (tmp_path / "conda" / "bin").mkdir(parents=True)
    (tmp_path / "conda" / "bin" / "python3").symlink_to(BASE)
    assert discover(tmp_path, flag=str(tmp_path / "conda"), env=HERE).version == sys.version_info[:3]


@pytest.mark.parametrize("flag", ["/nonexistent/python", "nothing-of-that-name", "empty"])
def test_what_was_asked_for_and_is_no_interpreter_is_a_usage_error(flag: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="--python") as caught:
        discover(tmp_path, flag=flag, env=EMPTY)
    assert caught.value.hint


def test_an_old_python_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "python2"
    facts = '{"executable": "/x", "version": [2, 7, 18], "prefix": "/x", "path": [], "libraries": [], "base_site": [], '
    program.write_text(f'#!/bin/sh\necho \'{facts}"site": [], "user_site": "/x", "user_base": "/x"}}\'\n')
    program.chmod(0o755)
    with pytest.raises(UsageError, match=r"Python 2\.7; 3\.8 is the oldest"):
        discover(tmp_path, flag=str(program), env=EMPTY)


def test_a_program_of_the_repository_is_never_started(tmp_path: Path) -> None:
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    hostile = tmp_path / ".venv" / "bin" / "python"
    hostile.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hostile.chmod(0o755)
    (tmp_path / ".venv" / "pyvenv.cfg").write_text(f"home = {tmp_path / '.venv' / 'bin'}\nversion = 3.11\n")
    (tmp_path / "python3").symlink_to(hostile)
    found = discover(tmp_path, env={"PATH": str(tmp_path)})
    assert found.source == "the interpreter of planexec"
    assert not (tmp_path / "ran").exists()


def test_packages_of_the_user_are_seen(tmp_path: Path) -> None:
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    site = tmp_path / "home" / ".local" / "lib" / version / "site-packages"
    site.mkdir(parents=True)
    (site / "pytest-7.0.0.dist-info").mkdir()
    found = discover(tmp_path, flag=str(BASE), env={"PATH": HERE["PATH"], "HOME": str(tmp_path / "home")})
    assert found.user_base == tmp_path / "home" / ".local"
    assert site in found.site and found.pytest is not None


def test_an_interpreter_as_wide_as_home_is_narrowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    home = tmp_path / "home"
    version = (sys.version_info[0], sys.version_info[1], sys.version_info[2])
    library = home / "lib" / f"python{version[0]}.{version[1]}"
    for folder in (home / "bin", library, home / ".ssh"):
        folder.mkdir(parents=True)
    found = Interpreter(home / "bin" / "python", version, home, home, "test", (home,), "8.0")
    assert {mount.target for mount in found.mounts()} == {home / "bin", library}


def test_each_rule_is_told_with_what_came_of_it(tmp_path: Path, environment: Path) -> None:
    repo = tmp_path / "repo"
    project = repo / "backend"
    (project / "venv").mkdir(parents=True)
    (project / "venv" / "pyvenv.cfg").write_text("home = /usr/bin\n")  # broken: no program in it
    (repo / ".tox").mkdir()
    (repo / ".tox" / "py311").symlink_to(environment)
    around = Surroundings(repo, project, {"PATH": "/nonexistent", "HOME": str(tmp_path)})
    told = {attempt.rule: attempt for attempt in attempts(around)}
    assert list(told) == list(RULES)
    assert told["VIRTUAL_ENV"].place is None and told["VIRTUAL_ENV"].reason == "names nothing here"
    assert told[".venv or venv"].place == project / "venv"
    assert "holds no Python environment" in told[".venv or venv"].reason
    assert told["tox"].taken and told["tox"].interpreter == discover(repo, project=project, env=around.env)
    assert told["planexec"].reason == "not needed: an earlier rule found one"
    assert [each.rule for each in told.values() if each.taken] == ["tox"]


def test_variables_of_conda_and_uv(tmp_path: Path, environment: Path) -> None:
    env = {"PATH": "/nonexistent", "HOME": str(tmp_path), "CONDA_PREFIX": str(environment)}
    assert discover(tmp_path, env=env).source == "CONDA_PREFIX"
    assert discover(tmp_path, env={**env, "CONDA_DEFAULT_ENV": "base"}).source == "the interpreter of planexec"
    (tmp_path / "repo" / "backend").mkdir(parents=True)
    (tmp_path / "repo" / "special").symlink_to(environment)
    uv = {"PATH": "/nonexistent", "HOME": str(tmp_path), "UV_PROJECT_ENVIRONMENT": "special"}
    assert discover(tmp_path / "repo", project=tmp_path / "repo" / "backend", env=uv).source == "UV_PROJECT_ENVIRONMENT"


def test_the_configured_interpreter_stands_between_flag_and_contract(tmp_path: Path, environment: Path) -> None:
    env = {"PATH": "/nonexistent", "VIRTUAL_ENV": str(environment)}
    found = discover(tmp_path, configured=str(BASE), contract=str(environment), env=env)
    assert (found.source, found.is_virtual) == ("the user's configuration", False)
    assert discover(tmp_path, flag=str(environment), configured=str(BASE), env=env).source == "--python"


def test_a_contract_cannot_have_a_program_of_the_repository_started(tmp_path: Path) -> None:
    program = tmp_path / "tool"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    with pytest.raises(UsageError, match="not run outside of the sandbox"):
        discover(tmp_path, contract="tool", env=EMPTY)
    assert not (tmp_path / "ran").exists()


def test_a_path_behind_the_flag_counts_from_where_it_was_written(tmp_path: Path, environment: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "env").symlink_to(environment)
    assert named_here("../env/bin/python", tmp_path / "sub") == str(tmp_path / "env" / "bin" / "python")
    assert named_here("env/bin/python", tmp_path / "sub") == "env/bin/python"  # looked up in the project
    assert named_here("python3", tmp_path) == "python3" and named_here(None, tmp_path) is None
