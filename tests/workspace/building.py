"""Real repositories for the tests, and what must not change when they are read."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import planexec
from planexec.workspace.entries import Change, Entry

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    **{f"GIT_{role}_{part}": "t@example.org" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")},
}


def git(folder: Path, *arguments: str, check: bool = True) -> str:
    """Run git as a user would."""
    done = subprocess.run(["git", *arguments], cwd=folder, env=ENVIRONMENT, capture_output=True, check=False)
    if check:
        assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8", "surrogateescape")


def make(folder: Path, files: dict[str, str | bytes], *options: str) -> Path:
    """A repository with one commit of ``files``."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", *options)
    write(folder, files)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder.resolve()


def write(folder: Path, files: dict[str, str | bytes]) -> None:
    """Write files, with their folders."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def fingerprint(folder: Path) -> dict[str, tuple[int, ...]]:
    """Everything about a tree that reading must leave alone: inodes, sizes, modes, both times. ``.git`` included."""
    found = {}
    for path in [folder, *folder.rglob("*")]:
        status = path.lstat()
        found[str(path)] = (
            status.st_ino,
            status.st_size,
            status.st_mode,
            status.st_mtime_ns,
            status.st_ctime_ns,
        )
    return found


def contents(folder: Path) -> dict[str, bytes]:
    """Path to bytes of every file outside ``.git``."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }


def paths(changes: list[Change]) -> list[str]:
    """Only the paths of changes."""
    return [change.path for change in changes]


def entry_of(data: bytes, mode: int = 0o100644) -> Entry:
    """The entry of a file with these bytes."""
    return Entry(mode, hashlib.sha256(data).hexdigest(), len(data))


def run(program: str, *arguments: str) -> tuple[int, str, str]:
    """Run a Python program that may kill itself: (exit code, output, errors)."""
    project = Path(planexec.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, "PYTHONPATH": f"{project}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr
