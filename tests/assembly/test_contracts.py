from __future__ import annotations

from pathlib import Path

import pytest

from planexec.assembly.contracts import repository_ids
from planexec.core.errors import UsageError

from ..projects import make_repository

FILES = {
    "pyproject.toml": "",
    "tests/test_top.py": "def test_a(): pass\n",
    "backend/setup.py": "",
    "backend/tests/test_a.py": "def test_a(): pass\n",
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_repository(tmp_path_factory.mktemp("ids") / "repo", FILES)


@pytest.mark.parametrize(
    ("start", "given", "expected"),
    [
        (".", "tests/test_top.py::test_a", "tests/test_top.py::test_a"),
        ("backend", "tests/test_a.py::test_a[../x]", "backend/tests/test_a.py::test_a[../x]"),
        ("backend", "backend/tests/test_a.py", "backend/tests/test_a.py"),
        ("backend/tests", "test_a.py::test_a", "backend/tests/test_a.py::test_a"),
        ("backend/tests", "tests/test_a.py::test_a", "backend/tests/test_a.py::test_a"),  # from the project root
        ("backend/tests", "../../tests/test_top.py", "tests/test_top.py"),
        ("backend", "nowhere/test_x.py::test_a", "nowhere/test_x.py::test_a"),
        ("backend", ".", "backend"),
    ],
)
def test_where_a_test_id_counts_from(start: str, given: str, expected: str, root: Path) -> None:
    assert repository_ids([given], root / start) == [expected]


def test_absolute_paths_and_links(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root)
    for base in (root, tmp_path / "link"):
        assert repository_ids([f"{base}/backend/tests/test_a.py::test_a"], root) == ["backend/tests/test_a.py::test_a"]


@pytest.mark.parametrize("given", ["../x.py::t", "../../repo2/tests/test_a.py", "/etc/passwd::t"])
def test_an_id_that_leaves_the_repository(given: str, root: Path) -> None:
    with pytest.raises(UsageError, match="outside of the repository"):
        repository_ids([given], root)
