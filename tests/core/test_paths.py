from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planexec.core.paths import allows, is_protected, is_test_path, matches


@pytest.mark.parametrize(
    "path",
    ["test_a.py", "src/test_a.py", "src/a_test.py", "a_tests.py", "tests.py", "test.py", "tests/data/x.json",
     "pkg/tests/h.py",
     "Tests/x", "testing/x.py", "conftest.py", "a/conftest.py", "pytest.ini", "pyproject.toml", "sub/tox.ini",
      "setup.cfg"],
)  # fmt: skip
def test_what_belongs_to_the_tests(path: str) -> None:
    assert is_test_path(path)


@pytest.mark.parametrize(
    "path", ["src/a.py", "latest.py", "contest.py", "attest/x.py", "test_a.txt", "testsuite.py", "tests"]
)
def test_what_belongs_to_the_source(path: str) -> None:
    assert not is_test_path(path)


@pytest.mark.parametrize(
    "path",
    [".git/config", "sub/.GIT/hooks/x", ".github/workflows/ci.yml", "a/.vscode/settings.json", ".gitlab-ci.yml",
     "Jenkinsfile", ".env", "sub/.envrc", "AGENTS.md", "docs/CLAUDE.md", "sitecustomize.py", "x.pyc", "a/b.pth",
      "lib.SO",
     "a/__pycache__/b.py", ".gitattributes", ".gitmodules", ".pre-commit-config.yaml",
     "", ".", "..", "../x", "a/../../x", "/etc/passwd"],
)  # fmt: skip
def test_what_no_patch_may_touch(path: str) -> None:
    assert is_protected(path)
    assert not allows(path, (), ())
    assert not allows(path, ("**",), ())


@pytest.mark.parametrize("path", ["src/a.py", ".gitignore", "a/git/x", "environment.py", "env", "README.md", "a..b/c"])
def test_what_is_not_protected(path: str) -> None:
    assert not is_protected(path)
    assert allows(path, (), ())


@pytest.mark.parametrize(
    ("path", "allow", "deny", "verdict"),
    [
        ("src/a.py", ("src/**",), (), True),
        ("src/deep/a.py", ("src/",), (), True),
        ("lib/a.py", ("src/**",), (), False),
        ("lib/a.py", ("src/**", "lib/*.py"), (), True),
        ("lib/deep/a.py", ("lib/*.py",), (), False),
        ("deep/down/a.py", ("*.py",), (), True),
        ("src/a.py", ("src/**",), ("src/a.py",), False),
        ("src/a.py", (), ("*.py",), False),
        ("src/a.py", (), ("*.py", "!src/a.py"), True),
        ("src/ab.py", ("src/[ab]?.py",), (), True),
    ],
)
def test_scopes(path: str, allow: tuple[str, ...], deny: tuple[str, ...], verdict: bool) -> None:
    assert allows(path, allow, deny) is verdict


def test_no_glob_matches_nothing() -> None:
    assert not matches("a", ())
    assert matches("a", iter(["b", "a"]))


@given(st.lists(st.sampled_from(["..", ".", "a", ".git", "", "b.py"]), max_size=5))
def test_nothing_above_the_root_is_ever_allowed(parts: list[str]) -> None:
    path = "/".join(parts)
    if ".." in parts or ".git" in parts or path.startswith("/") or not set(parts) - {"", "."}:
        assert not allows(path, (), ())
    else:
        assert allows(path, (), ())
