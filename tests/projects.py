"""A small project with one fault, as a real repository with a real bench, for the tests of the upper floors."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

from planexec.core.contract import Contract
from planexec.core.contract_reader import read_contract
from planexec.core.plan import Step
from planexec.core.state import Frozen, RunState
from planexec.journal.artifacts import ArtifactStore
from planexec.sandbox.choose import choose
from planexec.testing.bench import Bench
from planexec.testing.harness import Harness
from planexec.testing.interpreter import discover
from planexec.tools.interface import Workbench
from planexec.verifiers.interface import Candidate, Request
from planexec.workspace.copies import Workspace
from planexec.workspace.manifest import ScanCache, scan
from planexec.workspace.repository import Repository

QUIET = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""Plug-ins of this project's own development would only cost time."""

SHOP = {
    "shop/__init__.py": "",
    "shop/basket.py": '''
        """Prices of a basket, in cents."""


        def total(prices, discount=0):
            amount = 0
            for price in prices:
                amount += price
            return amount + discount


        def cheapest(prices):
            return min(prices)
    ''',
    "tests/conftest.py": """
        import pytest


        @pytest.fixture
        def order():
            return {"prices": [300, 200]}


        @pytest.fixture
        def number():
            return 7
    """,
    "tests/test_basket.py": """
        from shop.basket import cheapest, total


        def test_total():
            assert total([300, 200]) == 500


        def test_empty():
            assert total([]) == 0


        def test_discount():
            assert total([300, 200], 50) == 450


        def test_cheapest():
            assert cheapest([3, 1, 2]) == 1
    """,
    "README.md": "A shop.\n",
}
FAULT = "return amount + discount"
FIX = "return amount - discount"
RED = "tests/test_basket.py::test_discount"

GIT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    **{f"GIT_{role}_{part}": "t@example.org" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")},
}

BY_TESTS = f"""
goal: the discount is taken off
success:
  reproduction: {{verifier: verify_regression_red, tests: ["{RED}"], runs: 2}}
  tests: everything else still passes
  diff_scope: nothing else is changed
limits: {{repair_seconds: 60}}
"""

BY_EXAMPLE = """
goal: the discount is taken off
success:
  reproduction:
    verifier: verify_regression_red
    runs: 2
    example:
      imports: from shop.basket import total
      actual: total([300, 200], 20)
      expected: 480
      shows: 520
  tests: everything else still passes
  diff_scope: nothing else is changed
limits: {repair_seconds: 60}
"""


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write dedented files."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"))


def git(folder: Path, *arguments: str) -> str:
    """Run git as a user would."""
    done = subprocess.run(["git", *arguments], cwd=folder, env=GIT, capture_output=True, check=True, text=True)
    return done.stdout


def make_repository(folder: Path, files: Mapping[str, str] = SHOP) -> Path:
    """A repository with one commit."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    write(folder, files)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    return folder.resolve()


def make_bench(
    folder: Path,
    files: Mapping[str, str] = SHOP,
    suite_seconds: float = 60.0,
    ignored: Mapping[str, bytes] | None = None,
) -> Bench:
    """A bench on a repository below ``folder``, with this interpreter and the real sandbox; ``ignored`` files are
    there, but not committed.
    """
    root = make_repository(folder / f"shop-{secrets.token_hex(3)}", files)
    for name, content in (ignored or {}).items():
        (root / name).write_bytes(content)
    store = ArtifactStore(folder / "artifacts")
    workspace = Workspace.create(Repository.open(root), folder / "cache", secrets.token_hex(4), store)
    harness = Harness(choose("bubblewrap"), discover(root, flag=sys.executable), root, workspace.mounts, env=QUIET)
    return Bench(workspace, harness, store, suite_seconds)


def make_contract(text: str = BY_TESTS, beside: Mapping[str, bytes] | None = None) -> Contract:
    """A bound contract; ``beside`` are the files that lie beside it."""
    return read_contract(text, "contract.yaml", lambda name: (beside or {})[name])


def edit(bench: Bench, path: str, old: str, new: str) -> None:
    """Change the scratch tree."""
    file = bench.workspace.scratch / path
    before = file.read_text() if file.exists() else ""
    assert old in before
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(before.replace(old, new) if old else new)


def candidate(bench: Bench, frozen: Frozen | None = None) -> Candidate:
    """What the scratch tree is."""
    return Candidate.of(bench.workspace.base, scan(bench.workspace.scratch, bench.store), frozen or Frozen())


def request(bench: Bench, contract: Contract, check: str, frozen: Frozen | None = None) -> Request:
    """A request to judge the scratch tree."""
    return Request(contract, contract.checks[check], candidate(bench, frozen), bench)


def workbench(bench: Bench, contract: Contract, step: Step, state: RunState | None = None) -> Workbench:
    """What tools get."""
    return Workbench(contract, state or RunState(), step, bench, ScanCache(), lambda: 120.0, observation="obs-x-1")


def step(*tools: str, name: str = "x") -> Step:
    """A step that may use these tools."""
    return Step(
        id=name, goal="a step", done_when="it is done", tools=tools, artifacts=("thing",), rollback="checkpoint"
    )
