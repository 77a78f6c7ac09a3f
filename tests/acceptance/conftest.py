"""The command line as a user has it: a process of its own, real repositories, a cache folder of its own."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).resolve().parents[2]
FIXTURE = PROJECT / "fixtures" / "login_return_to"
CONTRACT = PROJECT / "contracts" / "login-return-to.yaml"
PATIENCE = 900.0
"""Seconds after which a command counts as hanging, on the busiest machine."""

IDENTITY = {f"GIT_{role}_{part}": "t@example.org" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
ODD_TIME = 1_000_000_007_123_456_789
"""Nanoseconds since 1970, in the year 2001, with no zeros at the end."""


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """Standard output as the one JSON document that it has to be."""
        document = json.loads(self.out)
        assert isinstance(document, dict)
        return document

    def refused(self, code: int, *words: str) -> None:
        """It ended with ``code``, nothing on standard output and one line on standard error that holds ``words``."""
        assert self.code == code, f"exit {self.code}: {self.err}"
        assert self.out == ""
        assert "Traceback" not in self.err
        assert len(self.err.splitlines()) == 1, self.err
        assert self.err.startswith("planexec: ")
        assert [word for word in words if word not in self.err] == [], self.err


@dataclass
class CommandLine:
    """Calls planexec with a cache folder of its own; ``started`` leaves the process to the caller, in its own group."""

    cache: Path
    environment: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        own = {
            name: value for name, value in os.environ.items() if not name.startswith(("PLANEXEC", "GIT_", "PYTEST_"))
        }
        # The interpreter of these tests runs those of the repositories too, whatever else the machine has.
        active = {"VIRTUAL_ENV": sys.prefix} if sys.prefix != sys.base_prefix else {}
        self.environment = {**own, **active, "PYTHONSAFEPATH": "1"}
        self.environment |= {"XDG_CACHE_HOME": str(self.cache), "XDG_CONFIG_HOME": str(self.cache)}

    def __call__(self, *arguments: str | Path, cwd: Path | None = None) -> Done:
        done = subprocess.run(
            self._argv(arguments), cwd=cwd or self.cache.parent, env=self.environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, timeout=PATIENCE,
        )  # fmt: skip
        return Done(done.returncode, done.stdout, done.stderr)

    def started(self, *arguments: str | Path, cwd: Path) -> subprocess.Popen[bytes]:
        """Begin a command in a process group of its own, which a test may kill as a whole."""
        return subprocess.Popen(
            self._argv(arguments), cwd=cwd, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    def _argv(self, arguments: Sequence[str | Path]) -> list[str]:
        return [sys.executable, "-m", "planexec.cli.main", *map(str, arguments)]


def command_line(folder: Path) -> CommandLine:
    """The command line with its cache below ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    return CommandLine(folder / "cache")


@pytest.fixture
def planexec(tmp_path: Path) -> CommandLine:
    return command_line(tmp_path)


@dataclass(frozen=True)
class Shown:
    """The run of the shipped fixture, once for all tests that look at it."""

    done: Done
    planexec: CommandLine
    repository: Path
    source: Path = FIXTURE
    contract: Path = CONTRACT

    @property
    def document(self) -> dict[str, Any]:
        return self.done.document


@pytest.fixture(scope="session")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    return ran_once(tmp_path_factory, FIXTURE)


def ran_once(tmp_path_factory: pytest.TempPathFactory, fixture: Path) -> Shown:
    """``planexec run --fixture ... --json``, with the throwaway repository kept; once for all test processes."""
    contract = PROJECT / "contracts" / f"{fixture.name.replace('_', '-')}.yaml"
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"shown-{fixture.name}"
    folder.mkdir(exist_ok=True)
    planexec, kept, ended = command_line(folder), folder / "kept", folder / "done.json"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ended.exists():
            before = fingerprint(fixture)
            done = planexec("run", "--fixture", fixture, "--into", kept, contract, "--json")
            assert fingerprint(fixture) == before, "the shipped fixture itself was touched"
            ended.write_text(json.dumps([done.code, done.out, done.err]))
    return Shown(Done(*json.loads(ended.read_text())), planexec, kept, fixture, contract)


# A small repository with one fault, and everything about its tree that must not change.

SHOP = {
    "shop/__init__.py": "",
    "shop/basket.py": '''
        """Prices of a basket."""

        from shop.words import plural


        def total(prices, shipping):
            """The sum of the prices, with shipping."""
            return sum(prices) - shipping


        def label(prices):
            return plural("article", len(prices))
        ''',
    "shop/words.py": '''
        def plural(word, count):
            return word if count == 1 else word + "s"
        ''',
    "tests/test_basket.py": '''
        from shop.basket import label, total


        def test_total():
            assert total([2, 3], 4) == 9


        def test_without_shipping():
            assert total([2, 3], 0) == 5


        def test_label():
            assert label([1, 2]) == "2 articles"[2:]
        ''',
    "tests/test_words.py": '''
        from shop.words import plural


        def test_plural():
            assert plural("egg", 1) == "egg"
        ''',
    "pyproject.toml": '''
        [tool.pytest.ini_options]
        pythonpath = ["."]
        ''',
    ".gitignore": "*.log\n/build/\n__pycache__/\n",
}  # fmt: skip
FAILING = "tests/test_basket.py::test_total"
PASSING = "tests/test_words.py::test_plural"
FAULTY, FIXED = "sum(prices) - shipping", "sum(prices) + shipping"


def git(folder: Path, *arguments: str) -> str:
    """Run git as a user would, without the machine's configuration."""
    quiet = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, **IDENTITY}
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env={**os.environ, **quiet}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def commit(folder: Path) -> Path:
    """Make a repository of a folder, with one commit of everything in it."""
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "first")
    return folder


def shop(folder: Path) -> Path:
    """The small repository, committed and clean."""
    for name, text in SHOP.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"))
    (folder / "run.sh").write_text("#!/bin/sh\nexec python -m shop\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "newest").symlink_to("shop/basket.py")
    (folder / "nowhere").symlink_to("../there is nothing")
    return commit(folder)


def furnished(folder: Path) -> Path:
    """The small repository as people leave it: ignored and excluded files, links, modes, odd times.

    The times in the index are stale, so that anything that refreshes it is seen.
    """
    shop(folder)
    (folder / "build" / "deep").mkdir(parents=True)
    (folder / "build" / "deep" / "made.bin").write_bytes(bytes(range(256)))
    (folder / "build" / "empty").mkdir()
    (folder / "yesterday.log").write_text("nothing happened\n")
    (folder / "yesterday.log").chmod(0o400)
    (folder / "notes of mine.txt").write_text("not for git\n")
    with (folder / ".git" / "info" / "exclude").open("a") as stream:
        stream.write("notes of mine.txt\n")
    (folder / "shop" / "words.py").chmod(0o640)
    for number, path in enumerate(sorted(folder.rglob("*"), reverse=True)):
        if ".git" not in path.relative_to(folder).parts:
            os.utime(path, ns=(ODD_TIME + number, ODD_TIME - number), follow_symlinks=False)
    os.utime(folder / "run.sh", ns=(2 * ODD_TIME, 2 * ODD_TIME))  # in the future
    return folder


Print = dict[str, tuple[str | int, ...]]


def fingerprint(folder: Path) -> Print:
    """Everything about a tree: kind, content, mode, owner, both times in ns, inode; of ``.git`` index, HEAD, config.

    Reading changes no file but the access times, which are left out.
    """
    return {path: _content(folder, path) + _times(folder, path) for path in [*_paths(folder), *_git_files(folder)]}


def contents(folder: Path) -> Print:
    """The same without times."""
    return {path: _content(folder, path) for path in [*_paths(folder), *_git_files(folder)]}


def _paths(folder: Path) -> list[str]:
    found = (path.relative_to(folder) for path in folder.rglob("*"))
    return [".", *sorted(str(path) for path in found if path.parts[0] != ".git")]


def _git_files(folder: Path) -> list[str]:
    return [f".git/{name}" for name in ("index", "HEAD", "config") if (folder / ".git" / name).exists()]


def _content(folder: Path, name: str) -> tuple[str | int, ...]:
    path = folder / name
    status = path.lstat()
    if path.is_symlink():
        held = f"-> {path.readlink()}"
    else:
        held = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
    return held, status.st_mode, status.st_uid, status.st_gid, status.st_nlink if path.is_file() else 0


def _times(folder: Path, name: str) -> tuple[int, ...]:
    status = (folder / name).lstat()
    return status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def differences(before: Print, after: Print) -> list[str]:
    """The paths at which two pictures of a tree differ."""
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def copied(folder: Path, source: Path = FIXTURE) -> Path:
    """A copy of the shipped fixture without byte code and caches."""
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("__pycache__", ".*_cache"))
    return folder


def replaced(folder: Path, glob: str, old: str, new: str) -> None:
    """Replace a text in the files of a folder that match ``glob``; it must occur."""
    hit = [path for path in sorted(folder.rglob(glob)) if path.is_file() and old in path.read_text()]
    assert hit, f"{old!r} does not occur in {glob}"
    for path in hit:
        path.write_text(path.read_text().replace(old, new))


def one(found: Sequence[dict[str, Any]], **wanted: Any) -> dict[str, Any]:
    """The single entry that has these values."""
    fitting = [each for each in found if all(each.get(key) == value for key, value in wanted.items())]
    assert len(fitting) == 1, f"{len(fitting)} entries have {wanted}"
    return fitting[0]
