from __future__ import annotations

from pathlib import Path

import pytest

from planexec.workspace.projectroot import project_root, root_for_tests


def make(root: Path, *files: str) -> Path:
    for name in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    return root


@pytest.mark.parametrize(
    ("files", "start", "expected"),
    [
        (["pyproject.toml", "src/a.py"], "src", ""),
        (["pyproject.toml", "backend/setup.py", "backend/src/a/b.py"], "backend/src/a", "backend"),
        (["pyproject.toml", "backend/setup.py"], ".", ""),
        (["backend/manage.py", "frontend/package.json"], ".", "backend"),
        (["backend/manage.py", "frontend/package.json"], "frontend", "backend"),
        (["services/api/tox.ini", "docs/conf.py"], ".", "services/api"),
        (["a/setup.py", "b/setup.py"], ".", ""),
        (["a/setup.py", "b/setup.py"], "b", "b"),
        (["a/b/c/setup.py"], ".", ""),  # too deep to be looked for
        (["tests/test_a.py", "tools/setup.py"], ".", ""),  # there is a project at the top
        (["test_a.py", "tools/setup.py"], ".", ""),
        (["requirements.txt", "tools/setup.py"], ".", ""),
        (["backend/requirements.txt", "backend/tests/test_a.py", "frontend/x.js"], ".", "backend"),
        (["docs/requirements.txt", "a.py"], "docs", ""),
        (["examples/one/setup.py", ".venv/setup.py", "env/pyvenv.cfg", "env/setup.py", "a.py"], ".", ""),
        (["a.py"], ".", ""),
    ],
)
def test_the_nearest_folder_with_project_files(files: list[str], start: str, expected: str, tmp_path: Path) -> None:
    assert project_root(make(tmp_path, *files) / start, tmp_path) == expected


def test_a_start_outside_or_through_a_link(tmp_path: Path) -> None:
    root = make(tmp_path / "repo", "backend/setup.py", "frontend/setup.py")
    (tmp_path / "setup.py").write_text("")
    assert project_root(tmp_path, root) == ""
    (tmp_path / "link").symlink_to(root / "backend")
    assert project_root(tmp_path / "link", root) == "backend"


@pytest.mark.parametrize(
    ("tests", "expected"),
    [
        ([], "backend"),
        (["backend/tests/test_a.py::test_a", "backend/tests/sub"], "backend"),
        (["tests/test_top.py::test_a"], ""),
        (["tests/test_top.py", "backend/tests/test_a.py"], ""),
        (["worker/tests/test_w.py::test_a"], "worker"),
        (["worker/tests/test_w.py::test_a", "worker/test_x.py"], "worker"),
        (["worker/tests/test_w.py::test_a", "backend/test_x.py"], ""),
        (["backend2/test_x.py"], ""),
    ],
)
def test_tests_that_are_named_lie_in_the_project_root(tests: list[str], expected: str, tmp_path: Path) -> None:
    make(tmp_path, "pyproject.toml", "backend/setup.py", "worker/setup.py", "tests/test_top.py", "backend2/test_x.py")
    assert root_for_tests(tmp_path / "backend", tmp_path, tests) == expected
