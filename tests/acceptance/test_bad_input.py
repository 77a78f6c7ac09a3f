"""What people and machines get wrong: one line on standard error, the exit code of the table, nothing lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from planexec.sandbox.bubblewrap import candidates

from .conftest import FAILING, FIXED, CommandLine, Done, differences, fingerprint, git, shop

MISSING = FAILING.replace("test_total", "test_totl")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return shop(tmp_path / "work")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("goal: g\nsuccess:\n\ttests: x\n", "3:1: found character '\\t'"),
        ("goal: g\ngoal: h\nsuccess: {tests: x}\n", "2:1: the key 'goal' stands twice"),
        ("a: &a [1,1,1,1,1,1,1,1,1]\n" + "".join(
            f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdef", "bcdefg", strict=True)), "values"),
        ("goal: g\nsuccess: {tests: x}\nlimit: {}\n", "3:1: unknown key 'limit'"),
        ("goal: g\nsuccess: {foo: x}\n", "2:11: check 'foo' has no verifier 'verify_foo'"),
        ("goal: g\nsuccess: {tests: {verifier: verify_foo}}\n", "'verify_foo'"),
        ("goal: 3\nsuccess: {tests: x}\n", "1:7: expected `str`, got `int` in 'goal'"),
        ("goal: g\nsuccess: {tests: x}\nscope: {allow: [../x]}\n", "3:17: '../x' leaves the repository"),
        ("goal: g\nsuccess: {tests: x}\nlimits: {replan_budget: -1}\n", "'replan_budget' is -1"),
        ("goal: g\nsuccess: {diff_scope: x}\n", "no check runs anything"),
        ("goal: g\nsuccess: {reproduction: {tests: [t/../../x.py]}}\n", "'t/../../x.py' is not a test id"),
    ],
)  # fmt: skip
def test_a_wrong_contract(planexec: CommandLine, tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "c.yaml").write_text(text)
    planexec("validate", "c.yaml").refused(2, "c.yaml:", words)


def test_a_contract_that_no_plan_fits(planexec: CommandLine, tree: Path, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("goal: g\nsuccess: {tests: all of them}\n")
    said = planexec("validate", "c.yaml")
    assert (said.code, len(said.err.splitlines())) == (0, 1)
    assert "no check names a test" in said.err
    planexec("plan", "c.yaml", "--repo", tree).refused(2, "no plan for this contract")


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ("", "is not a test id"), ("--help", "is not a test id"), ("../x.py::t", "lies outside of the repository"),
        ("/x.py::t", "lies outside of the repository"), ("tests/\udcff.py::t", "the test id"),
    ],
)  # fmt: skip
def test_what_is_no_test_id(planexec: CommandLine, tree: Path, test: str, words: str) -> None:
    planexec("fix", "--repo", tree, "--", test).refused(2, words)


@pytest.mark.parametrize(
    ("changed", "code", "words"),
    [
        ({"PATH": ""}, 5, "the program git was not found"),
        ({"XDG_CACHE_HOME": "/dev/null/x"}, 5, "the cache folder"),
        ({"HOME": "/nonexistent", "TMPDIR": "/nonexistent"}, 2, "no test"),
        ({"HOME": None, "LANG": None, "LC_ALL": "C"}, 2, "no test"),
        ({"GIT_DIR": "/nonexistent", "GIT_INDEX_FILE": "/x", "GIT_WORK_TREE": "/y"}, 2, "no test"),
    ],
)
def test_an_environment_of_any_kind(
    planexec: CommandLine, tree: Path, changed: dict[str, str | None], code: int, words: str
) -> None:
    before = fingerprint(tree)
    kept = {name: value for name, value in planexec.environment.items() if name not in changed}
    planexec.environment = kept | {name: value for name, value in changed.items() if value is not None}
    planexec("fix", MISSING, cwd=tree).refused(code, words)
    assert differences(before, fingerprint(tree)) == []


@pytest.mark.parametrize("name", ["", "locks", "artifacts", "journal.db"])
def test_something_else_in_the_place_of_the_state(planexec: CommandLine, tree: Path, name: str) -> None:
    place = tree / ".git/planexec" / name
    place.parent.mkdir(exist_ok=True)
    place.write_text("mine\n" * 300)
    planexec("fix", FAILING, cwd=tree).refused(5)
    assert place.read_text() == "mine\n" * 300


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams(planexec: CommandLine, tree: Path, closed: str) -> None:
    command = f'"$0" -m planexec.cli.main status {closed}'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable], cwd=tree, env=planexec.environment, capture_output=True, check=False
    )
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


def confined(planexec: CommandLine, tree: Path, *options: str) -> Done:
    """``fix`` in a mount namespace of its own."""
    argv = [str(next(candidates())[0]), "--dev-bind", "/", "/", *options, sys.executable, "-m", "planexec.cli.main"]
    done = subprocess.run(
        [*argv, "fix", MISSING], cwd=tree, env=planexec.environment, capture_output=True, text=True, check=False
    )
    return Done(done.returncode, done.stdout, done.stderr)


def test_a_repository_that_cannot_be_written_to(planexec: CommandLine, tree: Path) -> None:
    confined(planexec, tree, "--ro-bind", str(tree), str(tree)).refused(5, "Read-only file system")


@pytest.mark.parametrize("full", ["cache", "state"])
def test_a_full_disk(planexec: CommandLine, tree: Path, full: str) -> None:
    (tree / "big.bin").write_bytes(os.urandom(400_000))
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", "big")
    place = planexec.cache if full == "cache" else tree / ".git/planexec"
    place.mkdir()
    before = fingerprint(tree)
    confined(planexec, tree, "--size", "200000", "--tmpfs", str(place)).refused(5, "No space left on device")
    assert differences(before, fingerprint(tree)) == []


@pytest.mark.slow
def test_a_whole_run_among_names_that_are_no_utf_8(planexec: CommandLine, tmp_path: Path) -> None:
    tree = tmp_path / "it's \udcff\n here"
    tree.mkdir()
    (tree / "raw\udcff.txt").write_text("x")
    shop(tree)
    done = planexec("fix", FAILING, "--json", cwd=tree)
    assert done.code == 0, done.err
    assert done.document["applied"] == "finished"
    assert FIXED in (tree / "shop/basket.py").read_text()
    assert planexec("status", cwd=tree).code == 0
