from __future__ import annotations

from planexec.testing.bench import Bench
from planexec.tools.interface import ToolResult
from planexec.tools.regression import Regression, RegressionArguments

from ..projects import BY_EXAMPLE, BY_TESTS, make_contract, step, workbench
from ..verifiers.test_predicates import WITH_SET_UP


def write(bench: Bench, text: str, part: str) -> ToolResult:
    desk = workbench(bench, make_contract(text), step("regression"))
    return Regression().run(RegressionArguments(part), desk)  # type: ignore[arg-type]


def test_a_plain_test(bench: Bench) -> None:
    result = write(bench, BY_EXAMPLE, "plain")
    assert result.data["test"] == "tests/test_reproduction.py::test_reproduction"
    source = (bench.workspace.scratch / "tests/test_reproduction.py").read_text()
    assert "assert total([300, 200], 20) == 480" in source


def test_the_set_up_first_and_the_test_on_top_of_it(bench: Bench) -> None:
    write(bench, WITH_SET_UP, "setup")
    file = bench.workspace.scratch / "tests/test_voucher.py"
    setup = file.read_text()
    assert "def order(request, order):" in setup and "def test_" not in setup
    write(bench, WITH_SET_UP, "extended")
    assert file.read_text().startswith(setup)
    assert "def test_reproduction(order):" in file.read_text()


def test_it_only_adds(shared_bench: Bench) -> None:
    taken = WITH_SET_UP.replace("tests/test_voucher.py", "tests/test_basket.py")
    assert write(shared_bench, taken, "plain").code == "REFUSED"
    assert write(shared_bench, BY_TESTS, "plain").code == "NO_EXAMPLE"
