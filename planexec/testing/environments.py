"""Where poetry, pipenv, conda, tox and nox keep a project's environments: computed from names, nothing is run.

What a repository says (a name in ``pyproject.toml`` or ``environment.yml``) can only choose among the environments
that its user made; it is read with bounds and never executed.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from planexec.testing.probe import distribution_version

MARK = "pyvenv.cfg"
MOST_BYTES = 1024 * 1024
_CONDA_NAME = re.compile(r"""^name:[ \t]*(["']?)([\w.-]+)\1[ \t]*(?:#.*)?$""", re.MULTILINE)
_CONDA_FILES = ("environment.yml", "environment.yaml")
_CONDA_HOMES = ("miniforge3", "mambaforge", "miniconda3", "anaconda3", "micromamba", ".conda", ".local/share/mamba")
_CONDA_SYSTEM = ("/opt/conda", "/opt/miniforge3", "/opt/miniconda3", "/opt/anaconda3")


def poetry(folder: Path, env: Mapping[str, str]) -> list[Path]:
    """Poetry's environments of the project in ``folder``, the activated one or else the newest Python first.

    Their names are ``{name}-{hash of the folder}-py{version}``, as ``EnvManager.generate_env_name`` makes them.
    """
    project = toml(folder / "pyproject.toml")
    table = _table(_table(project, "tool"), "poetry")
    backend = str(_table(project, "build-system").get("build-backend", ""))
    if not table and "poetry" not in backend and not (folder / "poetry.lock").is_file():
        return []
    name = _table(project, "project").get("name") or table.get("name") or "non-package-mode"
    own = re.sub(r'[ $`!*@"\\\r\n\t]', "_", canonicalize_name(str(name)))[:42] + "-" + _short_hash(_real(folder))
    home = _poetry_home(env)
    chosen = str(_table(toml(home / "envs.toml"), own).get("minor", ""))
    found = [each for each in _below(home) if each.name.startswith(f"{own}-py")]
    return sorted(found, key=lambda each: (each.name == f"{own}-py{chosen}", _numbers(each.name)), reverse=True)


def pipenv(folder: Path, env: Mapping[str, str]) -> list[Path]:
    """Pipenv's environment of the project in ``folder``: ``{folder's name}-{hash of the Pipfile's path}``."""
    file = folder / "Pipfile"
    if not file.is_file():
        return []
    home = Path(env.get("WORKON_HOME") or _home(env) / ".local" / "share" / "virtualenvs").expanduser()
    clean = re.sub(r'[ &$`!*@"()\[\]\\\r\n\t]', "_", folder.name)[:42]
    names = [f"{clean}-{_short_hash(str(file))}"]
    if env.get("PIPENV_CUSTOM_VENV_NAME"):
        names.insert(0, env["PIPENV_CUSTOM_VENV_NAME"])
    suffixes = [f"-{Path(env['PIPENV_PYTHON']).name}"] if env.get("PIPENV_PYTHON") else []
    wanted = [name + suffix for name in names for suffix in (*suffixes, "")]
    return [home / name for name in wanted if (home / name / MARK).is_file()]


def conda(folder: Path, env: Mapping[str, str]) -> list[Path]:
    """Conda's environments with the name that the ``environment.yml`` in ``folder`` gives."""
    name = next((found for file in _CONDA_FILES if (found := _conda_name(folder / file))), "")
    if not name:
        return []
    home = _home(env)
    listed = [Path(line.strip()) for line in _text(home / ".conda" / "environments.txt").splitlines()]
    places = [each for each in listed if each.name == name]
    for variable in ("CONDA_ENVS_PATH", "CONDA_ENVS_DIRS"):
        places += [Path(each) / name for each in env.get(variable, "").split(os.pathsep) if each]
    prefixes = [Path(env[key]) for key in ("MAMBA_ROOT_PREFIX", "CONDA_ROOT", "_CONDA_ROOT") if env.get(key)]
    prefixes += [home / each for each in _CONDA_HOMES] + [Path(each) for each in _CONDA_SYSTEM]
    places += [prefix / "envs" / name for prefix in prefixes]
    return [each for each in dict.fromkeys(places) if (each / "bin" / "python").exists()]


def tox(folder: Path, env: Mapping[str, str]) -> list[Path]:
    """The environments ``.tox/py*``: those with pytest first, then the newest Python."""
    return _best(each for each in _below(folder / ".tox") if each.name.startswith("py"))


def nox(folder: Path, env: Mapping[str, str]) -> list[Path]:
    """The environments in ``.nox`` that have pytest (others are for linting and documentation), the newest first."""
    return _best(_below(folder / ".nox"), lambda each: bool(_pytest(each)))


def toml(file: Path) -> dict[str, Any]:
    """A TOML file of bounded size; empty when there is none or it cannot be read as one."""
    try:
        return tomllib.loads(_text(file))
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _table(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = data.get(key)
    return found if isinstance(found, dict) else {}


def _poetry_home(env: Mapping[str, str]) -> Path:
    """``virtualenvs.path`` as poetry finds it: the environment, its configuration file, its cache folder."""
    home = _home(env)
    config = Path(env.get("POETRY_CONFIG_DIR") or Path(env.get("XDG_CONFIG_HOME") or home / ".config") / "pypoetry")
    settings = toml(config / "config.toml")
    usual = Path(env.get("XDG_CACHE_HOME") or home / ".cache") / "pypoetry"
    cache = str(env.get("POETRY_CACHE_DIR") or settings.get("cache-dir") or usual)
    path = env.get("POETRY_VIRTUALENVS_PATH") or _table(settings, "virtualenvs").get("path")
    text = str(path or "{cache-dir}/virtualenvs").replace("{cache-dir}", cache)
    return home / text[2:] if text.startswith("~/") else Path(text)


def _conda_name(file: Path) -> str:
    """The top-level ``name`` of an environment file. Not read as YAML: the file is anybody's, aliases included."""
    found = _CONDA_NAME.search(_text(file))
    return found[2] if found and found[2] not in (".", "..", "base") else ""


def _best(folders: Iterable[Path], wanted: Callable[[Path], bool] = lambda each: True) -> list[Path]:
    found = [each for each in folders if (each / MARK).is_file() and wanted(each)]
    return sorted(found, key=lambda each: (bool(_pytest(each)), _version(each), each.name), reverse=True)


def _pytest(environment: Path) -> str | None:
    return distribution_version("pytest", environment.glob("lib/python3*/site-packages"))


def _version(environment: Path) -> tuple[int, ...]:
    found = re.search(r"^version(?:_info)?\s*=\s*(\d+)\.(\d+)", _text(environment / MARK), re.MULTILINE)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _numbers(name: str) -> tuple[int, ...]:
    return tuple(int(each) for each in re.findall(r"\d+", name.rpartition("-py")[2]))


def _short_hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()
    return base64.urlsafe_b64encode(digest).decode("ascii")[:8]


def _real(folder: Path) -> str:
    return os.path.normcase(os.path.realpath(folder))


def _home(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or Path.home())


def _below(folder: Path) -> Iterator[Path]:
    try:
        yield from (each for each in sorted(folder.iterdir()) if each.is_dir())
    except OSError:
        return


def _text(file: Path) -> str:
    """The text of a regular file, bounded; empty when there is none."""
    try:
        if not file.is_file():
            return ""
        with file.open("rb") as stream:
            return stream.read(MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
