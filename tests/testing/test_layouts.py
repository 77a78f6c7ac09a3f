"""Projects of many layouts, each small and real, run in the sandbox: what their own command would say is said."""

from __future__ import annotations

import importlib.util
import sys
import venv
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from planexec.core.errors import EnvironmentFailure
from planexec.sandbox.interface import Sandbox
from planexec.testing.bench import Bench
from planexec.testing.harness import Harness
from planexec.testing.interpreter import Interpreter, discover
from planexec.testing.outcomes import TestReport

from ..projects import make_bench
from .conftest import QUIET, ROOT, write

Project = Callable[[Mapping[str, str]], Path]


def statuses(report: TestReport) -> dict[str, str]:
    assert report.trusted, report.distrust
    return {name: outcome.status for name, outcome in report.outcomes.items()}


@pytest.mark.parametrize(
    "files",
    [
        {"shop/__init__.py": "", "shop/a.py": "X = 1", "tests/test_a.py": "from shop.a import X\ndef test(): assert X"},
        {"shop.py": "X = 1", "test_a.py": "from shop import X\ndef test(): assert X"},
        {"src/shop/__init__.py": "X = 1", "tests/test_a.py": "from shop import X\ndef test(): assert X"},
        {"src/ns/shop/a.py": "X = 1", "tests/test_a.py": "from ns.shop.a import X\ndef test(): assert X"},
        {"src/__init__.py": "", "src/a.py": "X = 1", "tests/test_a.py": "from src.a import X\ndef test(): assert X"},
        {
            "lib/shop.py": "X = 1",
            "pytest.ini": "[pytest]\npythonpath = lib\naddopts = --strict-markers -n 4 --cov=shop",
            "tests/test_a.py": "from shop import X\ndef test(): assert X",
        },
        {
            "code/shop.py": "X = 1",
            "conftest.py": "import os, sys; sys.path.append(os.path.join(os.path.dirname(__file__), 'code'))",
            "tests/test_a.py": "from shop import X\ndef test(): assert X",
        },
        {
            "shop.py": "X = 1",
            "tests/__init__.py": "",
            "tests/test_a.py": """
                import unittest
                from shop import X

                class TestIt(unittest.TestCase):
                    @classmethod
                    def setUpClass(cls):
                        cls.ready = True

                    def test(self):
                        for n in range(2):
                            with self.subTest(n=n):
                                self.assertTrue(X and self.ready)
            """,
        },
    ],
    ids=["flat", "module", "src", "namespace", "src-package", "pythonpath", "conftest", "unittest"],
)
def test_the_project_is_found(files: Mapping[str, str], project: Project, harness: Harness) -> None:
    assert list(statuses(harness.run(project(files), seconds=60)).values()) == ["passed"]


def test_a_project_below_the_root(project: Project, sandbox: Sandbox, interpreter: Interpreter) -> None:
    tree = project(
        {
            "shared.py": "def shared(): return 1",
            "backend/shop/__init__.py": "def f(x):\n    return x\n",
            "backend/tests/test_a.py": """
                import os, sys
                import pytest
                from shop import f

                @pytest.mark.parametrize("n", [1, 2])
                def test_f(n, request):
                    assert f(n) == 1 and os.path.basename(os.getcwd()) == "backend"
                    assert str(request.config.rootpath) == os.getcwd()
            """,
            "backend/tests/test_broken.py": "import shop.nothing",
        }
    )
    harness = Harness(sandbox, interpreter, ROOT, env=QUIET, project="backend")
    own = "backend/tests/test_a.py::test_f"
    report = harness.run(tree, seconds=60)
    assert statuses(report) == {f"{own}[1]": "passed", f"{own}[2]": "failed"}
    assert list(report.collection_errors) == ["backend/tests/test_broken.py"]
    assert report.collected == [f"{own}[1]", f"{own}[2]"]
    assert list(statuses(harness.run(tree, [f"{own}[1]"], seconds=60))) == [f"{own}[1]"]
    trace = harness.trace(tree, [own], watch=["2"], seconds=60)
    assert trace.lines[f"{own}[2]"]["backend/shop/__init__.py"] == [2]
    assert trace.frames[f"{own}[2]"][0].path == "backend/tests/test_a.py"
    assert {each.test for each in trace.sightings} == {f"{own}[2]"}
    result = harness.command(tree, ["/bin/sh", "-c", "pwd"], seconds=20)
    assert result.stdout.decode().strip() == str(ROOT)
    with harness.warm(tree) as judge:
        verdict = judge.judge({}, [f"{own}[1]", f"{own}[2]"], seconds=30)
        assert (verdict.outcome, verdict.failing) == ("failed", [f"{own}[2]"])
        assert judge.judge({}, [f"{own}[1]"], seconds=30).outcome == "passed"
        fixed = {"backend/shop/__init__.py": b"def f(x):\n    return 1\n"}
        assert judge.judge(fixed, [own], seconds=30).outcome == "passed"


SHOP = {"src/shop/__init__.py": "X = 'tree'", "tests/test_a.py": "import shop\ndef test(): assert shop.X == 'tree'"}


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)
    return tmp_path / "env" / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"


def test_test_files_with_names_of_their_own(project: Project, sandbox: Sandbox, interpreter: Interpreter) -> None:
    """The whole suite is what the project's own runner would find, not nothing."""
    one = "def test_it(): pass\n"
    tree = project(
        {"shop/tests/page_tests.py": one, "shop/tests/nav_tests.py": one, "odd/it.py": one, "it.py": "1 / 0"}
    )
    patterns = ["*_tests.py", "odd/it.py"]
    found = Harness(sandbox, interpreter, ROOT, env=QUIET, patterns=patterns).run(tree, seconds=60)
    names = ["odd/it.py", "shop/tests/nav_tests.py", "shop/tests/page_tests.py"]
    assert found.trusted and sorted(statuses(found)) == [f"{name}::test_it" for name in names]
    assert Harness(sandbox, interpreter, ROOT, env=QUIET).collect(tree) == []


@pytest.mark.parametrize("form", ["installed", "editable", "finder"])
def test_another_copy_of_the_project_that_is_installed_is_not_the_one_that_is_tested(
    form: str, project: Project, environment: Path, sandbox: Sandbox, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    write(environment if form == "installed" else other, {"shop/__init__.py": "X = 'other'"})
    if form == "editable":
        write(environment, {"shop.pth": f"{other}\n"})
    if form == "finder":
        finder = f"""
            import sys
            from importlib.machinery import PathFinder
            class Finder:
                @classmethod
                def find_spec(cls, name, path=None, target=None):
                    return PathFinder.find_spec(name, [{str(other)!r}]) if name == "shop" else None
            sys.meta_path.append(Finder)
        """
        write(environment, {"__editable___shop_finder.py": finder, "shop.pth": "import __editable___shop_finder\n"})
    found = discover(tmp_path, flag=str(tmp_path / "env"))
    report = Harness(sandbox, found, ROOT).run(project(SHOP), seconds=60)
    assert statuses(report) == {"tests/test_a.py::test": "passed"}


def test_an_installed_copy_with_compiled_parts_is_told_in_one_line(
    project: Project, environment: Path, sandbox: Sandbox, tmp_path: Path
) -> None:
    write(environment, {"shop/__init__.py": "X = 'other'", "shop/_fast.abi3.so": ""})
    tree = project(SHOP)
    harness = Harness(sandbox, discover(tmp_path, flag=str(tmp_path / "env")), ROOT)
    report = harness.run(tree, seconds=60)
    assert not report.trusted
    assert report.distrust.startswith(f"tests import 'shop' from {environment}/shop/__init__.py, not from the repo")
    with pytest.raises(EnvironmentFailure, match="not from the repository") as caught:
        harness.collect(tree)
    assert "--python" in caught.value.message and "pip install -e" in caught.value.hint


def test_what_was_built_in_place_and_is_ignored_is_in_the_copies(tmp_path: Path) -> None:
    spec = importlib.util.find_spec("_json")
    assert spec is not None and spec.origin is not None
    bench: Bench = make_bench(
        tmp_path,
        {
            ".gitignore": "*.so\n_version.py\n",
            "src/shop/__init__.py": "from shop._json import scanstring\nfrom shop._version import VERSION\n",
            "tests/test_a.py": "import shop\ndef test(): assert shop.scanstring('x\"', 0)[0] == 'x' and shop.VERSION",
        },
        ignored={
            f"src/shop/{Path(spec.origin).name}": Path(spec.origin).read_bytes(),
            "src/shop/_version.py": b"VERSION = '1.2'\n",
        },
    )
    assert statuses(bench.run(())) == {"tests/test_a.py::test": "passed"}


def test_services_on_loopback_and_calls_of_git(project: Project, harness: Harness) -> None:
    tree = project(
        {
            "test_a.py": """
                import subprocess, threading, urllib.request
                from http.server import BaseHTTPRequestHandler, HTTPServer

                class Hello(BaseHTTPRequestHandler):
                    def do_GET(self):
                        self.send_response(200)
                        self.end_headers()
                        self.wfile.write(b"hello")

                def test_service():
                    server = HTTPServer(("localhost", 0), Hello)
                    threading.Thread(target=server.handle_request, daemon=True).start()
                    assert urllib.request.urlopen("http://localhost:%d/" % server.server_port).read() == b"hello"

                def test_git(tmp_path):
                    def git(*words):
                        return subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True).stdout
                    git("init")
                    (tmp_path / "a").write_text("a")
                    git("add", "a")
                    git("commit", "-m", "first")
                    assert b"first" in git("log")
                    git("config", "--global", "user.name", "somebody")
            """
        }
    )
    assert set(statuses(harness.run(tree, seconds=60)).values()) == {"passed"}
    with harness.warm(tree) as judge:
        assert judge.judge({}, ["test_a.py"], seconds=30).outcome == "passed"


def test_what_the_interpreter_lacks_is_told_with_how_it_was_found(project: Project, harness: Harness) -> None:
    tree = project({"conftest.py": "import a_package_that_nobody_has"})
    with pytest.raises(EnvironmentFailure, match=r"collected with .*python.* \(--python\): no module named") as caught:
        harness.collect(tree)
    assert ".venv" in caught.value.hint
