"""The interpreter that runs the project's tests: found by an ordered rule, described without running its code."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from planexec.core.errors import EnvironmentFailure, UsageError
from planexec.sandbox.interface import Mount
from planexec.testing import ownpytest
from planexec.testing.discovery import Candidate, Surroundings, candidates
from planexec.testing.probe import (
    Facts,
    VirtualEnvironment,
    added_paths,
    ask,
    distribution_version,
    virtual_environment,
)

OLDEST = (3, 8)
# What every sandbox shows by itself.
SYSTEM = tuple(Path(name) for name in ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"))


@dataclass(frozen=True)
class Interpreter:
    """An interpreter and everything that it reads. ``source`` says which rule found it.

    ``paths`` are folders or files outside of its prefixes: package folders, editable sources, shared libraries, folders
    with links of its chain. ``pytest`` is the version that is installed for it; None when ours has to stand in.
    ``user_base`` is set when packages of the user's own folder are on its path.
    """

    executable: Path
    version: tuple[int, int, int]
    prefix: Path
    base_prefix: Path
    source: str
    paths: tuple[Path, ...]
    pytest: str | None
    site: tuple[Path, ...] = ()
    user_base: Path | None = None
    _own: dict[str, Path] = field(default_factory=dict, compare=False, repr=False)

    @property
    def is_virtual(self) -> bool:
        """Whether it belongs to a virtual environment."""
        return self.prefix != self.base_prefix

    def own_pytest(self) -> dict[str, Path]:
        """Our pytest and what it needs (import name to place) where the target has none, else nothing.

        Raises EnvironmentFailure when ours does not fit this version.
        """
        if self.pytest is None and not self._own:
            self._own.update(ownpytest.places(self.version, self.site))
        return dict(self._own)

    def mounts(self) -> list[Mount]:
        """Read-only mounts at their own paths, outer folders first, nothing twice, nothing that the system has."""
        wanted = [self.base_prefix, self.prefix, *self.paths, *self.own_pytest().values()]
        found: list[Mount] = []
        for path in sorted(set(wanted), key=lambda path: len(path.parts)):
            source = path.resolve()
            if _is_system(path) or not source.exists() or any(path.is_relative_to(each.target) for each in found):
                continue
            found.extend(Mount(part.resolve(), part) for part in self._narrowed(path))
        return found

    def _narrowed(self, path: Path) -> Iterator[Path]:
        """``path``, or of a folder as wide as the user's home only what an interpreter needs."""
        if not _too_wide(path):
            yield path
        elif path in (self.prefix, self.base_prefix):
            library = f"python{self.version[0]}.{self.version[1]}"
            yield from (each for each in (path / "bin", path / "lib" / library) if each.exists())


def _is_system(path: Path) -> bool:
    return any(path.is_relative_to(each) for each in SYSTEM)


def _too_wide(path: Path) -> bool:
    home = Path.home()
    real = path.resolve()
    return any(each.is_relative_to(real) for each in (home, home.resolve(), Path("/tmp"), Path("/var/tmp")))


@dataclass(frozen=True)
class Attempt:
    """What came of one place of one rule. ``interpreter`` is set when it can be used; else ``reason`` says why not.

    A rule that names no place has ``place`` None. ``taken`` marks the one that is used.
    """

    rule: str
    place: Path | None = None
    interpreter: Interpreter | None = None
    reason: str = ""
    taken: bool = False


def discover(
    repo: Path,
    *,
    project: Path | None = None,
    flag: str | None = None,
    configured: str | None = None,
    contract: str | None = None,
    own_first: bool = False,
    env: Mapping[str, str] | None = None,
) -> Interpreter:
    """The first that can be used by the order of `discovery.RULES`.

    ``repo`` is the repository's root, ``project`` the project root in it. ``flag``, ``configured`` (of the user's
    configuration) and ``contract`` are an executable, an environment's folder or a name on PATH; relative ones are
    looked up in the project, then in the repository. With ``own_first`` the interpreter that runs planexec goes before
    those that have to be searched for. Raises UsageError when one of the three is no interpreter, EnvironmentFailure
    when there is none.
    """
    around = Surroundings(
        repo, project or repo, os.environ if env is None else env, flag, configured, contract, own_first
    )
    problems: list[str] = []
    for attempt in attempts(around):
        if attempt.interpreter is not None:
            return attempt.interpreter
        problems += [attempt.reason] if attempt.place is not None else []
    raise EnvironmentFailure("no usable Python interpreter was found: " + "; ".join(problems), "name one with --python")


def attempts(around: Surroundings) -> Iterator[Attempt]:
    """Every rule in its order and what came of it; what comes after the first usable place is named, not started.

    Raises UsageError when what a person asked for is no interpreter.
    """
    taken = False
    for rule, places in candidates(around):
        if not places:
            yield Attempt(rule, reason="names nothing here")
        for found in places:
            if taken:
                yield Attempt(rule, found.place, reason="not needed: an earlier rule found one")
                continue
            attempt = _tried(rule, found, around)
            taken = attempt.taken
            yield attempt


def _tried(rule: str, found: Candidate, around: Surroundings) -> Attempt:
    try:
        return Attempt(rule, found.place, _describe(found, around.repo, around.env), taken=True)
    except EnvironmentFailure as error:
        if found.asked:
            raise UsageError(f"{found.source}: {error.message}", error.hint) from error
        return Attempt(rule, found.place, reason=error.message)


def _describe(found: Candidate, repo: Path, env: Mapping[str, str]) -> Interpreter:
    environment = _environment_of(found.place)
    place = found.place
    if environment is None and place.is_dir():
        place = place / "bin" / "python3"  # conda, or an installation's prefix
        if not place.exists():
            raise EnvironmentFailure(f"{found.place} holds no Python environment", "name a Python executable")
    start = environment.base if environment else place
    if start.resolve().is_relative_to(repo.resolve()) and not found.trusted:
        raise EnvironmentFailure(f"{start} is a program of the repository and is not run outside of the sandbox")
    facts = ask(start, prefix=environment.prefix if environment else None, cwd=repo, env=_quiet(env))
    if facts.version[:2] < OLDEST:
        raise EnvironmentFailure(f"{found.place} is Python {facts.version[0]}.{facts.version[1]}; 3.8 is the oldest")
    return _assembled(found, environment, facts)


def _environment_of(place: Path) -> VirtualEnvironment | None:
    if place.is_dir():
        return virtual_environment(place)
    folder = place.parent.parent
    environment = virtual_environment(folder)
    if environment is None or place.parent.name != "bin":
        return None
    return VirtualEnvironment(folder, place, environment.base, environment.system_site)


def _quiet(env: Mapping[str, str]) -> dict[str, str]:
    """The environment for the probe: what shims need, nothing that changes Python's behaviour."""
    kept = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "PYENV_ROOT", "PYENV_VERSION", "ASDF_DATA_DIR", "MISE_DATA_DIR")
    return {name: env[name] for name in kept if name in env}


def _assembled(found: Candidate, environment: VirtualEnvironment | None, facts: Facts) -> Interpreter:
    executable = environment.executable if environment else facts.executable
    site = list(facts.site)
    user_base = None
    if environment is None or environment.system_site:
        site += [each for each in facts.base_site if each not in site]
        if facts.user_site.is_dir():
            site.append(facts.user_site)
            user_base = facts.user_base
    site = [each for each in site if each.is_dir()]
    added = [path for folder in site for path in added_paths(folder)]
    libraries = {_library_folder(each) for each in facts.libraries if not _is_system(each)}
    folders = [each for each in facts.path if each.exists()]
    links = _links(executable) | _links(facts.executable)
    wanted = [*folders, *site, *added, *sorted(libraries), *sorted(links)]
    importable = (*site, *(each for each in added if each.is_dir()))
    return Interpreter(
        executable=executable,
        version=facts.version,
        prefix=environment.prefix if environment else facts.prefix,
        base_prefix=facts.prefix,
        source=found.source,
        paths=tuple(dict.fromkeys(wanted)),
        pytest=distribution_version("pytest", importable),
        site=importable,
        user_base=user_base,
    )


def _library_folder(library: Path) -> Path:
    return library if _too_wide(library.parent) else library.parent


def _links(executable: Path) -> set[Path]:
    """The folders that hold the links from ``executable`` to the file itself."""
    found = {executable.parent}
    for _ in range(20):
        if not executable.is_symlink():
            break
        executable = Path(os.path.normpath(executable.parent / executable.readlink()))
        found.add(executable.parent)
    return found
