from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planexec.core.errors import EnvironmentFailure
from planexec.journal.artifacts import ArtifactStore
from planexec.sandbox.choose import choose
from planexec.sandbox.interface import Command, Mount, Sandbox
from planexec.workspace.entries import LINK, Change
from planexec.workspace.gitview import PatchView, git_mounts, object_folders, pattern, render, synthesise
from planexec.workspace.manifest import changes, scan
from planexec.workspace.repository import Repository

from .building import ENVIRONMENT, contents, entry_of, git, make, write


@pytest.fixture(params=["bubblewrap", "landlock", "none"])
def any_sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return choose(request.param)


@pytest.fixture
def sandbox() -> Sandbox:
    return choose("bubblewrap")


def difference(
    tmp_path: Path, store: ArtifactStore, before: dict[str, str | bytes], after: dict[str, str | bytes]
) -> list[Change]:
    for name, files in (("before", before), ("after", after)):
        (tmp_path / name).mkdir()
        write(tmp_path / name, files)
    return changes(scan(tmp_path / "before", store), scan(tmp_path / "after", store))


def git_apply(root: Path, view: PatchView) -> None:
    patch = view.patch.encode("utf-8", "surrogateescape")
    done = subprocess.run(["git", "apply"], cwd=root, input=patch, env=ENVIRONMENT, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


BEFORE: dict[str, str | bytes] = {
    "edit.py": "one\ntwo\nthree\n",
    "gone.py": "x\n",
    "bin": bytes(range(256)),
    "same": "s",
    "latin": b"caf\xe9\n",
    "crlf": b"one\r\ntwo\r\n",
    "no-newline": "end",
    "with space/q\"uo'te\n": "x\n",
}
AFTER: dict[str, str | bytes] = {
    "edit.py": "one\n2\nthree\n",
    "bin": bytes(reversed(range(256))),
    "same": "s",
    "latin": b"caf\xe9s\n",
    "crlf": b"one\r\n2\r\n",
    "no-newline": "END",
    "with space/q\"uo'te\n": "y\n",
    "n\u00e9w/file": "n\n",
    "raw\udcff": "r\n",
}


def test_the_view_of_everything_applies_to_the_users_tree(
    tmp_path: Path, store: ArtifactStore, any_sandbox: Sandbox
) -> None:
    wanted = difference(tmp_path, store, BEFORE, AFTER)
    view = render(wanted, store, any_sandbox)
    assert view.files == sorted((change.path for change in wanted), key=os.fsencode)
    assert view.status == sorted(view.status, key=lambda line: (line.startswith("??"), os.fsencode(line[3:])))
    assert {line[3:]: line[:2] for line in view.status} == {
        "edit.py": " M",
        "gone.py": " D",
        "bin": " M",
        "latin": " M",
        "crlf": " M",
        "no-newline": " M",
        "with space/q\"uo'te\n": " M",
        "n\u00e9w/file": "??",
        "raw\udcff": "??",
    }
    assert (view.check_ok, view.check_output) == (True, "")
    assert (view.added, view.removed) == (7, 6)
    assert "-two\n+2\n" in view.patch
    assert "GIT binary patch" in view.patch
    root = make(tmp_path / "user", BEFORE)
    git_apply(root, view)
    assert contents(root) == {name: v.encode() if isinstance(v, str) else v for name, v in AFTER.items()}


def test_no_change_needs_no_git(store: ArtifactStore, sandbox: Sandbox) -> None:
    assert render([], store, sandbox) == PatchView("", True, "", [], [], 0, 0)


@pytest.mark.parametrize(
    ("before", "after", "complaint"),
    [
        ("x\n", "x \n", "a.py:1: trailing whitespace."),
        ("x\n", "x\n\n\n", "a.py:2: new blank line at EOF."),
        ("x\n", "\t  x\n ", "trailing whitespace"),
        ("x\n", "<<<<<<< HEAD\nx\n", "leftover conflict marker"),
        ("x\n", "x\r\n", "trailing whitespace"),
        ("x\r\n", "x \r\n", "trailing whitespace"),
        ("x\r\ny\r\n", "x\r\nz\r\n", ""),
        ("x \ny\n", "x \nz\n", ""),
    ],
)
def test_what_git_complains_about(
    tmp_path: Path, store: ArtifactStore, sandbox: Sandbox, before: str, after: str, complaint: str
) -> None:
    view = render(difference(tmp_path, store, {"a.py": before}, {"a.py": after}), store, sandbox)
    assert complaint in view.check_output
    assert view.check_ok == (not complaint)


def test_attributes_and_ignore_rules_of_the_project_have_no_say(
    tmp_path: Path, store: ArtifactStore, sandbox: Sandbox
) -> None:
    rules = {".gitattributes": "* -diff binary eol=crlf filter=lfs ident -whitespace\n", ".gitignore": "*.py\n"}
    after = {"a.py": "$Id$ \n", **rules, "b.py": "new\n"}
    view = render(difference(tmp_path, store, {"a.py": "x\n", ".gitattributes": "x\n"}, dict(after)), store, sandbox)
    assert "+$Id$ \n" in view.patch
    assert "a.py:1: trailing whitespace." in view.check_output
    assert view.files == [".gitattributes", ".gitignore", "a.py", "b.py"]
    assert [line[3:] for line in view.status] == [".gitattributes", "a.py", ".gitignore", "b.py"]


def test_modes_links_and_folders_that_become_files(tmp_path: Path, store: ArtifactStore, sandbox: Sandbox) -> None:
    for data in (b"#!", b"target", b"x"):
        store.put(data)
    view = render(
        [
            Change("d", None, entry_of(b"x")),
            Change("d/in", entry_of(b"x"), None),
            Change("link", None, entry_of(b"target", LINK)),
            Change("run", entry_of(b"#!"), entry_of(b"#!", 0o100755)),
        ],
        store,
        sandbox,
    )
    assert "old mode 100644\nnew mode 100755\n" in view.patch
    assert "new file mode 120000\n" in view.patch
    assert "deleted file mode 100644\n" in view.patch
    assert view.files == ["d", "d/in", "link", "run"]


def test_a_sha256_repository_gets_its_own_ids(tmp_path: Path, store: ArtifactStore, sandbox: Sandbox) -> None:
    wanted = difference(tmp_path, store, {"a": "x\n"}, {"a": "y\n"})
    view = render(wanted, store, sandbox, object_format="sha256")
    root = make(tmp_path / "user", {"a": "x\n"}, "--object-format=sha256")
    assert git(root, "rev-parse", "HEAD:a").strip() in view.patch
    git_apply(root, view)


def test_a_failing_git_is_one_line(tmp_path: Path, store: ArtifactStore, sandbox: Sandbox) -> None:
    wanted = difference(tmp_path, store, {"a": "x\n"}, {"a": "y\n"})
    with pytest.raises(EnvironmentFailure, match="git failed in the sandbox: fatal: unknown hash") as caught:
        render(wanted, store, sandbox, object_format="md5")
    assert "\n" not in caught.value.message


def test_a_patch_beyond_all_bounds_is_refused(tmp_path: Path, store: ArtifactStore, sandbox: Sandbox) -> None:
    wanted = difference(tmp_path, store, {}, {"a": "x" * 200})
    with pytest.raises(EnvironmentFailure, match="too large"):
        render(wanted, store, sandbox, largest=100)


def test_without_git_it_says_what_to_install(
    tmp_path: Path, store: ArtifactStore, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = difference(tmp_path, store, {}, {"a": "x"})
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentFailure, match="git was not found"):
        render(wanted, store, sandbox)


def test_a_git_outside_of_the_system_is_mounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tools/bin").mkdir(parents=True)
    shutil.copy("/bin/sh", tmp_path / "tools/bin/git")
    assert git_mounts() == []
    monkeypatch.setenv("PATH", str(tmp_path / "tools/bin"))
    assert git_mounts() == [Mount(tmp_path.resolve() / "tools", tmp_path.resolve() / "tools")]


@given(st.text(st.characters(exclude_characters="/\0"), min_size=1, max_size=8).filter(lambda n: n not in (".", "..")))
def test_apattern_is_one_line_of_ascii(name: str) -> None:
    try:
        found = pattern(name)
    except UnicodeEncodeError:
        return
    assert found.isascii()
    assert b"\n" not in found
    assert found.startswith(b'"/')


def test_patterns_match_their_file_and_no_other(tmp_path: Path, store: ArtifactStore, sandbox: Sandbox) -> None:
    """Each file with carriage returns is allowed them, whatever its name; a neighbour that a glob would hit is not."""
    names = ["*.py", "[ab]", "?", "!not", "#hash", 'q"', "back\\slash", "sp ace", "\u00fc", "new\nline", "d/*"]
    neighbours: dict[str, str | bytes] = dict.fromkeys(("a.py", "a", "d/y"), b"x\n")
    before = dict.fromkeys(names, b"x\r\n") | neighbours
    after: dict[str, str | bytes] = dict.fromkeys(before, b"y\r\n")
    view = render(difference(tmp_path, store, before, after), store, sandbox)
    complaints = [line.partition(":")[0] for line in view.check_output.splitlines() if "trailing" in line]
    assert sorted(complaints) == ["a", "a.py", "d/y"]


def inside(sandbox: Sandbox, root: Path, mounts: list[Mount], program: str) -> tuple[int, str]:
    command = Command(("/bin/sh", "-c", program), root, mounts, {"PATH": "/usr/bin:/bin", "LC_ALL": "C"})
    result = sandbox.run(command)
    return result.exit_code, (result.stdout + result.stderr).decode("utf-8", "replace")


def tree_for(root: Path, tmp_path: Path) -> Path:
    shutil.copytree(root, tmp_path / "tree", ignore=shutil.ignore_patterns(".git"))
    (tmp_path / "tree/.git").mkdir()
    return tmp_path / "tree"


def test_executed_code_sees_a_working_git_without_the_users_secrets(tmp_path: Path, sandbox: Sandbox) -> None:
    root = make(tmp_path / "r", {"a.py": "x\n"})
    git(root, "tag", "v1.2")
    git(root, "commit", "-q", "--allow-empty", "-m", "second")
    git(root, "config", "http.extraHeader", "Authorization: secret-token")
    git(root, "config", "core.fsmonitor", "/bin/false")
    write(root, {".git/planexec/journal.db": "secret", ".git/hooks/pre-commit": "secret"})
    tree = tree_for(root, tmp_path)
    mounts = synthesise(Repository.open(root), tmp_path / "fake")
    mounts.insert(0, Mount(tree, root, writable=True))
    assert inside(
        sandbox, root, mounts, "git status --short && git describe --tags && git log --format=%s && git fsck"
    ) == (
        0,
        "v1.2-1-g" + git(root, "rev-parse", "--short", "HEAD") + "second\nfirst\n",
    )
    assert (
        inside(sandbox, root, mounts, "grep -r secret .git; find .git -name '*journal*'; ls .git/hooks 2>&-")[1] == ""
    )
    code, output = inside(sandbox, root, mounts, "echo y > a.py; git status --short; git commit -qam x || echo no")
    assert code == 0
    assert output.startswith(" M a.py\n")
    assert "Read-only file system" in output
    assert " M a.py\nno\n" in output


def test_a_linked_work_tree_works_inside(tmp_path: Path, sandbox: Sandbox) -> None:
    root = make(tmp_path / "r", {"a.py": "x\n"}, "--object-format=sha256")
    git(root, "worktree", "add", "-q", "../linked")
    linked = (tmp_path / "linked").resolve()
    mounts = synthesise(Repository.open(linked), tmp_path / "fake")
    mounts.insert(0, Mount(tree_for(linked, tmp_path), linked, writable=True))
    assert inside(sandbox, linked, mounts, "git status --short && git log --format=%s") == (0, "first\n")


def test_borrowed_objects_are_there_but_no_other_folder(tmp_path: Path, sandbox: Sandbox) -> None:
    origin = make(tmp_path / "origin", {"a.py": "x\n"})
    git(tmp_path, "clone", "-q", "--shared", "origin", "r")
    root = (tmp_path / "r").resolve()
    (tmp_path / "private").mkdir()
    with (root / ".git/objects/info/alternates").open("a") as stream:
        stream.write(f"{tmp_path}/private\n../../gone/objects\n")
    assert object_folders(root / ".git/objects") == [root / ".git/objects", origin / ".git/objects"]
    mounts = synthesise(Repository.open(root), tmp_path / "fake")
    assert Mount(origin / ".git/objects", origin / ".git/objects") in mounts
    mounts.insert(0, Mount(tree_for(root, tmp_path), root, writable=True))
    code, output = inside(sandbox, root, mounts, "git log --format=%s 2>/dev/null")
    assert (code, output) == (0, "first\n")
