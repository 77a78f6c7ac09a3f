"""The ordered rule by which the interpreter for a project's tests is found, one function a rule.

A rule names places; nothing of the repository is executed, and no tool is run. Whether a place can be used is asked
afterwards, see `interpreter.discover`.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from planexec.testing import environments


@dataclass(frozen=True)
class Candidate:
    """An executable or an environment's folder, and what names it.

    ``asked``: it was named, not searched for, so that a failure is an error. ``trusted``: a person named it outside of
    the repository, whose programs are run on the host for nobody else.
    """

    place: Path
    source: str
    asked: bool = False
    trusted: bool = False


@dataclass(frozen=True)
class Surroundings:
    """Where a rule may look: the repository, the project root in it, what was asked for, the variables."""

    repo: Path
    project: Path
    env: Mapping[str, str]
    flag: str | None = None
    configured: str | None = None
    contract: str | None = None
    own_first: bool = False

    @property
    def folders(self) -> tuple[Path, ...]:
        """The project root, then the repository's."""
        return tuple(dict.fromkeys((self.project, self.repo)))

    @property
    def search_path(self) -> str:
        """The value of PATH."""
        return self.env.get("PATH", os.defpath)


def named_here(text: str | None, folder: Path) -> str | None:
    """What a person wrote behind ``--python`` in ``folder``: a path that exists from there is that one, as a shell has
    it; links are kept, for an environment's program is one.
    """
    if text and os.sep in text and (folder / text).exists():
        return os.path.normpath((folder / text).absolute())
    return text


def candidates(around: Surroundings) -> Iterator[tuple[str, list[Candidate]]]:
    """Every rule in its order with the places that it names."""
    for name, rule in RULES.items():
        yield name, list(rule(around))


def _flag(around: Surroundings) -> Iterator[Candidate]:
    if around.flag:
        yield Candidate(_named(around.flag, around), "--python", asked=True, trusted=True)


def _configuration(around: Surroundings) -> Iterator[Candidate]:
    if around.configured:
        yield Candidate(_named(around.configured, around), "the user's configuration", asked=True, trusted=True)


def _contract(around: Surroundings) -> Iterator[Candidate]:
    if around.contract:
        yield Candidate(_named(around.contract, around), "the contract's interpreter", asked=True)


def _fixture(around: Surroundings) -> Iterator[Candidate]:
    """A fixture that ships with planexec has what it needs installed beside planexec."""
    if around.own_first:
        yield _own_interpreter()


def _virtual_env(around: Surroundings) -> Iterator[Candidate]:
    if around.env.get("VIRTUAL_ENV"):
        yield Candidate(Path(around.env["VIRTUAL_ENV"]), "VIRTUAL_ENV")


def _conda_prefix(around: Surroundings) -> Iterator[Candidate]:
    """An active environment of conda; its base, which is active everywhere, is only what PATH gives."""
    if around.env.get("CONDA_PREFIX") and around.env.get("CONDA_DEFAULT_ENV") != "base":
        yield Candidate(Path(around.env["CONDA_PREFIX"]), "CONDA_PREFIX")


def _in_folder(around: Surroundings) -> Iterator[Candidate]:
    for folder in around.folders:
        for name in (".venv", "venv"):
            if (folder / name / environments.MARK).is_file():
                yield Candidate(folder / name, name)


def _uv(around: Surroundings) -> Iterator[Candidate]:
    named = around.env.get("UV_PROJECT_ENVIRONMENT")
    for folder in around.folders if named else ():
        if (folder / str(named) / environments.MARK).is_file():
            yield Candidate(folder / str(named), "UV_PROJECT_ENVIRONMENT")


def _kept_by(
    find: Callable[[Path, Mapping[str, str]], list[Path]], source: str
) -> Callable[[Surroundings], Iterator[Candidate]]:
    def rule(around: Surroundings) -> Iterator[Candidate]:
        for folder in around.folders:
            yield from (Candidate(place, source) for place in find(folder, around.env))

    return rule


def _path(around: Surroundings) -> Iterator[Candidate]:
    for name in ("python3", "python"):
        place = shutil.which(name, path=around.search_path)
        # A program of the repository is never started on the host.
        if place and not Path(place).absolute().is_relative_to(around.repo):
            yield Candidate(Path(place).absolute(), f"{name} on PATH")


def _own(around: Surroundings) -> Iterator[Candidate]:
    yield _own_interpreter()


def _own_interpreter() -> Candidate:
    return Candidate(Path(sys.executable), "the interpreter of planexec")


def _named(text: str, around: Surroundings) -> Path:
    """A place as a person wrote it: absolute, below the project or the repository, or a program's name."""
    place = Path(text).expanduser()
    if place.is_absolute():
        return place
    inside = next((folder / place for folder in around.folders if (folder / place).exists()), None)
    if inside is None and len(place.parts) == 1:
        return Path(shutil.which(text, path=around.search_path) or around.repo / place)
    return inside or around.repo / place


RULES: Mapping[str, Callable[[Surroundings], Iterator[Candidate]]] = {
    "--python": _flag,
    "the user's configuration": _configuration,
    "the contract": _contract,
    "VIRTUAL_ENV": _virtual_env,
    "CONDA_PREFIX": _conda_prefix,
    ".venv or venv": _in_folder,
    "a shipped fixture": _fixture,
    "uv": _uv,
    "poetry": _kept_by(environments.poetry, "poetry"),
    "pipenv": _kept_by(environments.pipenv, "pipenv"),
    "conda": _kept_by(environments.conda, "conda"),
    "tox": _kept_by(environments.tox, "tox"),
    "nox": _kept_by(environments.nox, "nox"),
    "PATH": _path,
    "planexec": _own,
}
"""The order. A rule that names nothing is passed over."""
