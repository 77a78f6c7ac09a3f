from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from planexec.core.errors import EnvironmentFailure, SafetyViolation
from planexec.sandbox.choose import choose
from planexec.sandbox.interface import Limits, Sandbox
from planexec.testing.harness import Harness
from planexec.testing.interpreter import Interpreter
from planexec.testing.warmjudge import WarmJudge

from .conftest import QUIET, ROOT, write

RED = "def answer(x):\n    return x\n"
GREEN = "def answer(x):\n    return x + 1\n"
TESTS = """
    import os, pathlib, tempfile
    import pytest
    import helper
    from product import answer

    def test_one():
        assert answer(1) == 2

    def test_two():
        assert answer(2) == 3

    def test_alone(tmp_path):
        "What an earlier candidate left must not be there."
        for folder in (".", tempfile.gettempdir(), os.path.expanduser("~"), "/tmp"):
            assert not pathlib.Path(folder, "left").exists()
            pathlib.Path(folder, "left").write_text("x")
        assert pathlib.Path("data.txt").read_text() == "data"
        assert pathlib.Path("empty").is_dir()

    def test_compiled():
        "What no candidate changes was compiled before."
        from importlib.util import cache_from_source
        assert os.path.exists(cache_from_source(helper.__file__))

    @pytest.mark.skip
    def test_skipped():
        pass
"""
FILES = {"product.py": RED, "test_product.py": TESTS, "helper.py": "", "data.txt": "data", "empty/.keep": ""}
ONE, TWO, ALONE = (f"test_product.py::test_{name}" for name in ("one", "two", "alone"))
LIMITS = Limits(memory_bytes=1024 * 1024 * 1024, file_bytes=1024 * 1024)


@pytest.fixture(scope="module")
def judge(sandbox: Sandbox, interpreter: Interpreter, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmJudge]:
    tree = write(tmp_path_factory.mktemp("warm"), FILES)
    with Harness(sandbox, interpreter, ROOT, limits=LIMITS, env=QUIET).warm(tree) as found:
        yield found


def change(source: str) -> Mapping[str, bytes]:
    return {"product.py": source.encode()}


def test_right_and_wrong(judge: WarmJudge) -> None:
    green = judge.judge(change(GREEN), [ONE, TWO], seconds=20)
    assert (green.outcome, green.failing) == ("passed", [])
    red = judge.judge({}, [TWO, ONE], seconds=20)
    assert (red.outcome, red.failing) == ("failed", [TWO])  # the order is that of the ids, and the first red ends it
    assert "assert 2 == 3" in red.detail
    half = judge.judge(change("def answer(x):\n    return 2\n"), [ONE, TWO], seconds=20)
    assert (half.outcome, half.failing) == ("failed", [TWO])
    broken = judge.judge(change("def answer(:\n"), [ONE, TWO], seconds=20)
    assert (broken.outcome, broken.failing) == ("error", ["test_product.py"]) and "SyntaxError" in broken.detail


@pytest.mark.parametrize(
    "test", ["test_product.py::test_gone", "test_gone.py::test_x", "test_product.py::test_skipped"]
)
def test_missing_and_skipped_tests_are_red(test: str, judge: WarmJudge) -> None:
    found = judge.judge(change(GREEN), [ONE, test], seconds=20)
    assert (found.outcome, found.failing) == ("failed", [test])


def test_candidates_do_not_meet(judge: WarmJudge) -> None:
    hostile = GREEN + "import os, shutil\nos.remove('data.txt'); shutil.rmtree('empty'); os.makedirs('new/deep')\n"
    hostile += "open('test_product.py', 'w').write('')\n"
    assert judge.judge(change(hostile), [ALONE], seconds=20).outcome != "passed"
    for _ in range(2):
        assert judge.judge({**change(GREEN), "pkg/new.py": b"x = 1\n"}, [ONE, ALONE], seconds=20).outcome == "passed"


def test_bytecode_is_that_of_the_candidate(judge: WarmJudge) -> None:
    """Files of one size, written within one second, have nothing but their content to tell them apart."""
    wrong = GREEN.replace("1", "2")
    for source, outcome in ((GREEN, "passed"), (wrong, "failed"), (GREEN, "passed"), (RED + "#   ", "failed")):
        assert judge.judge(change(source), [ONE], seconds=20).outcome == outcome
    assert judge.judge(change(GREEN), ["test_product.py::test_compiled"], seconds=20).outcome == "passed"


def test_limits(judge: WarmJudge) -> None:
    start = time.monotonic()
    endless = judge.judge(change("def answer(x):\n    while True: pass\n"), [ONE], seconds=1)
    assert (endless.outcome, endless.failing) == ("timeout", [ONE])
    daemon = "import os, time\ndef answer(x):\n    os.fork() or os.setsid()\n    time.sleep(60)\n"
    assert judge.judge(change(daemon), [ONE], seconds=1).outcome == "timeout"
    assert time.monotonic() - start < 20
    greedy = judge.judge(change("def answer(x):\n    return [0] * 10**9\n"), [ONE], seconds=20)
    assert (greedy.outcome, greedy.failing) == ("failed", [ONE]) and "MemoryError" in greedy.detail
    large = "def answer(x):\n    open('big', 'wb').write(b'x' * 10**8)\n    return x + 1\n"
    assert judge.judge(change(large), [ONE], seconds=20).outcome in ("failed", "crashed")
    leaving = judge.judge(change("import os\ndef answer(x):\n    os._exit(0)\n"), [ONE], seconds=20)
    assert (leaving.outcome, leaving.failing) == ("crashed", [ONE])
    assert judge.judge(change(GREEN), [ONE, TWO, ALONE], seconds=20).outcome == "passed"


def test_a_candidate_that_kills_the_judge(judge: WarmJudge) -> None:
    before = judge.restarts
    killing = judge.judge(change("import os\ndef answer(x):\n    os.kill(os.getppid(), 9)\n"), [ONE], seconds=5)
    assert killing.outcome == "crashed" and judge.restarts == before + 1
    assert judge.judge(change(GREEN), [ONE, TWO, ALONE], seconds=20).outcome == "passed"


def test_it_is_much_faster_than_a_process_for_each(
    judge: WarmJudge, harness: Harness, project: Callable[[Mapping[str, str]], Path]
) -> None:
    tree = project(FILES)
    judge.judge({}, [ONE], seconds=30)
    warm, cold = [], []
    for number in range(4):  # in turn, for the machine may be busy
        warm.append(judge.judge(change(RED + f"# {number}\n"), [ONE], seconds=30).seconds)
        cold.append(harness.run(tree, [ONE], seconds=60).seconds)
    assert min(warm) * 2 < min(cold), (warm, cold)


@pytest.mark.parametrize("path", ["/etc/passwd", "../outside.py", ".git/config", "a/.GIT/hooks/x", ""])
def test_nothing_outside_of_the_tree_is_written(path: str, judge: WarmJudge) -> None:
    with pytest.raises(SafetyViolation):
        judge.judge({path: b""}, [ONE], seconds=20)


def test_a_project_that_loads_itself_early_is_judged_cold(
    sandbox: Sandbox, interpreter: Interpreter, project: Callable[[Mapping[str, str]], Path]
) -> None:
    # The plug-in named in the configuration is the project's own: it would be loaded before the fork.
    early = {"pytest.ini": "[pytest]\naddopts = -p early\n", "early.py": "import product\n"}
    tree = project({**FILES, **early})
    with Harness(sandbox, interpreter, ROOT, env=QUIET).warm(tree) as judge:
        assert judge.judge(change(GREEN), [ONE, TWO], seconds=30).outcome == "passed"
        assert judge.restarts == 1
        assert judge.judge({}, [ONE, TWO], seconds=30).failing == [ONE]
        assert judge.restarts == 1
    assert (tree / "product.py").read_text() == RED


def test_without_own_mounts(interpreter: Interpreter, project: Callable[[Mapping[str, str]], Path]) -> None:
    tree = project(FILES)
    with Harness(choose("none"), interpreter, ROOT, env=QUIET).warm(tree) as judge:
        assert judge.judge(change(GREEN), [ONE, TWO], seconds=30).outcome == "passed"
        assert judge.judge({}, [ONE, TWO], seconds=30).failing == [ONE]
    assert not list(tree.rglob("__pycache__"))


def test_a_configuration_that_pytest_refuses(harness: Harness, project: Callable[[Mapping[str, str]], Path]) -> None:
    tree = project({**FILES, "pytest.ini": "[pytest]\naddopts = -p no_such_plugin\n"})
    with harness.warm(tree) as judge, pytest.raises(EnvironmentFailure, match="no_such_plugin"):
        judge.judge({}, [ONE], seconds=30)


def test_it_is_a_context_manager(harness: Harness, project: Callable[[Mapping[str, str]], Path]) -> None:
    with pytest.raises(EnvironmentFailure, match="not running"):
        harness.warm(project(FILES)).judge({}, [ONE], seconds=1)
