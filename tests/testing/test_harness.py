from __future__ import annotations

import os
import sys
import venv
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from planexec.core.errors import EnvironmentFailure
from planexec.sandbox.choose import choose
from planexec.sandbox.interface import Mount, Sandbox
from planexec.testing.harness import Harness
from planexec.testing.interpreter import Interpreter, discover
from planexec.testing.outcomes import Frame, Sighting

from .conftest import QUIET, ROOT, write

Make = Callable[[Mapping[str, str]], Path]

CALCULATOR = """
    LIMIT = 10


    def add(a, b):
        total = a - b
        return total


    def double(a):
        if a > LIMIT:
            return LIMIT
        return a * 2
"""
TESTS = """
    import unittest
    import pytest
    from calculator import add, double

    def test_add():
        assert add(2, 3) == 5

    @pytest.mark.parametrize("n", [1, 20])
    def test_double(n):
        assert double(n) in (2, 10)

    @pytest.mark.skip(reason="not now")
    def test_skipped():
        pass

    @pytest.mark.xfail(reason="known")
    def test_expected():
        assert False

    @pytest.mark.xfail
    def test_unexpected():
        pass

    @pytest.mark.xfail(strict=True)
    def test_strict():
        pass

    @pytest.fixture
    def broken():
        raise RuntimeError("set-up")

    def test_broken(broken):
        pass

    @pytest.fixture
    def leaking():
        yield
        raise RuntimeError("tear-down")

    def test_leaking(leaking):
        pass

    class Case(unittest.TestCase):
        def test_red(self):
            self.assertEqual(add(1, 1), 2)

        def test_green(self):
            self.assertEqual(double(2), 4)

        @unittest.expectedFailure
        def test_expected(self):
            self.fail()

    class Later(unittest.IsolatedAsyncioTestCase):
        async def test_green(self):
            self.assertEqual(double(2), 4)

        async def test_red(self):
            self.assertEqual(double(2), 5)
"""
# Everything that would stop, narrow, reorder or hide the run, and options of plug-ins that are not there.
SETTINGS = """
    [pytest]
    addopts = -x --maxfail=1 --ff --sw --tb=no -q -n 4 --dist loadfile --cov=calculator --cov-report term
        --cov-fail-under=99
"""
STATUSES = {
    "test_add": "failed",
    "test_double[1]": "passed",
    "test_double[20]": "passed",
    "test_skipped": "skipped",
    "test_expected": "xfailed",
    "test_unexpected": "xpassed",
    "test_strict": "failed",
    "test_broken": "error",
    "test_leaking": "error",
    "Case::test_red": "failed",
    "Case::test_green": "passed",
    "Case::test_expected": "xfailed",
    "Later::test_red": "failed",
    "Later::test_green": "passed",
}
PROJECT = {"src/calculator.py": CALCULATOR, "tests/test_calculator.py": TESTS, "tests/conftest.py": ""}
CONFTEST = "import sys, pathlib\nsys.path.insert(0, str(pathlib.Path(__file__).parent / 'src'))\n"


@pytest.mark.parametrize("name", ["bubblewrap", "landlock", "none"])
def test_a_whole_suite_in_every_sandbox(name: str, interpreter: Interpreter, project: Make) -> None:
    tree = project({**PROJECT, "conftest.py": CONFTEST, "pytest.ini": SETTINGS})
    report = Harness(choose(name), interpreter, ROOT, env=QUIET).run(tree, seconds=60)
    assert report.trusted, report.distrust
    prefix = "tests/test_calculator.py::"
    assert {test.removeprefix(prefix): each.status for test, each in report.outcomes.items()} == STATUSES
    assert report.collected == list(report.outcomes)
    assert (report.exit_code, report.timed_out, report.environment_problem) == (1, False, "")
    add = report.outcomes[prefix + "test_add"]
    assert add.red_in_body and add.exception == "AssertionError"
    assert add.message.startswith("assert -1 == 5")
    assert "where -1 = add(2, 3)" in add.detail and "calculator.py" in add.detail
    assert not report.outcomes[prefix + "test_strict"].red_in_body
    assert report.outcomes[prefix + "test_broken"].phase == "setup"
    assert report.outcomes[prefix + "test_leaking"].message == "RuntimeError: tear-down"
    assert report.outcomes[prefix + "test_skipped"].message == "Skipped: not now"
    assert report.outcomes[prefix + "Later::test_red"].red_in_body
    assert "4 failed, 5 passed" in report.output and "planted" not in report.output


def test_ids_select_and_unknown_ones_are_left_out(harness: Harness, project: Make) -> None:
    tree = project({**PROJECT, "conftest.py": CONFTEST, "tests/test_other.py": "def test_other(): pass\n"})
    file = "tests/test_calculator.py"
    ids = [f"{file}::Case::test_green", f"{file}::test_double", f"{file}::test_gone", "tests/test_gone.py::test_x"]
    report = harness.run(tree, ids, seconds=60)
    assert report.trusted, report.distrust
    assert sorted(report.outcomes) == [
        f"{file}::Case::test_green",
        f"{file}::test_double[1]",
        f"{file}::test_double[20]",
    ]
    nothing = harness.run(tree, ["tests/test_gone.py::test_x"], seconds=60)
    assert nothing.trusted and not nothing.outcomes and not nothing.green
    assert harness.collect(tree, ["tests/test_other.py"]) == ["tests/test_other.py::test_other"]


def test_files_that_cannot_be_collected(harness: Harness, project: Make) -> None:
    tree = project(
        {
            "test_a.py": "import product\n\ndef test_a(): pass\n",
            "test_b.py": "import not_installed_anywhere\n",
            "test_c.py": "def test_c(): pass\n",
            "product.py": "import sys\ndef f(:\n",
        }
    )
    report = harness.run(tree, seconds=60)
    assert report.trusted and not report.green
    assert sorted(report.collection_errors) == ["test_a.py", "test_b.py"]
    assert "SyntaxError" in report.collection_errors["test_a.py"]
    assert report.with_status("passed") == ["test_c.py::test_c"]
    assert report.environment_problem == "no module named 'not_installed_anywhere' (needed by test_b.py)"


@pytest.mark.parametrize(
    ("conftest", "problem"),
    [
        ("import not_installed_anywhere\n", "no module named 'not_installed_anywhere' (needed by conftest.py)"),
        ("from product import missing\n", ""),
        ("import product.missing\n", ""),
    ],
)
def test_a_conftest_that_cannot_be_imported(conftest: str, problem: str, harness: Harness, project: Make) -> None:
    tree = project({"conftest.py": conftest, "product.py": "", "test_a.py": "def test_a(): pass\n"})
    report = harness.run(tree, seconds=60)
    assert not report.trusted and not report.outcomes
    assert list(report.collection_errors) == ["conftest.py"]
    assert report.environment_problem == problem
    with pytest.raises(EnvironmentFailure, match="cannot be collected"):
        harness.collect(tree)


def test_an_option_that_nobody_knows_is_an_environment_problem(harness: Harness, project: Make) -> None:
    tree = project({"pytest.ini": "[pytest]\naddopts = --of-a-missing-plugin\n", "test_a.py": "def test_a(): pass\n"})
    report = harness.run(tree, seconds=60)
    assert not report.trusted
    assert "unrecognized arguments: --of-a-missing-plugin" in report.environment_problem
    assert "pytest refuses to start" in report.distrust


def test_a_test_that_does_not_end(harness: Harness, project: Make) -> None:
    tree = project({"test_a.py": "def test_a(): pass\ndef test_b():\n    while True: pass\n"})
    report = harness.run(tree, seconds=3)
    assert report.timed_out and not report.trusted
    assert "timed out after 3 s during test_a.py::test_b" in report.distrust
    assert report.with_status("passed") == ["test_a.py::test_a"]


def test_the_environment_of_the_tests(
    sandbox: Sandbox, interpreter: Interpreter, project: Make, tmp_path: Path
) -> None:
    write(tmp_path / "data", {"large.txt": "mounted"})
    seen = """
        import os, pathlib, sys
        def test_environment():
            env = dict(os.environ)
            assert env.pop("PASSED") == "on"
            assert env.pop("HOME").startswith("/tmp")
            assert os.path.isdir(os.path.expanduser("~"))
            assert env.pop("PYTHONHASHSEED") == "0" and env.pop("PYTHONDONTWRITEBYTECODE") == "1"
            assert env.pop("PATH").split(":")[0] == os.path.dirname(sys.executable)
            known = {"LANG", "TZ", "TMPDIR", "PWD", "VIRTUAL_ENV", "PYTHONUSERBASE", "OLDPWD", "SHLVL", "_"}
            assert not [name for name in env if name not in known and not name.startswith(("PYTEST_", "LC_"))], env
            assert os.getcwd() == sys.path[0] == "/home/somebody/project"
            assert sys.argv[0].endswith("__main__.py")
            assert pathlib.Path("data/large.txt").read_text() == "mounted"
            pathlib.Path("written").write_text("in the tree")
            assert not list(pathlib.Path().rglob("__pycache__"))
    """
    os.environ["PLANEXEC_TEST_SECRET"] = "secret"
    try:
        tree = project({"test_a.py": seen, "data/.keep": ""})
        mounts = [Mount(tmp_path / "data", ROOT / "data")]
        harness = Harness(sandbox, interpreter, ROOT, mounts, env={**QUIET, "PASSED": "on"})
        report = harness.run(tree, seconds=60)
    finally:
        del os.environ["PLANEXEC_TEST_SECRET"]
    assert report.green, report.output
    assert (tree / "written").read_text() == "in the tree"


def test_a_trace(harness: Harness, project: Make) -> None:
    tree = project({**PROJECT, "conftest.py": CONFTEST})
    add, red = "tests/test_calculator.py::test_add", "tests/test_calculator.py::Case::test_red"
    double = "tests/test_calculator.py::test_double[20]"
    trace = harness.trace(tree, [add, red, double], watch=["-1", "'unseen'", "not a literal"], seconds=60)
    assert trace.report.trusted, trace.report.distrust
    assert set(trace.lines) == {add, red, double}
    assert trace.lines[add]["src/calculator.py"] == [5, 6]
    assert trace.lines[double]["src/calculator.py"] == [10, 11]
    assert trace.import_lines["src/calculator.py"] == [1, 4, 9]
    assert set(trace.import_lines) == {"conftest.py", "src/calculator.py", "tests/test_calculator.py"}
    assert trace.frames[add] == [Frame("tests/test_calculator.py", 6, "test_add")]
    assert [(each.path, each.function) for each in trace.frames[red]] == [("tests/test_calculator.py", "test_red")]
    assert trace.sightings == [
        Sighting(add, "src/calculator.py", 6, "total", "-1"),
        Sighting(add, "src/calculator.py", 6, "return", "-1"),
    ]


def test_frames_of_a_file_that_cannot_be_collected(harness: Harness, project: Make) -> None:
    tree = project({"product.py": "x = 1\nraise ValueError('no')\n", "test_a.py": "import product\n"})
    trace = harness.trace(tree, ["test_a.py"], seconds=60)
    assert trace.frames["test_a.py"] == [Frame("test_a.py", 1, "<module>"), Frame("product.py", 2, "<module>")]


def test_a_target_without_pytest_gets_ours(sandbox: Sandbox, tmp_path: Path, project: Make) -> None:
    venv.create(tmp_path / "tree" / ".venv", with_pip=False, symlinks=True)
    tree = project({"test_a.py": "import sys\ndef test_a(): assert sys.prefix.endswith('/tree/.venv')\n"})
    interpreter = discover(tree, env={})
    assert interpreter.source == ".venv" and interpreter.pytest is None
    # Here the tree is the repository itself, and a sandbox without own mounts finds everything in place.
    for each in (sandbox, choose("none")):
        report = Harness(each, interpreter, tree, env=QUIET).run(tree, seconds=60)
        assert report.green, report


def test_without_own_mounts_an_editable_install_is_led_to_the_tree(tmp_path: Path) -> None:
    root = write(tmp_path / "repo", {"src/product.py": "def answer(): return 1\n", "test_a.py": ""})
    venv.create(root / ".venv", with_pip=False, symlinks=True)
    site = root / ".venv" / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    (site / "product.pth").write_text(f"{root}/src\n")
    test = "import product\ndef test_a(): assert product.answer() == 2\n"
    tree = write(tmp_path / "tree", {"src/product.py": "def answer(): return 2\n", "test_a.py": test})
    interpreter = discover(root, env={})
    for name in ("landlock", "none"):
        report = Harness(choose(name), interpreter, root, env=QUIET).run(tree, seconds=60)
        assert report.green, (report.distrust, report.output)
    # A module that reaches back into the user's repository is noticed.
    reach = f"import sys; sys.path.insert(0, {str(root / 'src')!r})\n"
    (tree / "test_a.py").write_text(reach + "import product\ndef test_a(): assert product.answer() == 1\n")
    report = Harness(choose("none"), interpreter, root, env=QUIET).run(tree, seconds=60)
    assert not report.trusted
    assert "module product was loaded from the user's repository" in report.distrust


def test_a_program_runs_where_the_tests_would(harness: Harness, sandbox: Sandbox, project: Make) -> None:
    tree = project({"a.txt": "here"})
    result = harness.command(tree, ["/bin/sh", "-c", "cat a.txt; pwd"], seconds=20)
    assert (result.exit_code, result.stdout) == (0, b"here" + str(ROOT).encode() + b"\n")
    assert harness.sandbox is sandbox


def test_a_session_that_ends_early_says_so(harness: Harness, project: Make) -> None:
    ending = "import pytest\ndef test_a(): pass\ndef test_b(): pytest.exit('enough', 5)\ndef test_c(): pass\n"
    report = harness.run(project({"test_a.py": ending}), seconds=60)
    assert not report.trusted and report.environment_problem == ""
    assert report.distrust == "the test session was ended early, with pytest's exit code 5 (during test_a.py::test_b)"
    internal = {"conftest.py": "def pytest_configure(config): raise ValueError('bad set-up')\n"}
    report = harness.run(project(internal), seconds=60)
    assert report.environment_problem == "pytest stops with an internal error: ValueError: bad set-up"


def test_a_plug_in_that_cannot_be_loaded_is_told(sandbox: Sandbox, interpreter: Interpreter, project: Make) -> None:
    named = {"METADATA": "Metadata-Version: 2.1\nName: broken\nVersion: 1\n"}
    named["entry_points.txt"] = "[pytest11]\nbroken = broken_plugin\n"
    files = {f"broken-1.dist-info/{name}": text for name, text in named.items()}
    tree = project({**files, "broken_plugin.py": "raise TypeError('made for another pytest')\n"})
    report = Harness(sandbox, interpreter, ROOT, env={"PYTHONPATH": str(ROOT)}).run(tree, seconds=60)
    assert not report.trusted
    assert report.environment_problem.endswith("internal error: TypeError: made for another pytest"), report.output
