"""planexec started in a subfolder of a repository whose project lies below the root."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import FAILING, SHOP, CommandLine, commit, shop


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The shop, moved into a folder of a larger repository."""
    shop(tmp_path / "shop")
    root = tmp_path / "work"
    for name in SHOP:
        (root / "backend" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "shop" / name).rename(root / "backend" / name)
    (root / "frontend").mkdir()
    (root / "frontend" / "index.js").write_text("")
    return commit(root)


def test_a_test_outside_of_the_repository_is_one_line(planexec: CommandLine, tree: Path, tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text("def test_a(): assert 0\n")
    planexec("fix", "../test_x.py::test_a", cwd=tree).refused(2, "'../test_x.py::test_a'", "outside of the repository")
    planexec("fix", f"{tmp_path}/test_x.py", cwd=tree).refused(2, "outside of the repository")


def test_a_test_that_is_not_there_is_looked_for_from_the_root(planexec: CommandLine, tree: Path) -> None:
    done = planexec("fix", "test_baskt.py::test_total", "--json", cwd=tree / "backend" / "tests")
    done.refused(2, "there is no test 'test_baskt.py::test_total'")


@pytest.mark.slow
def test_a_fix_from_within(planexec: CommandLine, tree: Path) -> None:
    done = planexec("fix", FAILING.rpartition("/")[2], "--json", cwd=tree / "backend" / "tests")
    assert done.code == 0, done.err
    found = done.document
    assert (found["settings"]["project"], found["settings"]["tests"]) == ("backend", "4")
    assert found["baseline"]["outcomes"] and found["baseline"]["flaky"] == []
    assert found["diff"]["files"] == ["backend/shop/basket.py"]
