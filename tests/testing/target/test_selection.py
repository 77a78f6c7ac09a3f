from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planexec.testing.target.selection import Selection

from ..conftest import write


@pytest.mark.parametrize(
    ("wanted", "yes", "no"),
    [
        ("a.py::test", ["a.py::test", "a.py::test[1]", "a.py::test[x::y/z]"], ["a.py::test2", "b.py::test"]),
        ("a.py::test[1]", ["a.py::test[1]"], ["a.py::test", "a.py::test[2]"]),
        ("a.py::C", ["a.py::C::test", "a.py::C::test[1]", "a.py::C::D::test"], ["a.py::CC::test"]),
        ("a.py", ["a.py::test", "a.py::C::test"], ["x/a.py::test"]),
        ("tests/", ["tests/a.py::test", "tests/b/c.py::test"], ["tests2/a.py::test"]),
        (".", ["a.py::test"], []),
    ],
)
def test_what_an_id_stands_for(wanted: str, yes: list[str], no: list[str]) -> None:
    selection = Selection([wanted])
    assert all(selection.place(each) == 0 for each in yes)
    assert all(selection.place(each) is None for each in no)


def test_the_order_is_that_of_the_ids() -> None:
    selection = Selection(["b.py::test", "a.py", "b.py"])
    assert [selection.place(each) for each in ("a.py::x", "b.py::test[1]", "b.py::other")] == [1, 0, 2]


def test_nothing_wanted_is_everything() -> None:
    assert not Selection([])
    assert Selection([]).place("a.py::test") == 0


@given(st.lists(st.text(min_size=1), min_size=1))
def test_every_id_selects_itself(ids: list[str]) -> None:
    selection = Selection(ids)
    assert all(selection.place(each) is not None for each in ids if not each.endswith("/"))


def test_files_exist_and_come_once(tmp_path: Path) -> None:
    write(tmp_path, {"tests/a.py": ""})
    selection = Selection(["tests/a.py::x", "tests/a.py::y[::]", "gone.py::x", "tests"])
    assert selection.files(str(tmp_path)) == [str(tmp_path / "tests/a.py"), str(tmp_path / "tests")]
