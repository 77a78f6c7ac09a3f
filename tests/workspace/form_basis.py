"""What every form of a repository is made of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .building import git, make

FILES: dict[str, str | bytes] = {"a.py": "one = 1\n", "d/b.py": "two = 2\n", "d/e/c.py": "three = 3\n"}

Form = Callable[[Path], Path]


def plain(folder: Path, *options: str) -> Path:
    """The repository that the others are made of."""
    return make(folder / "r", FILES, *options)


def configured(*pairs: str) -> Form:
    """A repository with settings, all files checked out again under them."""

    def build(folder: Path) -> Path:
        root = plain(folder)
        for pair in pairs:
            git(root, "config", *pair.split("=", 1))
        git(root, "rm", "-rq", "--cached", ".")
        git(root, "reset", "-q", "--hard")
        return root

    return build
