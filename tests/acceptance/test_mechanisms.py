"""Each mechanism that ``auto`` can choose, with the same model configured: the task decides, not the key."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from planexec import Contract, Options, Result, run
from planexec.llm.scripted import Reply, ScriptedServer

from .conftest import FAILING, FAULTY, FIXED, shop
from .conftest import commit as committed
from .test_by_model import act, plan, planned

BY_EXAMPLE = """
goal: shipping is added
success:
  reproduction:
    verifier: verify_regression_red
    example: {imports: from shop.basket import total, actual: "total([2, 3], 4)", expected: 9, shows: 1}
  diff_scope: nothing else is changed
limits: {repair_seconds: 60}
"""
REPRODUCE = planned(
    "reproduce", "", ["reproduction"], {"reproduction": "regression_red"}, artifacts=["regression-test"]
)
PATCH = planned(
    "patch-by-model", "reproduce", [], {"reproduction": "regression_green"}, artifacts=["patch"], writes=["shop/**"],
    tools=["read", "edit", "run_tests"],
)  # fmt: skip
VERIFY = planned(
    "judge", "patch-by-model", ["tests", "diff_scope"], {"tests": "check_passed", "diff_scope": "check_passed"}
)
UNWRITTEN = "    raise NotImplementedError"
WRITTEN = "    text = str(word)\n    return text if count == 1 else text + 's'"

SHORT_BODY = "    return name.upper()"
SHORT = f"def initials(name):\n{SHORT_BODY}\n"
LONG_BODY = "    return ' '.join(f'{part[0].upper()}.' for part in name.split())"
TOLD_BY_TWO = """
from shop.names import initials


def test_initials():
    assert initials("ada king") == "A. K."
    assert initials("alan mathison turing") == "A. M. T."
"""
"""A fault that no single edit of the templates mends: the searches come to their end, however fast the machine is."""


@pytest.fixture(autouse=True)
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CACHE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))


def ran(contract: Contract | Path, repository: Path, *answers: str) -> tuple[Result, int]:
    waiting = iter(answers)

    def answer(request: Mapping[str, Any]) -> Reply | str:
        return next(waiting)

    with ScriptedServer(answer) as server:
        options = Options(model="m", base_url=server.url, python=sys.executable)
        return run(contract, repository, options), len(server.requests)


def mechanisms(result: Result) -> list[str]:
    return [revision["mechanism"] for revision in result.document["revisions"]]


def test_an_example_is_for_the_workflow(tmp_path: Path) -> None:
    path = tmp_path / "contract.yaml"
    path.write_text(BY_EXAMPLE)
    result, requests = ran(path, shop(tmp_path / "shop"))
    assert result.proved and requests == 0
    assert mechanisms(result) == ["fixed workflow with search: the contract gives an example, so the path is known"]


def test_failing_tests_are_for_the_search(tmp_path: Path) -> None:
    result, requests = ran(Contract.for_tests(FAILING), shop(tmp_path / "shop"))
    assert result.proved and requests == 0
    (mechanism,) = mechanisms(result)
    assert mechanism.startswith("search: 1 named test fail") and "candidates can be enumerated" in mechanism


def test_what_has_yet_to_be_written_is_for_the_model(tmp_path: Path) -> None:
    repository = shop(tmp_path / "shop")
    words = repository / "shop" / "words.py"
    words.write_text(f"def plural(word, count):\n{UNWRITTEN}\n")
    (repository / "shop" / "basket.py").write_text(
        (repository / "shop" / "basket.py").read_text().replace(FAULTY, FIXED)
    )
    committed(repository)
    answers = [
        plan(REPRODUCE, PATCH, VERIFY), act("read", path="shop/words.py"),
        act("edit", path="shop/words.py", old=UNWRITTEN, new=WRITTEN), act("finish"),
    ]  # fmt: skip
    result, requests = ran(Contract.for_tests("tests/test_words.py::test_plural"), repository, *answers)
    assert result.proved and requests == len(answers), result.message
    (mechanism,) = mechanisms(result)
    assert mechanism.startswith(
        "planning by a model: 'tests/test_words.py::test_plural' fails with NotImplementedError"
    )
    assert [step["id"] for step in result.document["steps"]] == ["reproduce", "patch-by-model", "judge"]


def test_what_the_searches_leave_over_is_for_the_model(tmp_path: Path) -> None:
    repository = shop(tmp_path / "shop")
    (repository / "shop" / "names.py").write_text(SHORT)
    (repository / "tests" / "test_names.py").write_text(TOLD_BY_TWO)
    committed(repository)
    replanned = json.loads(plan(PATCH, VERIFY))
    replanned["steps"][0]["depends_on"] = ["reproduce"]
    answers = [
        json.dumps(replanned), act("edit", path="shop/names.py", old=SHORT_BODY, new=LONG_BODY), act("run_tests"),
        act("finish"),
    ]  # fmt: skip
    result, requests = ran(Contract.for_tests("tests/test_names.py::test_initials"), repository, *answers)
    assert result.proved and requests == len(answers), result.message
    assert mechanisms(result)[-1] == "planning by a model: the searches found no patch"
    assert [each.split(":")[0] for each in mechanisms(result)] == ["search", "search", "planning by a model"]
