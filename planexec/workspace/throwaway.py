"""A throwaway repository from a plain folder: what ``run --fixture`` works on, so that a shipped example stays as it
is.
"""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

from planexec.core.errors import EnvironmentFailure, UsageError
from planexec.workspace.entries import is_cache
from planexec.workspace.gitcommand import git

_IDENTITY = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "planexec"), ("EMAIL", "planexec@localhost"), ("DATE", "2000-01-01T00:00:00Z"))
}
_SKIPPED = frozenset({".git", ".venv", "venv"})


def make_repository(folder: Path, into: Path | None, cache: Path) -> Path:
    """Copy ``folder`` and commit everything in it; ``into`` names the place, else it is a new one below ``cache``.

    Raises UsageError when ``folder`` is no folder or ``into`` is not empty.
    """
    if not folder.is_dir():
        raise UsageError(f"there is no fixture folder '{folder}'", "give the path of a folder with a small project")
    target = (into or cache / "fixtures" / f"{folder.resolve().name}-{secrets.token_hex(4)}").absolute()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"'{target}' is not empty", "give --into a new or empty folder")
    try:
        shutil.copytree(folder, target, symlinks=True, ignore=_ignored, dirs_exist_ok=True)
    except (OSError, shutil.Error) as error:
        raise EnvironmentFailure(
            f"the fixture cannot be copied to {target}: {error}", "choose another place with --into"
        ) from None
    git(["init", "--quiet", "--initial-branch=main"], target, variables={"GIT_TEMPLATE_DIR": ""})
    git(["add", "--all", "--force"], target)
    git(["commit", "--quiet", "--message", f"The fixture {folder.resolve().name}"], target, variables=_IDENTITY)
    return target


def _ignored(folder: str, names: list[str]) -> set[str]:
    """Git folders, environments, byte code and caches are no part of a fixture."""
    return {name for name in names if name in _SKIPPED or is_cache(name, (Path(folder) / name).is_dir())}
