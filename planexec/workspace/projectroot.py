"""Where the project lies in the repository: its tests run there, with pytest's root there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from planexec.workspace.ignored import ENVIRONMENT_MARK

PROJECT_FILES = (
    "pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml",
    "manage.py", "noxfile.py", "Pipfile", "environment.yml", "environment.yaml",
)  # fmt: skip
_REQUIREMENTS = "requirements.txt"  # lies in other folders too, such as docs
_DEEPEST = 2
_MOST_FOLDERS = 500
_OTHERS = frozenset(
    {"node_modules", "docs", "doc", "examples", "example", "tests", "test", "testing", "vendor", "third_party", "build"}
)


def project_root(start: Path, root: Path) -> str:
    """The project root relative to the repository's ``root``, posix; empty where they are the same.

    It is the nearest folder from ``start`` up to ``root`` that has project files; if none has, and there are no tests
    at the top either, the only folder at most two levels below ``root`` that has some; else ``root``.
    """
    root, start = root.resolve(), start.resolve()
    if start.is_relative_to(root):
        for folder in (start, *start.parents):
            if _is_project(folder):
                return _relative(folder, root)
            if folder == root:
                break
    if _has_tests(root) or (root / _REQUIREMENTS).is_file():
        return ""
    found = list(_below(root))
    return _relative(found[0], root) if len(found) == 1 else ""


def root_for_tests(start: Path, root: Path, tests: Sequence[str]) -> str:
    """`project_root`, or where tests lie outside of that (pytest cannot name those) the one that holds them all.

    ``tests`` are ids relative to ``root``.
    """
    project = project_root(start, root)
    files = [test.split("::")[0] for test in tests]
    if not project or all(file == project or file.startswith(f"{project}/") for file in files):
        return project
    common = os.path.commonpath([os.path.dirname(file) for file in files])  # noqa: PTH120 - no path of this machine
    folder = project_root(root / common, root)
    return folder if not folder or f"{common}/".startswith(f"{folder}/") else ""


def _relative(folder: Path, root: Path) -> str:
    found = folder.relative_to(root).as_posix()
    return "" if found == "." else found


def _is_project(folder: Path) -> bool:
    if any((folder / name).is_file() for name in PROJECT_FILES):
        return True
    return (folder / _REQUIREMENTS).is_file() and _has_tests(folder)


def _has_tests(folder: Path) -> bool:
    if any((folder / name).is_dir() for name in ("tests", "test")) or (folder / "conftest.py").is_file():
        return True
    return any(folder.glob("test_*.py")) or any(folder.glob("*_test.py"))


def _below(root: Path) -> Iterator[Path]:
    """The project folders at most `_DEEPEST` levels below ``root``, none inside another."""
    waiting, looked = [(root, 0)], 0
    while waiting and looked < _MOST_FOLDERS:
        folder, depth = waiting.pop(0)
        looked += 1
        for child in _folders(folder):
            if _is_project(child):
                yield child
            elif depth + 1 < _DEEPEST:
                waiting.append((child, depth + 1))


def _folders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as found:
            entries = sorted((each for each in found if each.is_dir(follow_symlinks=False)), key=lambda each: each.name)
    except OSError:
        return []
    kept = [Path(each.path) for each in entries if not each.name.startswith(".") and each.name not in _OTHERS]
    return [each for each in kept if not (each / ENVIRONMENT_MARK).exists()]
