from __future__ import annotations

import importlib
import importlib.metadata
import sys
import types
from pathlib import Path

import pytest

from planexec.testing.target.places import LastResort, Project, origin

from ..conftest import write


def test_only_files_of_the_project_have_a_relative_path(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "tree")
    tree = write(tmp_path / "tree", {"pkg/a.py": ""})
    project = Project(str(tmp_path / "link"))
    assert project.relative(str(tmp_path / "link" / "pkg" / "a.py")) == "pkg/a.py"
    assert project.relative(str(tree / "pkg" / ".." / "b.py")) == "b.py"
    assert project.relative("pkg/a.py") == "pkg/a.py"
    for foreign in (".venv/lib/x.py", "venv/x.py", "env/lib/python3/site-packages/x.py", ".tox/x.py"):
        assert project.relative(str(tree / foreign)) is None
    for other in ("", "<string>", "<frozen os>", str(tmp_path / "treetop" / "a.py"), sys.prefix + "/x.py"):
        assert project.relative(other) is None


@pytest.mark.usefixtures("contained")
def test_paths_into_the_repository_are_led_to_the_tree(tmp_path: Path) -> None:
    home = write(tmp_path / "home", {"src/one.py": "", ".venv/lib/two.py": ""})
    tree = write(tmp_path / "tree", {"src/one.py": ""})
    finder = types.ModuleType("__editable___one_finder")
    finder.__dict__["MAPPING"] = {"one": str(home / "src" / "one"), "x": "/elsewhere/x"}
    sys.modules[finder.__name__] = finder
    sys.path[:0] = [str(home / "src"), str(home), "/elsewhere"]
    Project(str(tree), str(home)).redirect()
    assert sys.path[:3] == [str(tree / "src"), str(tree), "/elsewhere"]
    assert finder.__dict__["MAPPING"] == {"one": str(tree / "src" / "one"), "x": "/elsewhere/x"}
    before = list(sys.path)
    Project(str(tree)).redirect()
    assert sys.path == before


@pytest.mark.usefixtures("contained")
def test_modules_from_the_repository_instead_of_the_tree_are_strangers(tmp_path: Path) -> None:
    home = write(tmp_path / "home", {"stranger_a.py": "", "venv/stranger_b.py": ""})
    tree = write(tmp_path / "tree", {"stranger_c.py": ""})
    sys.path[:0] = [str(home), str(home / "venv"), str(tree)]
    for name in ("stranger_a", "stranger_b", "stranger_c"):
        importlib.import_module(name)
    assert Project(str(tree), str(home)).strangers() == ["stranger_a"]
    assert Project(str(tree)).strangers() == []


def test_what_a_tree_provides(tmp_path: Path) -> None:
    tree = write(tmp_path, {"src/pkg/__init__.py": "", "lib/mod.py": "", "ext.cpython-311.so": "", "venv/x/no.py": ""})
    project = Project(str(tree))
    assert all(project.provides(name) for name in ("pkg", "mod", "ext"))
    assert not project.provides("no") and not project.provides("requests")
    (tree / "/".join("abcdefghijk")).mkdir(parents=True)
    (tree / "/".join("abcdefghijk") / "deep.py").touch()
    assert not project.provides("deep")


@pytest.mark.usefixtures("contained")
def test_the_last_resort_comes_after_everything_else(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "far/resort_pkg/__init__.py": "from .inner import x",
            "far/resort_pkg/inner.py": "x = 1",
            "far/resort_mod.py": "x = 2",
            "far/resort_pkg-3.0.dist-info/METADATA": "Name: resort-pkg\nVersion: 3.0\n",
            "near/resort_mod.py": "x = 3",
        },
    )
    names = ("resort_pkg", "resort_mod", "resort_pkg-3.0.dist-info")
    places = {name: str(tmp_path / "far" / (name + ".py" if name == "resort_mod" else name)) for name in names}
    sys.meta_path.append(LastResort(places))
    assert importlib.import_module("resort_pkg").x == 1
    assert importlib.import_module("resort_mod").x == 2
    assert importlib.metadata.version("resort-pkg") == "3.0"
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("resort_other")
    del sys.modules["resort_mod"]
    sys.path.insert(0, str(tmp_path / "near"))
    assert importlib.import_module("resort_mod").x == 3


def test_where_something_was_written() -> None:
    assert origin(test_where_something_was_written) == __file__
    assert origin(Path.cwd) == origin(Path) != ""
    assert origin(len) == "" and origin(3) == ""
