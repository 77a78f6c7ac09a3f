"""Where a repository and its state lie, found by reading a few small files: no git is run or imported.

So that ``planexec status`` answers at once, also where git is not installed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from planexec.core.errors import EnvironmentFailure

STATE_NAME = "planexec"
_LONGEST_POINTER = 64 * 1024  # bytes; a `.git` file or `commondir` holds one path


@dataclass(frozen=True, slots=True)
class Place:
    """The folders of a repository, absolute and with links resolved.

    ``git_dir`` belongs to this work tree (index, HEAD); ``common_dir`` to all its linked work trees (objects,
    configuration). They differ in linked work trees only.
    """

    root: Path
    git_dir: Path
    common_dir: Path


def locate(path: Path) -> Place:
    """The repository whose work tree holds ``path``. Raises EnvironmentFailure with one line when there is none."""
    try:
        start = path.resolve(strict=True)
    except OSError as error:
        raise EnvironmentFailure(f"{path}: {error.strerror}", "Name a folder of a git repository.") from error
    for folder in (start, *start.parents):
        git_dir = _git_dir(folder)
        if git_dir is not None:
            return Place(folder, git_dir, _common_dir(git_dir))
        if _is_git_dir(folder):
            raise EnvironmentFailure(
                f"{folder} is a bare repository or the inside of one: it has no work tree",
                "Name a folder with the checked-out files, or make one: git worktree add FOLDER.",
            )
    raise EnvironmentFailure(
        f"{path} is not in a git repository", "Go to one, name it with --repo, or make one: git init."
    )


def repository_root(path: Path) -> Path:
    """The top folder of the work tree that holds ``path``."""
    return locate(path).root


def state_folder(path: Path) -> Path:
    """Where the journal and the artifacts of this repository live: inside its git folder, out of sight of git."""
    return locate(path).common_dir / STATE_NAME


def _git_dir(folder: Path) -> Path | None:
    """What ``folder/.git`` is or points to; None where there is none (an empty ``.git`` is none, as for git)."""
    candidate = folder / ".git"
    if candidate.is_dir():
        return candidate.resolve() if _is_git_dir(candidate) else None
    if not candidate.is_file():
        return None
    text = _pointer(candidate)
    if not text.startswith("gitdir:"):
        raise EnvironmentFailure(f"{candidate} is neither a git folder nor points to one", "Repair or remove it.")
    target = (folder / text.removeprefix("gitdir:").strip()).resolve()
    if not _is_git_dir(target):
        raise EnvironmentFailure(
            f"{candidate} points to {target}, which is not a git folder",
            "Was the repository moved? Try: git worktree repair, or git submodule update --init.",
        )
    return target


def _is_git_dir(folder: Path) -> bool:
    has_objects = (folder / "objects").is_dir() and (folder / "refs").exists()
    return (folder / "HEAD").is_file() and (has_objects or (folder / "commondir").is_file())


def _common_dir(git_dir: Path) -> Path:
    pointer = git_dir / "commondir"
    return (git_dir / _pointer(pointer).strip()).resolve() if pointer.is_file() else git_dir


def _pointer(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return stream.read(_LONGEST_POINTER).decode("utf-8", "surrogateescape")
    except OSError as error:
        raise EnvironmentFailure(f"{path} cannot be read: {error.strerror}", "Check its permissions.") from error
