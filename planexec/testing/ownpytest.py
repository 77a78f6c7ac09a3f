"""planexec's own pytest, for a target project that has none: which files it is, and whether it fits an interpreter."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from planexec.core.errors import EnvironmentFailure
from planexec.testing.probe import distribution_version


def places(version: tuple[int, int, int], folders: tuple[Path, ...]) -> dict[str, Path]:
    """Import name to file or folder of pytest and what it needs, without what the target has in ``folders``.

    The metadata folders are there too, under their own names (``pytest-9.0.dist-info``).

    Raises EnvironmentFailure when our pytest does not fit ``version``, or needs there what we do not have.
    """
    found: dict[str, Path] = {}
    _gather("pytest", version, folders, found, set())
    return found


def _gather(
    name: str, version: tuple[int, int, int], folders: tuple[Path, ...], found: dict[str, Path], seen: set[str]
) -> None:
    seen.add(name)
    if name != "pytest" and distribution_version(name.replace("-", "_"), folders) is not None:
        return
    text = ".".join(map(str, version))
    try:
        distribution = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        raise _unfit(text, f"{name} is needed there and is not installed here") from None
    if not SpecifierSet(distribution.metadata["Requires-Python"] or "").contains(text):
        raise _unfit(text, f"our {name} {distribution.version} does not support it")
    found.update(_top_level(distribution))
    for line in distribution.requires or []:
        requirement = Requirement(line)
        other = canonicalize_name(requirement.name)
        if other not in seen and _applies(requirement, version):
            _gather(other, version, folders, found, seen)


def _applies(requirement: Requirement, version: tuple[int, int, int]) -> bool:
    if requirement.marker is None:
        return True
    environment = {
        "python_version": f"{version[0]}.{version[1]}",
        "python_full_version": ".".join(map(str, version)),
        "extra": "",
    }
    return requirement.marker.evaluate(environment)


def _top_level(distribution: importlib.metadata.Distribution) -> Mapping[str, Path]:
    found: dict[str, Path] = {}
    for file in distribution.files or []:
        first = file.parts[0]
        if first in ("..", "__pycache__"):
            continue
        if len(file.parts) > 1 or first.endswith(".py"):  # packages, modules and the metadata folder
            found[first.removesuffix(".py")] = Path(str(distribution.locate_file(first)))
    return found


def _unfit(version: str, reason: str) -> EnvironmentFailure:
    return EnvironmentFailure(
        f"the project's Python {version} has no pytest, and planexec's own cannot stand in: {reason}",
        "install pytest for the project's interpreter, or name another interpreter with --python",
    )
