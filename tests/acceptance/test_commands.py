"""The commands as a person sees them: exit codes, one line on standard error for what is wrong, never a traceback."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from .conftest import (
    CONTRACT,
    FAILING,
    FAULTY,
    FIXED,
    PASSING,
    CommandLine,
    command_line,
    contents,
    differences,
    fingerprint,
    git,
    shop,
)

SMALL = f"""
goal: Totals count the shipping
success:
  reproduction: {{tests: [{FAILING}], runs: 1}}
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return shop(tmp_path / "work")


@dataclass(frozen=True)
class Fixed:
    """A repository in which ``fix --no-apply`` has proved a patch that waits to be applied."""

    planexec: CommandLine
    tree: Path
    run_id: str


@pytest.fixture(scope="module")
def fixed(tmp_path_factory: pytest.TempPathFactory) -> Fixed:
    folder = tmp_path_factory.mktemp("fixed")
    planexec, tree = command_line(folder), shop(folder / "work")
    done = planexec("fix", FAILING, "--no-apply", "--json", cwd=tree)
    assert done.code == 0, done.err
    assert git(tree, "status", "--porcelain") == ""
    return Fixed(planexec, tree, done.document["run_id"])


# Before anything was run.


def test_version_and_help(planexec: CommandLine) -> None:
    assert re.fullmatch(r"planexec \d+\.\d+\.\d+\n", planexec("--version").out)
    said = planexec("--help")
    assert said.code == 0
    for command in ("run", "fix", "resume", "status", "show", "plan", "diff", "apply", "clean", "validate"):
        assert re.search(rf"^\W*{command}\s", said.out, re.M), command


@pytest.mark.parametrize("command", ["status", "show", "diff", "apply"])
def test_without_a_run_there_is_nothing_to_show(planexec: CommandLine, tree: Path, command: str) -> None:
    before = fingerprint(tree)
    planexec(command, cwd=tree).refused(2, "no run in this repository yet", "planexec run")
    assert differences(before, fingerprint(tree)) == []
    assert not (tree / ".git" / "planexec").exists()


@pytest.mark.parametrize("command", [["status"], ["fix", FAILING], ["plan", CONTRACT], ["run", CONTRACT]])
def test_outside_of_a_repository(planexec: CommandLine, tmp_path: Path, command: list[str | Path]) -> None:
    (tmp_path / "plain").mkdir()
    planexec(*command, cwd=tmp_path / "plain").refused(5, "not in a git repository")


@pytest.mark.parametrize("command", [["status"], ["fix", FAILING]])
def test_in_a_bare_repository(planexec: CommandLine, tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "bare").mkdir()
    git(tmp_path / "bare", "init", "--quiet", "--bare")
    planexec(*command, cwd=tmp_path / "bare").refused(5, "bare repository")


def test_in_a_repository_without_a_commit(planexec: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    git(tmp_path / "new", "init", "--quiet")
    planexec("fix", FAILING, cwd=tmp_path / "new").refused(5, "no commit yet")


def test_a_folder_that_is_not_there(planexec: CommandLine, tmp_path: Path) -> None:
    planexec("status", "--repo", tmp_path / "gone").refused(5, "gone")


@pytest.mark.parametrize("command", ["run", "plan", "validate"])
def test_a_contract_that_is_not_there(planexec: CommandLine, tree: Path, command: str) -> None:
    (tree.parent / "contract.yaml").write_text(SMALL)
    planexec(command, "../contrakt.yaml", cwd=tree).refused(2, "no contract '../contrakt.yaml'", "'../contract.yaml'?")


@pytest.mark.parametrize("text", [b"goal: \xff\xfe", b"\x00"], ids=["not UTF-8", "not YAML"])
def test_a_contract_that_cannot_be_read(planexec: CommandLine, tree: Path, text: bytes) -> None:
    (tree.parent / "contract.yaml").write_bytes(text)
    planexec("run", "../contract.yaml", cwd=tree).refused(2, "../contract.yaml")


@pytest.mark.parametrize(
    ("old", "new", "place", "hint"),
    [
        ("success:", "sucess:", "3:1", "did you mean 'success'?"),
        ("reproduction: {tests", "reproduction: {verifier: verify_red, tests", "4:", "verify_"),
        ("runs: 1", "runs: often", "4:", "runs"),
        ("runs: 1", "run: 1", "4:", "did you mean 'runs'?"),
        ("goal: Totals", "goal: [Totals", "3:8", "expected"),
    ],
)
def test_a_wrong_contract_is_shown_with_its_place(
    planexec: CommandLine, tree: Path, old: str, new: str, place: str, hint: str
) -> None:
    assert old in SMALL
    (tree.parent / "contract.yaml").write_text(SMALL.replace(old, new))
    for command in ("validate", "run")[: 2 if place == "3:1" else 1]:
        planexec(command, "../contract.yaml", cwd=tree).refused(2, f"../contract.yaml:{place}", hint)


def test_a_sound_contract_is_shown_with_its_bindings(planexec: CommandLine) -> None:
    said = planexec("validate", CONTRACT)
    assert (said.code, said.err) == (0, "")
    assert re.search(r"^  external_url +verify_external_url_rejected +verify_named_tests$", said.out, re.M)
    document = planexec("validate", CONTRACT, "--json").document
    assert document["valid"] is True
    assert list(document["required_checks"]) == [
        "reproduction",
        "relative_return",
        "external_url",
        "tests",
        "diff_scope",
    ]


def test_a_plan_is_proposed_and_nothing_is_run(planexec: CommandLine, tree: Path) -> None:
    (tree.parent / "contract.yaml").write_text(SMALL)
    before = fingerprint(tree)
    said = planexec("plan", "../contract.yaml", cwd=tree)
    assert (said.code, said.err) == (0, "")
    assert [line.split()[0] for line in said.out.splitlines() if line.startswith("  ")][-4:] == [
        "inspect", "reproduce", "patch", "verify",
    ]  # fmt: skip
    document = planexec("plan", "../contract.yaml", "--json", cwd=tree).document
    assert document["findings"] == []
    assert {"id", "goal", "depends_on", "covers", "done_when", "status"} <= set(document["steps"][0])
    assert {step["status"] for step in document["steps"]} == {"pending"}
    assert differences(before, fingerprint(tree)) == []
    assert not (tree / ".git" / "planexec").exists()
    planexec("status", cwd=tree).refused(2, "no run in this repository yet")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--planner", "workflwo"], "did you mean 'workflow'?"),
        (["--executor", "nobody"], "no executor 'nobody'"),
        (["--sandbox", "bubblewarp"], "bubblewarp"),
        (["--into", "somewhere"], "--into goes with --fixture"),
        (["--fixture", "nowhere"], "no fixture folder 'nowhere'"),
    ],
)
def test_options_that_do_not_fit(planexec: CommandLine, tree: Path, options: list[str], word: str) -> None:
    (tree.parent / "contract.yaml").write_text(SMALL)
    before = fingerprint(tree)
    planexec("run", "../contract.yaml", *options, cwd=tree).refused(2, word)
    assert differences(before, fingerprint(tree)) == []


def test_a_throwaway_repository_is_not_laid_over_something(planexec: CommandLine, tree: Path, tmp_path: Path) -> None:
    (tmp_path / "contract.yaml").write_text(SMALL)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "thesis.txt").write_text("years of work\n")
    done = planexec("run", tmp_path / "contract.yaml", "--fixture", tree, "--into", tmp_path / "taken")
    done.refused(2, "is not empty")
    assert [path.name for path in (tmp_path / "taken").iterdir()] == ["thesis.txt"]


# Fixing tests without a contract.


@pytest.mark.parametrize("test", [pytest.param(PASSING, marks=pytest.mark.slow), "tests/test_words.py"])
def test_a_test_that_passes_already_is_not_a_fault(planexec: CommandLine, tree: Path, test: str) -> None:
    done = planexec("fix", test, "--json", cwd=tree)
    assert done.code == 3, done.err
    assert (done.document["status"], done.document["reason"]) == ("blocked", "not_red")
    assert "not red on the base" in done.document["message"]
    assert done.document["questions"]
    assert git(tree, "status", "--porcelain") == ""


def test_a_test_that_does_not_exist(planexec: CommandLine, tree: Path) -> None:
    wrong = FAILING.replace("test_total", "test_totl")
    planexec("fix", wrong, cwd=tree).refused(2, f"no test '{wrong}'", f"did you mean '{FAILING}'?")


def test_a_file_that_cannot_be_imported_is_a_matter_of_the_environment(planexec: CommandLine, tree: Path) -> None:
    (tree / "tests" / "test_words.py").write_text("import no_such_module\n")
    git(tree, "commit", "--quiet", "--all", "--message", "it needs something")
    done = planexec("fix", "tests/test_words.py", cwd=tree)
    assert done.code == 5, done.err
    assert "no_such_module" in done.err


@pytest.mark.slow  # by default test_resume.py sees a patch applied
def test_a_failing_test_is_fixed_and_the_fix_applied(planexec: CommandLine, tree: Path) -> None:
    (tree / "shop" / "deeper").mkdir()  # called from a folder below the top
    done = planexec("fix", FAILING, cwd=tree / "shop" / "deeper")
    assert done.code == 0, done.err
    assert git(tree, "diff", "--name-only").split() == ["shop/basket.py"]
    assert FIXED in (tree / "shop" / "basket.py").read_text()
    assert git(tree, "diff", "--cached", "--name-only") == ""
    assert "succeeded" in done.out
    assert f"+    return {FIXED}" in done.out
    assert "applied to shop/basket.py; nothing is committed" in done.err
    planexec("apply", cwd=tree).refused(2, "applied already")
    document = planexec("status", "--json", cwd=tree).document
    assert document["applied"] == "finished"
    assert list(document["required_checks"]) == ["reproduction", "tests", "diff_scope"]
    planexec("fix", FAILING, cwd=tree).refused(3, "uncommitted changes", "shop/basket.py")


def test_events_are_told_as_they_happen(planexec: CommandLine, tree: Path) -> None:
    done = planexec("fix", PASSING, "--events", cwd=tree)
    assert done.code == 3
    events = [json.loads(line) for line in done.out.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert len({event["run_id"] for event in events}) == 1
    assert (events[0]["event"], events[-1]["event"]) == ("run_started", "run_ended")


# Looking at a run that is there, and applying it.


def test_status_names_the_latest_run(fixed: Fixed) -> None:
    said = fixed.planexec("status", cwd=fixed.tree)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"run {fixed.run_id}: succeeded\n")
    for heading in ("Plan revisions", "Facts", "Checks"):
        assert heading in said.out.splitlines()
    by_name = fixed.planexec("status", fixed.run_id[:-2], "--json", cwd=fixed.tree)
    assert by_name.document["run_id"] == fixed.run_id


def test_status_lists_all_runs(fixed: Fixed) -> None:
    listed = fixed.planexec("status", "--all", "--json", cwd=fixed.tree).document["runs"]
    assert [(row["run_id"], row["status"]) for row in listed] == [(fixed.run_id, "succeeded")]
    assert fixed.run_id in fixed.planexec("status", "--all", cwd=fixed.tree).out


def test_status_shows_one_revision(fixed: Fixed) -> None:
    said = fixed.planexec("status", "--revision", "1", cwd=fixed.tree)
    assert said.code == 0
    assert re.search(r"^  inspect +completed ", said.out, re.M)
    fixed.planexec("status", "--revision", "2", cwd=fixed.tree).refused(2, "has no plan 2")


@pytest.mark.parametrize("command", ["status", "diff", "apply"])
def test_an_unknown_run(fixed: Fixed, command: str) -> None:
    fixed.planexec(command, "20990101-000000-ffffff", cwd=fixed.tree).refused(2, "no run '20990101", "status --all")


def test_the_patch_is_one_that_git_takes(fixed: Fixed, tmp_path: Path) -> None:
    printed = fixed.planexec("diff", cwd=fixed.tree)
    assert (printed.code, printed.err) == (0, "")
    (tmp_path / "the.patch").write_text(printed.out)
    git(fixed.tree, "apply", "--check", str(tmp_path / "the.patch"))


def test_apply_refuses_a_file_that_was_changed_and_works_when_it_is_back(fixed: Fixed) -> None:
    file = fixed.tree / "shop" / "basket.py"
    original = file.read_text()
    file.write_text(original + "# mine\n")
    before = fingerprint(fixed.tree)
    fixed.planexec("apply", cwd=fixed.tree).refused(3, "'shop/basket.py'")
    assert differences(before, fingerprint(fixed.tree)) == []
    file.write_text(original)
    (fixed.tree / "another.txt").write_text("work elsewhere does not matter\n")
    whole = contents(fixed.tree)
    done = fixed.planexec("apply", "--json", cwd=fixed.tree)
    assert done.document == {"run_id": fixed.run_id, "applied": True, "files": ["shop/basket.py"]}
    assert differences(whole, contents(fixed.tree)) == ["shop/basket.py"]
    assert file.read_text() == original.replace(FAULTY, FIXED)
    after = fingerprint(fixed.tree)
    fixed.planexec("apply", cwd=fixed.tree).refused(2, "applied already")
    assert differences(after, fingerprint(fixed.tree)) == []
    file.write_text(original)  # taken back by hand: what counts is the tree
    assert fixed.planexec("apply", cwd=fixed.tree).code == 0
    assert file.read_text() == original.replace(FAULTY, FIXED)


def test_a_closed_pipe_is_no_error_of_ours(fixed: Fixed) -> None:
    process = fixed.planexec.started("status", cwd=fixed.tree)
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(60) in (0, 141)


def test_a_journal_that_is_not_ours(planexec: CommandLine, tree: Path) -> None:
    folder = tree / ".git" / "planexec"
    folder.mkdir()
    (folder / "journal.db").write_bytes(b"this is not a database, but long enough to be taken for one" * 20)
    done = planexec("status", cwd=tree)
    done.refused(5, "journal")
