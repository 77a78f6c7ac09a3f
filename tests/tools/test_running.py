from __future__ import annotations

from planexec.testing.bench import Bench
from planexec.tools.running import RunTests, RunTestsArguments, Shell, ShellArguments

from ..projects import FAULT, FIX, RED, edit, make_contract, step, workbench


def test_red_tests_are_shown_and_told_from_broken_ones(bench: Bench) -> None:
    bench.baseline()
    desk = workbench(bench, make_contract(), step("run_tests"))
    result = RunTests().run(RunTestsArguments(), desk)
    assert result.ok
    assert result.data["counts"] == {"passed": 3, "failed": 1}
    assert result.data["red"][0]["id"] == RED
    assert result.data["broken"] == []  # it was red before
    edit(bench, "shop/basket.py", "min(prices)", "max(prices)")
    broken = RunTests().run(RunTestsArguments(), desk)
    assert broken.data["broken"] == ["tests/test_basket.py::test_cheapest"]


def test_a_single_test(bench: Bench) -> None:
    edit(bench, "shop/basket.py", FAULT, FIX)
    result = RunTests().run(RunTestsArguments((RED,)), workbench(bench, make_contract(), step("run_tests")))
    assert result.summary == "1 passed"


def test_files_that_cannot_be_collected(bench: Bench) -> None:
    edit(bench, "tests/test_new.py", "", "from shop.basket import nothing_like_it\n")
    result = RunTests().run(
        RunTestsArguments(("tests/test_new.py",)), workbench(bench, make_contract(), step("run_tests"))
    )
    assert "cannot be collected" in result.summary


def test_the_shell_is_confined_to_the_scratch_tree(bench: Bench) -> None:
    desk = workbench(bench, make_contract(), step("shell"))
    made = Shell().run(ShellArguments(("python", "-c", "open('made.txt', 'w').write('x'); print('hello')")), desk)
    assert (made.ok, made.data["exit_code"], made.data["output"]) == (True, 0, "hello\n")
    assert (bench.workspace.scratch / "made.txt").read_text() == "x"
    assert not (bench.workspace.root / "made.txt").exists()
    outside = Shell().run(ShellArguments(("python", "-c", "open('/usr/made.txt', 'w')")), desk)
    assert outside.data["exit_code"] == 1
    network = "import socket; socket.create_connection(('192.0.2.1', 80), 2)"
    assert Shell().run(ShellArguments(("python", "-c", network)), desk).data["exit_code"] == 1


def test_long_output_keeps_its_ends(bench: Bench) -> None:
    desk = workbench(bench, make_contract(), step("shell"))
    result = Shell().run(ShellArguments(("python", "-c", "print('a' * 9000 + 'z')")), desk)
    assert "characters left out" in result.data["output"]
    assert result.data["output"].endswith("z\n")


def test_no_program(shared_bench: Bench) -> None:
    result = Shell().run(ShellArguments(()), workbench(shared_bench, make_contract(), step("shell")))
    assert (result.ok, result.code) == (False, "NO_PROGRAM")
