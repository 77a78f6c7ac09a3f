from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from planexec.core.state import Frozen
from planexec.testing.bench import Bench
from planexec.verifiers.interface import FAILED, PASSED
from planexec.verifiers.scope import verify_diff_scope

from ..projects import BY_TESTS, FAULT, FIX, edit, make_contract, request

NEW_TEST = "def test_new():\n    assert 1\n"
FROZEN = Frozen({"tests/test_new.py": hashlib.sha256(NEW_TEST.encode()).hexdigest()}, ("tests/test_new.py::test_new",))


def test_a_fix_with_its_frozen_test_is_in_scope(bench: Bench) -> None:
    edit(bench, "shop/basket.py", FAULT, FIX)
    edit(bench, "tests/test_new.py", "", NEW_TEST)
    verdict = verify_diff_scope(request(bench, make_contract(), "diff_scope", FROZEN))
    assert verdict.status == PASSED
    assert verdict.summary == "+3 -1 in shop/basket.py, tests/test_new.py; git diff --check is clean"
    assert "-    return amount + discount" in verdict.detail["patch"]
    assert [line[:2] for line in verdict.detail["status"]] in (["M ", "A "], [" M", "??"])


def test_nothing_is_no_fix(shared_bench: Bench) -> None:
    verdict = verify_diff_scope(request(shared_bench, make_contract(), "diff_scope"))
    assert (verdict.status, verdict.summary) == (FAILED, "no source was changed")


@pytest.mark.parametrize(
    ("path", "objection"),
    [
        ("tests/test_basket.py", "belongs to the tests"),
        ("tests/conftest.py", "belongs to the tests"),
        ("pyproject.toml", "belongs to the tests"),
        ("README.md", "is outside the contract's scope"),
        (".github/workflows/ci.yml", "is outside the contract's scope"),
        ("shop/sitecustomize.py", "is outside the contract's scope"),
    ],
)
def test_paths_that_are_not_for_a_fix(bench: Bench, path: str, objection: str) -> None:
    edit(bench, "shop/basket.py", FAULT, FIX)
    file = bench.workspace.scratch / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(file.read_text() + "\n# more\n" if file.exists() else "more\n")
    contract = make_contract(BY_TESTS + "scope: {allow: [shop/**]}\n")
    verdict = verify_diff_scope(request(bench, contract, "diff_scope"))
    assert verdict.status == FAILED
    assert path in verdict.summary and objection in verdict.summary


def test_deny_and_forbidden(bench: Bench) -> None:
    edit(bench, "shop/basket.py", FAULT, FIX)
    denied = make_contract(BY_TESTS + "scope: {deny: [shop/basket.py]}\n")
    assert "outside the contract's scope" in verify_diff_scope(request(bench, denied, "diff_scope")).summary
    forbidden = make_contract(BY_TESTS + "forbidden: [shop/**]\n")
    assert "is forbidden" in verify_diff_scope(request(bench, forbidden, "diff_scope")).summary


def test_a_changed_frozen_test(bench: Bench) -> None:
    edit(bench, "shop/basket.py", FAULT, FIX)
    edit(bench, "tests/test_new.py", "", NEW_TEST.replace("1", "2"))
    assert "was changed" in verify_diff_scope(request(bench, make_contract(), "diff_scope", FROZEN)).summary


def test_links_modes_binaries_and_white_space(bench: Bench, tmp_path: Path) -> None:
    basket = bench.workspace.scratch / "shop/basket.py"
    basket.chmod(0o755)
    assert "changed its mode" in verify_diff_scope(request(bench, make_contract(), "diff_scope")).summary
    basket.chmod(0o644)
    link = bench.workspace.scratch / "shop/link.py"
    link.symlink_to("basket.py")
    assert "is a link" in verify_diff_scope(request(bench, make_contract(), "diff_scope")).summary
    link.unlink()
    (bench.workspace.scratch / "shop/blob.py").write_bytes(b"x\0y")
    assert "is not text" in verify_diff_scope(request(bench, make_contract(), "diff_scope")).summary
    (bench.workspace.scratch / "shop/blob.py").unlink()
    edit(bench, "shop/basket.py", FAULT, FIX + "   ")
    assert "git diff --check" in verify_diff_scope(request(bench, make_contract(), "diff_scope")).summary


def test_limits_on_size(bench: Bench) -> None:
    edit(bench, "shop/basket.py", FAULT, FIX)
    limited = make_contract(BY_TESTS.replace("diff_scope: nothing else is changed", "diff_scope: {max_lines: 1}"))
    assert "2 lines changed, more than 1" in verify_diff_scope(request(bench, limited, "diff_scope")).summary
