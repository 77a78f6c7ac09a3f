"""The plug-in and the session in this very process: pytest within pytest."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _pytest
import pytest

from planexec.testing import records as reading
from planexec.testing.records import Records
from planexec.testing.target import session
from planexec.testing.target.channel import Channel
from planexec.testing.target.places import Project
from planexec.testing.target.plugin import Recorder, plugin_places

from ..conftest import write

KEY = b"key"
TESTS = """
    import unittest
    import pytest
    from inner_product import answer

    def test_green():
        assert answer() == 42

    def test_red():
        assert answer() == 41

    @pytest.mark.parametrize("n", [1, 2])
    def test_many(n, subtests):
        with subtests.test():
            assert n == 1

    class Case(unittest.TestCase):
        def test_method(self):
            self.assertEqual(answer(), 42)

    class Later(unittest.IsolatedAsyncioTestCase):
        async def test_later(self):
            self.assertEqual(answer(), 42)
"""
Run = Callable[..., Records]


@pytest.fixture
def run(tmp_path: Path, contained: None) -> Run:
    def start(files: dict[str, str], mode: str = "run", ids: tuple[str, ...] = (), **more: Any) -> Records:
        tree = write(tmp_path / "tree", files)
        descriptor = os.open(tmp_path / "report", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        request = {"root": str(tree), "mode": mode, "ids": list(ids), "canary": "test_planted"}
        request.update(cache=str(tmp_path / "cache"), **more)
        try:
            session.run(request, Channel(descriptor, KEY), more.get("stop"))
        finally:
            os.close(descriptor)
        return reading.parse((tmp_path / "report").read_bytes(), KEY)

    return start


FILES = {"test_inner.py": TESTS, "inner_product.py": "def answer():\n    return 42\n"}


def statuses(records: Records) -> dict[str, str]:
    return {test: each.status for test, each in reading.fold(records).outcomes.items()}


def test_a_run(run: Run) -> None:
    records = run(FILES, modules=True)
    assert statuses(records) == {
        "test_inner.py::test_green": "passed",
        "test_inner.py::test_red": "failed",
        "test_inner.py::test_many[1]": "passed",
        "test_inner.py::test_many[2]": "failed",
        "test_inner.py::Case::test_method": "passed",
        "test_inner.py::Later::test_later": "passed",
        "test_planted.py::test_planted": "failed",
    }
    assert reading.why_not_trusted(records, reading.fold(records), "test_planted", 1) == ""
    names = records.of("modules")[0]["names"]
    assert "unittest" in names and "inner_product" not in names and "test_inner" not in names


def test_a_trace(run: Run) -> None:
    records = run(FILES, "trace", ("test_inner.py::test_red",), watch=["42"])
    data = records.of("trace")[0]["data"]
    assert data["lines"]["test_inner.py::test_red"]["inner_product.py"] == [2]
    assert [each["function"] for each in data["frames"]["test_inner.py::test_red"]] == ["test_red"]
    assert {each["name"] for each in data["sightings"]} == {"return"}


def test_a_collection(run: Run) -> None:
    records = run(
        {**FILES, "test_broken.py": "import no_such_package\n"}, "collect", ("test_inner.py", "test_broken.py")
    )
    assert len(records.of("collected")[0]["ids"]) == 6
    assert records.of("collection_error")[0]["id"] == "test_broken.py"
    assert records.of("environment")[0]["text"] == "no module named 'no_such_package' (needed by test_broken.py)"


def test_judging_stops_at_the_first_red_test(run: Run) -> None:
    class Stopped(BaseException):
        pass

    def stop() -> None:
        raise Stopped

    ids = ("test_inner.py::Case", "test_inner.py::test_red", "test_inner.py::test_green")
    records = run(FILES, "judge", ids, stop=stop)
    assert records.of("collected")[0]["ids"] == [
        "test_inner.py::Case::test_method",
        "test_inner.py::test_red",
        "test_inner.py::test_green",
    ]
    assert set(statuses(records)) == {"test_inner.py::Case::test_method", "test_inner.py::test_red"}


def test_no_wanted_file_exists(run: Run) -> None:
    records = run(FILES, "run", ("gone.py::test",))
    assert records.of("collected")[0]["ids"] == []
    assert statuses(records) == {"test_planted.py::test_planted": "failed"}


def test_a_broken_conftest(run: Run) -> None:
    records = run({**FILES, "conftest.py": "raise ValueError('broken')\n"})
    assert records.of("closing")[0]["exit"] == 4
    assert [(each["id"], each["text"]) for each in records.of("collection_error")] == [
        ("conftest.py", "ValueError: broken")
    ]


def test_a_plugin_of_the_project_that_comes_late(run: Run) -> None:
    late = """
        class Plugin:
            pass

        def test_late(pytestconfig):
            pytestconfig.pluginmanager.register(Plugin(), "late")
    """
    records = run({"test_late.py": late})
    assert "was registered by test_late.py" in records.of("finding")[0]["text"]


def test_tampering_is_found_at_the_end(run: Run) -> None:
    bad = """
        def test_bad(pytestconfig):
            manager = pytestconfig.pluginmanager
            recorder = [each for each in manager.get_plugins() if type(each).__name__ == "Recorder"][0]
            recorder.finish = list
            manager.unregister(recorder)
    """
    records = run({"test_bad.py": bad})
    assert records.sealed
    assert statuses(records).get("test_planted.py::test_planted") is None


def test_places_of_installed_plugins() -> None:
    import hypothesis

    class Distribution:
        files = (Path("hypothesis/__init__.py"), Path("_hypothesis_pytestplugin.py"), Path("x.dist-info/RECORD"))

    class Manager:
        def list_plugin_distinfo(self) -> list[tuple[object, object]]:
            plugin = importlib.import_module("_hypothesis_pytestplugin")
            return [(plugin, Distribution()), (Recorder, Distribution())]

    found = plugin_places(Manager())
    assert str(Path(hypothesis.__file__).parent) + os.sep in found
    assert any(each.endswith("_hypothesis_pytestplugin.py") for each in found)


def test_what_may_replace_parts_of_pytest(tmp_path: Path) -> None:
    recorder = Recorder(Project(str(tmp_path)))
    assert recorder.allowed(pytest.__file__) and recorder.allowed(_pytest.__file__)
    assert not recorder.allowed("") and not recorder.allowed(str(tmp_path / "product.py"))
    assert not recorder.allowed(os.__file__)


def test_our_pytest_is_appended_and_a_requested_line_is_read(tmp_path: Path, contained: None) -> None:
    import sys

    project = session.prepare({"root": str(tmp_path), "home": "/somewhere", "pytest": {"x": "/x"}})
    assert type(sys.meta_path[-1]).__name__ == "LastResort"
    assert (Path.cwd(), project.home) == (tmp_path, "/somewhere")
    assert session.genuine(project) == ""
    assert session.as_request(b'{"a": 1}') == {"a": 1}
