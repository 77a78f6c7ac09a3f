"""A model's key, wherever it stands: in nothing that planexec keeps, prints, sends as text, or lets the tests see."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from planexec.llm.scripted import ScriptedServer, failed

from .conftest import FAILING, CommandLine, Done, commit, git, shop
from .test_by_model import act, plan, planned
from .test_mechanisms import PATCH, REPRODUCE

KEY = "planted-Key/with+signs=and-0123456789"
NOSY = """
import os, pathlib

def test_total():
    seen = [f"{name}={value}" for name, value in os.environ.items()]
    for path in pathlib.Path.cwd().rglob("*"):
        if path.is_file() and path.stat().st_size < 9999:
            seen.append(f"{path}: {path.read_bytes()!r}")
    for path in pathlib.Path("/proc").glob("*/environ"):
        try:
            seen.append(f"{path}: {path.read_bytes()!r}")
        except OSError:
            pass
    print("\\n".join(seen))
    assert "planted" + "-Key" not in "\\n".join(seen)
    from shop.basket import total
    assert total([2, 3], 4) == 9
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The small repository with the key in an ignored file and in an ignored folder, and a test that tells all."""
    root = shop(tmp_path / "work")
    (root / "tests" / "test_basket.py").write_text(NOSY)
    with (root / ".gitignore").open("a") as ignored:
        ignored.write(".env\n/local/\n")
    commit(root)
    (root / ".env").write_text(f"OPENAI_API_KEY={KEY}\n")
    (root / "local" / "deep").mkdir(parents=True)
    (root / "local" / "deep" / "settings.ini").write_text(f"[model]\nkey = {KEY}\n")
    (root / "local" / "harmless.txt").write_text("nothing\n")
    return root


def places(folder: Path, *beside: Path) -> Iterator[Path]:
    """Files in which the key stands, other than where it was planted."""
    for path in folder.rglob("*"):
        if path.is_file() and path not in beside and KEY.encode() in path.read_bytes():
            yield path


def planted(planexec: CommandLine, where: str) -> list[Path]:
    """Give planexec the key by its environment or by the user's configuration; where it stands then."""
    if where == "environment":
        planexec.environment["PLANEXEC_API_KEY"] = KEY
        return []
    file = planexec.cache / "planexec" / "config.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"model: {{key: '{KEY}'}}\n")
    return [file]


@pytest.mark.parametrize("where", ["environment", "configuration"])
def test_the_key_is_in_nothing_that_is_kept_shown_or_run(planexec: CommandLine, tree: Path, where: str) -> None:
    own = [*planted(planexec, where), tree / ".env", tree / "local" / "deep" / "settings.ini"]
    verify = planned(
        "judge", "patch-by-model", ["tests", "diff_scope"], {"tests": "check_passed", "diff_scope": "check_passed"}
    )
    answers = [
        f'{{"scope": "{KEY}", "steps": []}}',  # what a model says is kept too
        plan(REPRODUCE, PATCH, verify),
        act("edit", path="shop/basket.py", old="sum(prices) - shipping", new="sum(prices) + shipping"),
        act("run_tests"),
        act("finish"),
    ]
    recording = tree.parent / "recording.jsonl"
    with ScriptedServer(answers) as server:
        models = ["--planner", "model", "--executor", "model", "--model", "m", "--base-url", server.url]
        done = planexec("fix", FAILING, "--repo", tree, "--events", "--record", recording, *models)
        requests = str(server.requests)
    assert done.code == 0, done.err + done.out[-3000:]
    assert "left out, because the model's key stands in it: .env, local/deep/settings.ini" in done.err
    shown: list[Done] = [done, planexec("status", "--repo", tree, "--json"), planexec("show", "--repo", tree)]
    with ScriptedServer([failed(401, f"the key {KEY} is wrong")]) as server:
        refused = planexec(
            "doctor", "--repo", tree, "--no-tests", "--model", "--model-name", "m", "--base-url", server.url
        )
    assert refused.code == 5 and "refuses the key" in refused.out
    assert [each for each in (*shown, refused) if KEY in each.out + each.err] == []
    assert KEY not in requests
    assert recording.is_file() and list(places(tree.parent, *own)) == []
    assert (tree / ".env").read_text() == f"OPENAI_API_KEY={KEY}\n"  # the user's own files are as they were


def test_a_key_that_git_tracks_is_refused(planexec: CommandLine, tree: Path, tmp_path: Path) -> None:
    planexec.environment["PLANEXEC_API_KEY"] = KEY
    options = ["--model", "m", "--base-url", "http://127.0.0.1:9/v1"]
    git(tree, "add", "--force", ".env")
    git(tree, "commit", "--quiet", "--message", "by mistake")
    planexec("fix", FAILING, "--repo", tree, *options).refused(2, "key stands in '.env', which git tracks", "new key")
    git(tree, "rm", "--quiet", "--cached", ".env")
    git(tree, "commit", "--quiet", "--message", "taken out")
    contract = tmp_path / "contract.yaml"
    contract.write_text(f"goal: use {KEY}\nsuccess: {{reproduction: {{tests: ['{FAILING}']}}}}\n")
    planexec("run", contract, "--repo", tree, *options).refused(2, "key stands in the contract")
