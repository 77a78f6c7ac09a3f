"""Which paths of a repository are tests, which are protected, and which a scope allows: pure functions of the path."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import PurePosixPath

import pathspec

TEST_FOLDERS = frozenset({"test", "tests", "testing"})
TEST_CONFIGURATION = frozenset(
    {"conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", "tox.ini", "setup.cfg", "pyproject.toml", "noxfile.py"}
)
"""What shapes how tests run: it always comes from the base."""

PROTECTED_FOLDERS = frozenset(
    {".git", ".github", ".gitlab", ".circleci", ".vscode", ".idea", ".husky", ".devcontainer", ".cursor", ".claude"}
)
PROTECTED_FILES = frozenset(
    {
        ".gitlab-ci.yml", ".travis.yml", "azure-pipelines.yml", "jenkinsfile", ".pre-commit-config.yaml", ".gitmodules",
        ".gitattributes", ".envrc", ".env", ".bashrc", ".profile", ".zshrc", "agents.md", "claude.md", ".cursorrules",
        "sitecustomize.py", "usercustomize.py",
    }
)  # fmt: skip
"""Never changed, whatever the scope: CI, editor settings, start-up files, hooks, instructions to agents."""

_TEST_FILE = re.compile(r"^(test_.*|.*_tests?|tests?)\.py$")


def is_test_path(path: str) -> bool:
    """Whether ``path`` (posix, relative) belongs to the tests or their set-up rather than to the source."""
    pure = PurePosixPath(path)
    if pure.name in TEST_CONFIGURATION or _TEST_FILE.match(pure.name):
        return True
    return any(part.lower() in TEST_FOLDERS for part in pure.parts[:-1])


def is_protected(path: str) -> bool:
    """Whether no patch may touch ``path``, whatever the contract's scope says: also what is not below the root."""
    parts = [part.lower() for part in PurePosixPath(path).parts]
    if not parts or path.startswith("/") or ".." in parts:
        return True
    byte_code = parts[-1].endswith((".pyc", ".pth", ".so")) or "__pycache__" in parts
    return byte_code or parts[-1] in PROTECTED_FILES or any(part in PROTECTED_FOLDERS for part in parts)


def allows(path: str, allow: Sequence[str], deny: Sequence[str]) -> bool:
    """Whether the scope lets ``path`` be changed: globs as git writes them; an empty ``allow`` is the whole
    repository.
    """
    if is_protected(path):
        return False
    return (not allow or matches(path, allow)) and not matches(path, deny)


def matches(path: str, globs: Iterable[str]) -> bool:
    """Whether one of the globs matches ``path``."""
    return _spec(tuple(globs)).match_file(path)


@lru_cache(maxsize=64)
def _spec(globs: tuple[str, ...]) -> pathspec.PathSpec[pathspec.Pattern]:
    return pathspec.PathSpec.from_lines("gitignore", globs)
