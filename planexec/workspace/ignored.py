"""Which ignored files are mounted instead of copied: virtual environments, and what is large."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from planexec.core.errors import SafetyViolation
from planexec.workspace.entries import is_cache, is_git_name, opened, opened_below, parent_of

LARGE_BYTES = 32 * 1024 * 1024
LARGE_FILES = 2000
ENVIRONMENT_MARK = "pyvenv.cfg"
_DEEPEST = 200


@dataclass
class _Measure:
    """What an ignored folder holds: files and bytes outside of the virtual environments in it."""

    files: int = 0
    size: int = 0
    environments: list[str] = field(default_factory=list)


def find_mounts(root: Path, ignored: Iterable[str], tracked: Sequence[str]) -> list[str]:
    """Paths below ``root`` to mount read-only, none inside another.

    ``ignored`` is what git ignores, folders with a slash at the end. A virtual environment counts wherever it is,
    unless git tracks files in it.
    """
    found: list[str] = []
    with opened(root) as descriptor:
        for path in sorted(ignored):
            found += _of_entry(descriptor, root, path)
        held = _folders_of(tracked)
        found += [path for path in _untracked_environments(descriptor, held) if path not in found]
    return _outermost(found)


def _folders_of(paths: Sequence[str]) -> set[str]:
    """Every folder above one of ``paths``, but for the top."""
    found: set[str] = set()
    for path in paths:
        above = path.rpartition("/")[0]
        while above and above not in found:
            found.add(above)
            above = above.rpartition("/")[0]
    return found


def _of_entry(descriptor: int, root: Path, path: str) -> list[str]:
    name = path.rstrip("/")
    if any(is_git_name(part) for part in name.split("/")):
        return []
    try:
        if not path.endswith("/"):
            status = (root / name).lstat()
            return [name] if status.st_size > LARGE_BYTES else []
        measure = _Measure()
        with opened_below(descriptor, name) as folder:
            _measure(folder, name, measure, 0)
    except OSError:
        return []
    large = measure.size > LARGE_BYTES or measure.files > LARGE_FILES
    return [name] if large else measure.environments


def _measure(folder: int, path: str, measure: _Measure, depth: int) -> None:
    with os.scandir(folder) as found:
        items = list(found)
    if any(item.name == ENVIRONMENT_MARK for item in items):
        measure.environments.append(path)
        return
    for item in items:
        is_folder = item.is_dir(follow_symlinks=False)
        if is_cache(item.name, is_folder) or is_git_name(item.name):
            continue
        if is_folder and depth < _DEEPEST:
            with opened_below(folder, item.name) as below:
                _measure(below, f"{path}/{item.name}", measure, depth + 1)
        elif item.is_file(follow_symlinks=False):
            measure.files += 1
            measure.size += item.stat(follow_symlinks=False).st_size


def _untracked_environments(descriptor: int, held: set[str]) -> list[str]:
    """Virtual environments that no rule ignores, in the folders where people put them: beside tracked files."""
    found = []
    for folder in ("", *sorted(held)):
        above = f"{folder}/" if folder else ""
        try:
            with parent_of(descriptor, f"{above}{ENVIRONMENT_MARK}") as (below, _), os.scandir(below) as items:
                for item in items:
                    path = above + item.name
                    if path not in held and not is_git_name(item.name) and _is_environment(below, item):
                        found.append(path)
        except (OSError, SafetyViolation):  # a tracked folder that is gone, or is a link by now
            continue
    return found


def _is_environment(folder: int, item: os.DirEntry[str]) -> bool:
    if not item.is_dir(follow_symlinks=False):
        return False
    with contextlib.suppress(OSError):
        return stat.S_ISREG(os.stat(f"{item.name}/{ENVIRONMENT_MARK}", dir_fd=folder).st_mode)
    return False


def _outermost(paths: Iterable[str]) -> list[str]:
    kept: list[str] = []
    for path in sorted(set(paths), key=lambda item: item.split("/")):
        if not any(path.startswith(f"{above}/") for above in kept):
            kept.append(path)
    return kept
