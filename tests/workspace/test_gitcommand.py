from __future__ import annotations

import os
from pathlib import Path

import pytest

from planexec.core.errors import EnvironmentFailure
from planexec.workspace.gitcommand import git, global_excludes

from .building import make


def test_nothing_of_the_callers_environment_reaches_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when planexec is started by a git hook."""
    root = make(tmp_path / "r", {"a": "x"})
    monkeypatch.setenv("GIT_DIR", "/somewhere/else")
    monkeypatch.setenv("GIT_INDEX_FILE", "/somewhere/index")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "user.name")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "leaked")
    assert git(["ls-files"], root).stdout == b"a\n"
    assert git(["config", "user.name"], root, allowed=(1,)).stdout == b""


def test_a_git_that_the_repository_brings_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make(tmp_path / "r", {"a": "x"})
    (root / "git").write_text(f"#!/bin/sh\ntouch {tmp_path}/proof\n")
    (root / "git").chmod(0o755)
    monkeypatch.chdir(root)
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.pathsep}{os.environ['PATH']}")
    assert git(["ls-files"], root).stdout == b"a\n"
    assert not (tmp_path / "proof").exists()


def test_a_failing_command_is_one_line(tmp_path: Path) -> None:
    root = make(tmp_path / "r", {"a": "x"})
    with pytest.raises(EnvironmentFailure, match=r"git cat-file failed in .*: fatal: Not a valid object") as caught:
        git(["cat-file", "-p", "nonsense"], root)
    assert "\n" not in caught.value.message
    with pytest.raises(EnvironmentFailure, match="exit code 1"):
        git(["rev-parse", "--verify", "--quiet", "nonsense"], root)


def test_standard_input_reaches_git(tmp_path: Path) -> None:
    root = make(tmp_path / "r", {"a": "x"})
    assert (
        git(["hash-object", "--stdin"], root, stdin=b"x").stdout.strip()
        == git(["rev-parse", "HEAD:a"], root).stdout.strip()
    )


def test_without_git_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentFailure, match="git was not found") as caught:
        git(["version"], tmp_path)
    assert "Install git" in caught.value.hint


def test_the_users_exclude_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert global_excludes() is None
    (tmp_path / ".gitconfig").write_text("[core]\n\texcludesFile = ~/ignored names\n")
    assert global_excludes() == f"{tmp_path}/ignored names"
