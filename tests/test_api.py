"""planexec as a library: the same runs, the same laws, without a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from planexec import Contract, Options, PlanexecError, resume, run
from planexec.core.errors import ConflictError, UsageError

from .acceptance.conftest import FAILING, FAULTY, FIXED, PASSING, shop

SANDBOXED = Options(python=sys.executable)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CACHE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    return shop(tmp_path / "shop")


def test_a_run_is_proved_and_its_patch_is_kept(repository: Path) -> None:
    events: list[Any] = []
    told: list[str] = []
    contract = Contract.for_tests(FAILING)
    result = run(contract, repository, SANDBOXED, on_event=events.append, on_progress=told.append)
    assert result.proved and (result.status, result.exit_code, result.conflict) == ("succeeded", 0, "")
    assert f"+    return {FIXED}" in result.patch and result.document["run_id"] == result.run_id
    assert FAULTY in (repository / "shop/basket.py").read_text()
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1)) and told
    assert {event["run_id"] for event in events} == {result.run_id}
    with pytest.raises(UsageError, match="nothing is to be resumed"):
        resume(result.run_id, repository)


def test_a_contract_is_a_file_and_a_patch_is_applied_when_that_is_asked_for(repository: Path, tmp_path: Path) -> None:
    path = tmp_path / "contract.yaml"
    path.write_text(Contract.for_tests(FAILING).text)
    result = run(path, str(repository), Options(python=sys.executable, apply=True))
    assert result.proved and result.document["applied"] == "finished"
    assert FIXED in (repository / "shop/basket.py").read_text()
    assert Contract.load(path).digest == Contract.for_tests(FAILING).digest


def test_what_cannot_begin_is_an_error_with_a_hint(repository: Path) -> None:
    refused: list[tuple[str, Options, str]] = [
        (FAILING, Options(planner="none"), "there is no planner 'none'"),
        (FAILING, Options(executor="model"), "no model is configured"),
        (FAILING, Options(branch="b", include_dirty=True), "branch does not go with"),
        (f"{PASSING}x", SANDBOXED, "there is no test"),
    ]
    for test, options, message in refused:
        with pytest.raises(UsageError, match=message) as caught:
            run(Contract.for_tests(test), repository, options)
        assert caught.value.hint
    with pytest.raises(UsageError, match="no test is named"):
        Contract.for_tests()
    with pytest.raises(UsageError, match="is no limit"):
        resume("", repository, limits={"patience": 3.0})
    (repository / "shop/basket.py").write_text("")
    with pytest.raises(ConflictError, match="uncommitted"):
        run(Contract.for_tests(FAILING), repository)
    assert issubclass(ConflictError, PlanexecError)


def test_a_run_without_a_proof_is_a_result(repository: Path) -> None:
    result = run(Contract.for_tests(PASSING), repository, SANDBOXED)
    assert not result.proved and (result.status, result.exit_code, result.patch) == ("blocked", 3, "")
    assert result.reason == "not_red" and result.message


def test_the_package_itself_imports_nothing() -> None:
    code = "import sys, planexec; print([name for name in sys.modules if name.startswith('planexec.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
