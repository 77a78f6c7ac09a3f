"""``planexec doctor`` as a person calls it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from planexec.llm.scripted import ScriptedServer

from .conftest import CommandLine, command_line, contents, git, shop

TESTS = """
import os, secrets, pytest

@pytest.mark.parametrize("n", range(64))
def test_flaky(n):
    assert secrets.randbits(1)

def test_where():
    assert os.path.exists("pyproject.toml") and "COLOUR" in os.environ

@pytest.mark.skip
def test_later(): pass
"""


@pytest.fixture
def planexec(tmp_path: Path) -> CommandLine:
    """With a configuration of the user's that passes two variables through."""
    found = command_line(tmp_path)
    (tmp_path / "config" / "planexec").mkdir(parents=True)
    names = "[PYTEST_DISABLE_PLUGIN_AUTOLOAD, COLOUR]"
    (tmp_path / "config" / "planexec" / "config.yaml").write_text(f"python: {sys.executable}\npass_env: {names}\n")
    more = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLOUR": "blue"}
    found.environment.update(more)
    return found


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    (root / "backend").mkdir(parents=True)
    (root / "backend" / "pyproject.toml").write_text("")
    (root / "backend" / "test_a.py").write_text(TESTS)
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "first")
    return root


def test_everything_that_a_run_needs_is_looked_at(planexec: CommandLine, tree: Path, tmp_path: Path) -> None:
    before = contents(tree)
    done = planexec("doctor", "--json", cwd=tree)
    assert done.code == 0, done.err
    assert contents(tree) == before
    assert not list((tmp_path / "cache").glob("planexec/*/*"))
    found = done.document
    keys = ["planexec", "configuration", "sandbox", "git", "repository", "state", "interpreter", "baseline", "model"]
    assert list(found) == [*keys, "usable", "advice"]
    assert found["model"] is None
    assert found["usable"] and found["sandbox"]["chosen"] == "bubblewrap"
    assert [each["name"] for each in found["sandbox"]["mechanisms"]] == ["bubblewrap", "landlock"]
    assert found["repository"]["project"] == "backend" and found["repository"]["dirty"] == 0
    assert found["interpreter"]["source"] == "the user's configuration"
    taken = [each["rule"] for each in found["interpreter"]["rules"] if each["taken"]]
    assert taken == ["the user's configuration"]
    baseline = found["baseline"]
    assert baseline["collected"] == len(baseline["outcomes"]) == sum(baseline["counts"].values()) == 66
    assert baseline["outcomes"]["backend/test_a.py::test_where"] == "passed"
    assert baseline["outcomes"]["backend/test_a.py::test_later"] == "skipped"
    assert set(baseline["flaky"]) <= {f"backend/test_a.py::test_flaky[{n}]" for n in range(64)} and baseline["flaky"]
    assert len(baseline["seconds"]) == 2 and baseline["distrust"] == []
    assert "running 66 tests twice" in done.err and any("flaky" in line for line in found["advice"])


def test_what_is_wrong_is_told_with_what_to_do(planexec: CommandLine, tree: Path, tmp_path: Path) -> None:
    (tree / "backend" / "conftest.py").write_text("import a_package_that_nobody_has\n")
    (tree / "new\nfile").write_text("")
    done = planexec("doctor", cwd=tree / "backend")
    assert done.code == 5
    assert "planexec cannot work here" in done.out
    assert "no module named 'a_package_that_nobody_has'" in done.out and "--python" in done.out
    assert "2 uncommitted files" in done.out


def test_without_tests_nothing_is_run(planexec: CommandLine, tree: Path, tmp_path: Path) -> None:
    (tree / "backend" / "conftest.py").write_text("raise SystemExit\n")
    done = planexec("doctor", "--no-tests", "--json", "--repo", tree)
    assert done.code == 0 and done.document["baseline"] is None


def test_outside_of_a_repository_and_asked_for_what_is_not_there(planexec: CommandLine, tmp_path: Path) -> None:
    done = planexec("doctor", "--json", cwd=tmp_path)
    assert done.code == 5 and not done.document["usable"]
    assert "not in a git repository" in done.document["repository"]["problem"]
    last = planexec("doctor", "--python", "/nowhere/python", cwd=tmp_path)
    assert last.code == 2 and last.err.splitlines()[-1].startswith("planexec: --python: /nowhere/python")


def test_a_configuration_that_cannot_be_read_is_one_line(planexec: CommandLine, tree: Path, tmp_path: Path) -> None:
    (tmp_path / "config" / "planexec" / "config.yaml").write_text("pyton: x\n")
    planexec("doctor", cwd=tree).refused(2, "config.yaml:1:1", "'pyton'", "did you mean 'python'?")
    planexec("fix", "backend/test_a.py::test_where", cwd=tree).refused(2, "config.yaml:1:1")


def test_what_the_model_s_server_can_do_is_told_in_words(planexec: CommandLine, tmp_path: Path) -> None:
    repository = shop(tmp_path / "work")
    ask = ("doctor", "--repo", repository, "--no-tests", "--model", "--model-name", "m")
    refused = planexec("doctor", "--repo", repository, "--no-tests", "--model")
    assert refused.code == 2 and "no model is configured" in refused.err
    with ScriptedServer(lambda request: '{"word": "marigold"}') as server:
        done = planexec(*ask, "--base-url", server.url)
        assert done.code == 0, done.err
        said = " ".join(done.out.partition("\nmodel\n")[2].split())
        assert f"m at {server.url} answers" in said and "it enforces a JSON Schema" in said
        assert "it tells the tokens of each question" in said and "was read whole" in said
        assert len(server.requests) == 3
        document = planexec(*ask, "--base-url", server.url, "--json").document
        assert (document["model"]["schema"], document["model"]["whole"]) == ("enforced", True)
    gone = planexec(*ask, "--base-url", server.url)
    assert gone.code == 5 and "nothing answers at" in gone.out and "planexec cannot work here" in gone.out
