from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from planexec.sandbox.choose import choose
from planexec.sandbox.interface import Limits, Sandbox
from planexec.testing.harness import Harness
from planexec.testing.interpreter import Interpreter
from planexec.testing.outcomes import TraceReport
from planexec.testing.screen import ScreenedJudge, Screening

from .conftest import QUIET, ROOT, write

RED = "LIMIT = 2\n\n\ndef answer(x):\n    return x\n\n\ndef other(x):\n    return x\n"
GREEN = RED.replace("answer(x):\n    return x", "answer(x):\n    return x + 1")
TESTS = """
    import os, pathlib, subprocess, sys
    from product import LIMIT, answer, other

    def test_one():
        assert answer(1) == LIMIT

    def test_other():
        assert other(1) == 1 and answer(5) < 50

    def test_lazily():
        import later
        assert later.VALUE == 1

    def test_elsewhere():
        code = "from product import answer; assert answer(2) in (2, 3)"
        assert subprocess.run([sys.executable, "-c", code]).returncode == 0

    def test_alone():
        assert not pathlib.Path("left").exists()
        pathlib.Path("left").write_text("x")
        assert pathlib.Path("data.txt").read_text() == "data"

    def test_once():
        "Red wherever it is not the first to ask."
        assert os.environ.pop("ONCE", "") == ""
"""
FILES = {"product.py": RED, "later.py": "VALUE = 1\n", "test_product.py": TESTS, "data.txt": "data"}
ONE, OTHER, LAZILY, ELSEWHERE, ALONE = (
    f"test_product.py::test_{name}" for name in ("one", "other", "lazily", "elsewhere", "alone")
)


def traced(harness: Harness, tree: Path, ids: list[str]) -> TraceReport:
    return harness.trace(tree, ids, seconds=60)


@pytest.fixture(scope="module")
def judge(
    sandbox: Sandbox, interpreter: Interpreter, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ScreenedJudge]:
    harness = Harness(sandbox, interpreter, ROOT, limits=Limits(memory_bytes=1 << 30, file_bytes=1 << 20), env=QUIET)
    with screened(harness, write(tmp_path_factory.mktemp("screen"), FILES)) as found:
        yield found


@contextmanager
def screened(harness: Harness, tree: Path) -> Iterator[ScreenedJudge]:
    covering = [OTHER, LAZILY, ELSEWHERE, ALONE]
    ran = traced(harness, tree, [ONE, *covering]).import_lines
    with ScreenedJudge(harness.warm(tree), Screening([ONE], covering, 30.0, ran)) as found:
        yield found


def change(source: str, path: str = "product.py") -> Mapping[str, bytes]:
    return {path: source.encode()}


def looked(judge: ScreenedJudge, changes: Mapping[str, bytes], ids: list[str]) -> tuple[str, int, int]:
    """Outcome, and by how many this judgement was settled by a look, and declined."""
    screened, declined = judge.screened, judge.declined
    outcome = judge.judge(changes, ids, seconds=20).outcome
    return outcome, judge.screened - screened, judge.declined - declined


def test_red_is_seen_at_a_look_and_green_is_judged_in_full(judge: ScreenedJudge) -> None:
    assert looked(judge, change(RED.replace("return x\n\n", "return x - 1\n\n")), [ONE]) == ("failed", 1, 0)
    assert looked(judge, change(GREEN), [ONE]) == ("passed", 0, 0)


def test_what_breaks_covering_tests_is_seen_at_a_look(judge: ScreenedJudge) -> None:
    # A process of the test's own loads the file.
    for body, red in (("x + x", ELSEWHERE), ("x + x ** 9", OTHER)):
        found = judge.judge(
            change(RED.replace("answer(x):\n    return x", f"answer(x):\n    return {body}")), [ONE], seconds=20
        )
        assert (found.outcome, found.failing) == ("failed", [red])


def test_what_ran_at_import_is_declined_and_judged_in_full(judge: ScreenedJudge) -> None:
    assert looked(judge, change(RED.replace("LIMIT = 2", "LIMIT = 1")), [ONE]) == ("passed", 0, 1)
    assert looked(judge, change(RED.replace("LIMIT = 2", "LIMIT = 3")), [ONE]) == ("failed", 0, 1)
    assert looked(judge, change(RED.replace("answer(x)", "answer(x, y=1)")), [ONE]) == ("failed", 0, 1)


def test_what_is_loaded_later_comes_from_the_candidate(judge: ScreenedJudge) -> None:
    both = {**change(GREEN), **change("VALUE = 2\n", "later.py")}
    found = judge.judge(both, [ONE], seconds=20)
    assert (found.outcome, found.failing) == ("failed", [LAZILY])


def test_other_tests_are_judged_in_full(judge: ScreenedJudge) -> None:
    assert looked(judge, change(GREEN), [OTHER]) == ("passed", 0, 0)


def test_candidates_do_not_meet(judge: ScreenedJudge) -> None:
    for _ in range(2):
        assert looked(judge, change(GREEN), [ONE]) == ("passed", 0, 0)  # the covering tests ran each time


def test_hangs_and_deaths(judge: ScreenedJudge) -> None:
    hang = GREEN.replace("return x + 1", "while True: pass")
    start = time.monotonic()
    assert judge.judge(change(hang), [ONE], seconds=60).outcome == "timeout"
    assert time.monotonic() - start < 40
    death = GREEN.replace("return x + 1", "__import__('os')._exit(0)")
    assert judge.judge(change(death), [ONE], seconds=20).outcome == "crashed"
    killer = GREEN.replace("return x + 1", "__import__('os').kill(__import__('os').getppid(), 9)")
    assert judge.judge(change(killer), [ONE], seconds=20).outcome == "crashed"
    assert judge.judge(change(GREEN), [ONE], seconds=20).outcome == "passed"


def test_a_test_that_is_only_red_when_held_is_left_to_the_warm_judge(
    harness: Harness, project: Callable[[Mapping[str, str]], Path]
) -> None:
    """Collected long before it runs, in another process."""
    odd = TESTS + "\n    HERE = os.getpid()\n\n    def test_process():\n        assert os.getpid() == HERE\n"
    tree = project({**FILES, "test_product.py": odd})
    process = "test_product.py::test_process"
    screening = Screening([ONE], [OTHER, process], 30.0, traced(harness, tree, [ONE, OTHER, process]).import_lines)
    with ScreenedJudge(harness.warm(tree), screening) as judge:
        assert looked(judge, change(GREEN), [ONE]) == ("passed", 0, 0)
        assert looked(judge, {}, [ONE]) == ("failed", 1, 0)


def test_threads_make_it_useless_and_the_warm_judge_goes_on(
    harness: Harness, project: Callable[[Mapping[str, str]], Path]
) -> None:
    thread = "import threading, time\n    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
    tree = project({**FILES, "test_product.py": f"    {thread}{TESTS}"})
    with ScreenedJudge(harness.warm(tree), Screening([ONE], [], 30.0, {"product.py": [1, 4, 8]})) as judge:
        assert looked(judge, {}, [ONE]) == ("failed", 0, 0)
        assert looked(judge, change(GREEN), [ONE]) == ("passed", 0, 0)


def test_without_a_sandbox(interpreter: Interpreter, project: Callable[[Mapping[str, str]], Path]) -> None:
    with screened(Harness(choose("none"), interpreter, ROOT, env=QUIET), project(FILES)) as judge:
        assert looked(judge, {}, [ONE]) == ("failed", 1, 0)
        assert looked(judge, change(GREEN), [ONE]) == ("passed", 0, 0)


def test_a_project_below_the_repository(
    sandbox: Sandbox, interpreter: Interpreter, project: Callable[[Mapping[str, str]], Path]
) -> None:
    tree = project({f"part/{path}": text for path, text in FILES.items()})
    harness = Harness(sandbox, interpreter, ROOT, env=QUIET, project="part")
    one, other = f"part/{ONE}", f"part/{OTHER}"
    screening = Screening([one], [other], 30.0, traced(harness, tree, [one, other]).import_lines)
    with ScreenedJudge(harness.warm(tree), screening) as judge:
        assert looked(judge, change(RED, "part/product.py"), [one]) == ("failed", 0, 1)  # idle: nothing to exchange
        assert looked(judge, change(RED.replace("return x\n\n", "return 7\n\n"), "part/product.py"), [one])[1] == 1
        assert looked(judge, change(GREEN, "part/product.py"), [one]) == ("passed", 0, 0)
