from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from planexec.core.errors import EnvironmentFailure
from planexec.workspace.gitdir import config_text
from planexec.workspace.repository import Repository

from .building import contents, fingerprint, git, make, write

FILES: dict[str, str | bytes] = {"a.py": "one\n", "d/b.py": "two\n", ".gitignore": "ignored/\n*.log\n"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make(tmp_path / "r", FILES)


def test_what_a_repository_knows(root: Path) -> None:
    repository = Repository.open(root / "d")
    assert repository.root == root
    assert repository.git_dir == repository.common_dir == root / ".git"
    assert repository.objects == root / ".git/objects"
    assert repository.index == root / ".git/index"
    assert repository.head == git(root, "rev-parse", "HEAD").strip()
    assert repository.object_format == "sha1"
    assert repository.tracked() == [".gitignore", "a.py", "d/b.py"]
    assert repository.dirty() == []


@pytest.mark.parametrize("kind", ["none", "bare", "empty", "gone"])
def test_what_is_no_repository_to_work_in_is_one_line(tmp_path: Path, kind: str) -> None:
    if kind in ("bare", "empty"):
        git(tmp_path, "init", "-q", *(["--bare"] if kind == "bare" else []))
    expected = {"none": "not in a git repo", "bare": "bare", "empty": "no commit yet", "gone": "No such file"}
    with pytest.raises(EnvironmentFailure, match=expected[kind]) as caught:
        Repository.open(tmp_path / "gone" if kind == "gone" else tmp_path)
    assert "\n" not in caught.value.message
    assert caught.value.hint


def test_a_broken_configuration_is_one_line(root: Path) -> None:
    (root / ".git/config").write_text("[core\nnonsense")
    with pytest.raises(EnvironmentFailure) as caught:
        Repository.open(root)
    assert "\n" not in caught.value.message


def test_an_unknown_repository_format_is_one_line(root: Path) -> None:
    (root / ".git/config").write_text("[core]\n\trepositoryformatversion = 99\n")
    with pytest.raises(EnvironmentFailure, match=r"git cannot read .*99") as caught:
        Repository.open(root)
    assert "\n" not in caught.value.message


def test_every_kind_of_dirt(root: Path) -> None:
    write(root, {"a.py": "changed\n", "new/file": "x", "staged": "x", "x.log": "ignored", "ignored/y": "ignored"})
    (root / "d/b.py").unlink()
    git(root, "add", "staged")
    (root / "empty").mkdir()
    assert Repository.open(root).dirty() == ["a.py", "d/b.py", "new/", "staged"]


def test_kinds_of_change(root: Path) -> None:
    (root / "a.py").chmod(0o755)
    (root / "d/b.py").unlink()
    (root / "d/b.py").symlink_to("../a.py")
    assert Repository.open(root).dirty() == ["a.py", "d/b.py"]


def test_a_staged_rename_names_both(root: Path) -> None:
    git(root, "mv", "a.py", "z.py")
    assert Repository.open(root).dirty() == ["a.py", "z.py"]


def test_a_conflict_is_dirty(root: Path) -> None:
    git(root, "checkout", "-q", "-b", "other")
    write(root, {"a.py": "other\n"})
    git(root, "commit", "-qam", "other")
    git(root, "checkout", "-q", "-")
    write(root, {"a.py": "mine\n"})
    git(root, "commit", "-qam", "mine")
    git(root, "merge", "-q", "other", check=False)
    assert Repository.open(root).dirty() == ["a.py"]


def test_a_file_that_was_only_touched_is_clean(root: Path) -> None:
    os.utime(root / "a.py", (1, 1))
    (root / "link").symlink_to("a.py")
    git(root, "add", "link")
    git(root, "commit", "-qm", "link")
    os.utime(root / "link", (1, 1), follow_symlinks=False)
    assert Repository.open(root).dirty() == []


def test_a_copied_repository_is_clean(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root, tmp_path / "copy")
    assert Repository.open(tmp_path / "copy").dirty() == []


def test_a_change_that_leaves_size_and_time_as_they_were_is_seen(root: Path) -> None:
    """Git looks into files that are as young as the index; we must, too, though our copy of it has no time."""
    written = (root / ".git/index").stat().st_mtime_ns
    os.utime(root / "a.py", ns=(written, written))
    git(root, "update-index", "--refresh")
    status = (root / "a.py").stat()
    os.utime(root / ".git/index", ns=(status.st_mtime_ns, status.st_mtime_ns))
    with (root / "a.py").open("r+b") as stream:
        stream.write(b"two\n")
    os.utime(root / "a.py", ns=(status.st_mtime_ns, status.st_mtime_ns))
    git(root, "config", "core.trustctime", "false")  # so that only the times that were set are looked at
    assert Repository.open(root).dirty() == ["a.py"]


def test_reading_leaves_no_trace(root: Path) -> None:
    os.utime(root / "a.py", (1, 1))  # an ordinary `git status` would write this to the index
    write(root, {"new": "x"})
    before = fingerprint(root)
    repository = Repository.open(root)
    repository.dirty()
    repository.tracked()
    repository.ignored()
    repository.log("a.py")
    repository.tags()
    repository.excluded(["a.py"])
    repository.filtered(["a.py"])
    assert fingerprint(root) == before


def test_a_split_index_and_its_shared_part_stay_as_they_are(root: Path) -> None:
    git(root, "update-index", "--split-index")
    write(root, {"c.py": "x"})
    git(root, "add", "c.py")
    shared = next((root / ".git").glob("sharedindex.*"))
    os.utime(shared, (1, 1))  # git freshens this file whenever it reads it
    before = fingerprint(root)
    assert Repository.open(root).dirty() == ["c.py"]
    assert Repository.open(root).tracked() == [".gitignore", "a.py", "c.py", "d/b.py"]
    assert fingerprint(root) == before


def test_line_endings_converted_by_git_are_clean(root: Path) -> None:
    git(root, "config", "core.autocrlf", "true")
    for name in ("a.py", "d/b.py", ".gitignore"):
        (root / name).unlink()
    git(root, "checkout", "-q", ".")
    assert (root / "a.py").read_bytes() == b"one\r\n"
    assert Repository.open(root).dirty() == []
    os.utime(root / "a.py", (1, 1))
    assert Repository.open(root).dirty() == []
    (root / "a.py").write_bytes(b"two\r\n")
    assert Repository.open(root).dirty() == ["a.py"]


def test_a_file_system_without_modes_is_clean(root: Path) -> None:
    git(root, "config", "core.fileMode", "false")
    for name in ("a.py", "d/b.py", ".gitignore"):
        (root / name).chmod(0o755)
    assert Repository.open(root).dirty() == []


def test_a_sparse_checkout_is_clean(root: Path) -> None:
    git(root, "sparse-checkout", "set", "--cone", "other")
    assert not (root / "d/b.py").exists()
    assert Repository.open(root).dirty() == []


def test_assume_unchanged_is_the_users_word(root: Path) -> None:
    git(root, "update-index", "--assume-unchanged", "a.py")
    write(root, {"a.py": "local"})
    assert Repository.open(root).dirty() == []


def test_a_filtered_file_is_clean_as_long_as_its_times_say_so(root: Path) -> None:
    git(root, "config", "filter.up.clean", "tr A-Z a-z")
    git(root, "config", "filter.up.smudge", "tr a-z A-Z")
    write(root, {".gitattributes": "*.up filter=up\n", "x.up": "SHOUT\n"})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "filtered")
    time.sleep(0.02)
    git(root, "update-index", "--force-write-index", check=False)
    git(root, "status")
    repository = Repository.open(root)
    assert git(root, "show", "HEAD:x.up") == "shout\n"
    assert repository.filtered(["x.up", "a.py", "not/there.up"]) == {"x.up", "not/there.up"}
    os.utime(root / ".git/index", (time.time() + 5, time.time() + 5))
    assert repository.dirty() == []


def test_a_linked_work_tree(root: Path, tmp_path: Path) -> None:
    git(root, "worktree", "add", "-q", "../linked")
    linked = Repository.open(tmp_path / "linked")
    assert linked.dirty() == []
    write(tmp_path / "linked", {"a.py": "x\n"})
    assert linked.dirty() == ["a.py"]
    assert Repository.open(root).dirty() == []
    assert linked.log()[0].subject == "first"


def test_a_detached_head(root: Path) -> None:
    git(root, "checkout", "-q", "--detach")
    assert Repository.open(root).dirty() == []


def test_a_submodule_is_looked_at_from_outside_only(root: Path, tmp_path: Path) -> None:
    part = make(tmp_path / "part", {"p": "x"})
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(part), "sub")
    git(root, "commit", "-qm", "sub")
    assert Repository.open(root).dirty() == []
    assert "sub" in Repository.open(root).tracked()
    git(root / "sub", "commit", "-q", "--allow-empty", "-m", "moved")
    assert Repository.open(root).dirty() == ["sub"]


def test_a_sha256_repository(tmp_path: Path) -> None:
    root = make(tmp_path / "r", FILES, "--object-format=sha256")
    repository = Repository.open(root)
    assert (repository.object_format, len(repository.head)) == ("sha256", 64)
    os.utime(root / "a.py", (1, 1))
    assert repository.dirty() == []
    write(root, {"a.py": "x"})
    assert repository.dirty() == ["a.py"]


ODD = [
    "with space",
    'quo"te',
    "new\nline",
    "tab\t",
    "uml\u00e4ut",
    "latin\udce4",
    ":(top)magic",
    "-dash",
    "*?[x]",
    "#!",
]


def test_odd_names(tmp_path: Path) -> None:
    root = make(tmp_path / "r odd '\" \u00e4", dict.fromkeys(ODD, "x"))
    repository = Repository.open(root)
    assert repository.dirty() == []
    assert repository.tracked() == sorted(ODD)
    for name in ODD:
        write(root, {name: "changed"})
        assert [entry.subject for entry in repository.log(name)] == ["first"]
    assert repository.dirty() == sorted(ODD)
    assert repository.filtered(ODD) == set()
    write(root, {".gitignore": "".join(f"/x{name}\n" for name in ("with space", ":(top)magic"))})
    names = [f"x{name}" for name in ODD]
    assert repository.excluded([*names, *ODD, ".gitignore"]) == {"xwith space", "x:(top)magic"}


def test_ignored_folders_are_one_entry(root: Path) -> None:
    write(root, {"ignored/a/b": "x", "ignored/c": "x", "x.log": "x", "d/y.log": "x", "other": "x"})
    repository = Repository.open(root)
    assert sorted(repository.ignored()) == ["d/y.log", "ignored/", "x.log"]
    assert repository.excluded(["ignored/new", "q.log", "a.py", "other"]) == {"ignored/new", "q.log"}
    assert repository.excluded([]) == set()


def test_exclude_rules_of_the_clone_and_of_the_user(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    write(tmp_path, {".gitconfig": "[core]\n\texcludesFile = ~/mine\n", "mine": "*.mine\n"})
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/exclude").write_text("*.clone\n")
    write(root, {"a.mine": "x", "b.clone": "x", "c": "x"})
    assert Repository.open(root).dirty() == ["c"]
    git(root, "config", "core.excludesFile", "/nowhere")  # the clone's own setting goes before the user's
    assert Repository.open(root).dirty() == ["a.mine", "c"]


def test_history(root: Path) -> None:
    write(root, {"a.py": "2\n"})
    git(root, "commit", "-qam", "second: \u00fc")
    log = Repository.open(root).log("a.py")
    assert [entry.subject for entry in log] == ["second: \u00fc", "first"]
    assert log[0].commit == git(root, "rev-parse", "HEAD").strip()
    assert log[0].author == "t@example.org"
    assert abs(log[0].at - time.time()) < 60
    assert [entry.subject for entry in Repository.open(root).log("d")] == ["first"]
    assert len(Repository.open(root).log(n=1)) == 1


def test_a_shallow_clone(root: Path, tmp_path: Path) -> None:
    git(root, "commit", "-q", "--allow-empty", "-m", "second")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{root}", "shallow")
    repository = Repository.open(tmp_path / "shallow")
    assert repository.dirty() == []
    assert [entry.subject for entry in repository.log()] == ["second"]


def test_a_repository_without_an_index(root: Path) -> None:
    (root / ".git/index").unlink()
    assert "a.py" in Repository.open(root).dirty()
    assert Repository.open(root).tracked() == []


def test_a_carried_setting_cannot_bring_others_along() -> None:
    text = config_text({"core.excludesfile": 'a"\n[core]\n\tfsmonitor = "evil\\'})
    assert [line for line in text.splitlines() if line.startswith("[")] == ["[core]", "[core]"]
    assert "\tfsmonitor" not in text.splitlines()


@pytest.fixture
def hostile(root: Path, tmp_path: Path) -> Path:
    """A repository whose configuration runs a program wherever git would run one."""
    trap = tmp_path / "trap"
    trap.write_text(f'#!/bin/sh\necho "$0 $*" >> {tmp_path}/executed\ncat\n')
    trap.chmod(0o755)
    (tmp_path / "hooks").mkdir()
    for hook in ("post-index-change", "reference-transaction", "fsmonitor-watchman", "post-checkout", "pre-auto-gc"):
        shutil.copy(trap, tmp_path / "hooks" / hook)
        shutil.copy(trap, root / ".git/hooks" / hook) if (root / ".git/hooks").is_dir() else None
    write(root, {".gitattributes": "* filter=evil diff=evil merge=evil ident\n", "more.py": "x\n"})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "hostile")
    git(root, "tag", "v1")
    settings = {
        "core.fsmonitor": trap,
        "core.hooksPath": tmp_path / "hooks",
        "core.pager": trap,
        "core.editor": trap,
        "core.sshCommand": trap,
        "core.askPass": trap,
        "core.alternateRefsCommand": trap,
        "core.worktree": "/",
        "filter.evil.clean": trap,
        "filter.evil.smudge": trap,
        "filter.evil.process": trap,
        "filter.evil.required": "true",
        "diff.evil.textconv": trap,
        "diff.evil.command": trap,
        "diff.external": trap,
        "merge.evil.driver": trap,
        "log.showSignature": "true",
        "gpg.program": trap,
        "credential.helper": trap,
        "alias.ls-files": f"!{trap}",
        "alias.rev-parse": f"!{trap}",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::{trap}",
        "remote.origin.uploadpack": trap,
        "protocol.ext.allow": "always",
        "protocol.allow": "always",
        "core.repositoryFormatVersion": "1",
        "submodule.recurse": "true",
        "status.submoduleSummary": "true",
    }
    for name, value in settings.items():
        git(root, "config", "--file", str(root / ".git/config"), name, str(value))
    (tmp_path / "executed").unlink(missing_ok=True)  # the commit above ran hooks
    return root


def executed(tmp_path: Path) -> str:
    """Which traps were run, and how."""
    path = tmp_path / "executed"
    return path.read_text() if path.exists() else ""


def test_the_trap_does_spring_for_an_ordinary_status(hostile: Path, tmp_path: Path) -> None:
    git(hostile, "config", "--file", str(hostile / ".git/config"), "--unset", "core.worktree")
    git(hostile, "status", check=False)
    assert "trap" in executed(tmp_path)


def test_a_hostile_configuration_executes_nothing(hostile: Path, tmp_path: Path) -> None:
    now = time.time() + 100
    for name in ("a.py", "d/b.py", "more.py"):
        os.utime(hostile / name, (now, now))  # racy files are where git runs filters for a mere comparison
    write(hostile, {"d/b.py": "changed\n", "untracked": "x"})
    shutil.rmtree(hostile / ".git/objects/pack", ignore_errors=True)
    repository = Repository.open(hostile)
    assert repository.dirty() == ["d/b.py", "untracked"]
    assert "a.py" in repository.tracked()
    repository.ignored()
    repository.excluded(["x"])
    repository.filtered(["x"])
    assert repository.log("a.py")
    assert list(repository.tags()) == ["refs/tags/v1"]
    assert executed(tmp_path) == ""


def test_missing_objects_are_not_fetched(hostile: Path, tmp_path: Path) -> None:
    tree = git(hostile, "--work-tree=.", "rev-parse", "HEAD^{tree}").strip()
    (hostile / ".git/objects" / tree[:2] / tree[2:]).unlink()
    (tmp_path / "executed").unlink(missing_ok=True)
    with pytest.raises(EnvironmentFailure, match="git diff-index failed") as caught:
        Repository.open(hostile).dirty()
    assert "\n" not in caught.value.message
    assert executed(tmp_path) == ""


def test_an_embedded_bare_repository_and_a_hostile_submodule_execute_nothing(root: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/executed\n")
    trap.chmod(0o755)
    part = make(tmp_path / "part", {"p": "x"})
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(part), "sub")
    git(root, "commit", "-qm", "sub")
    git(root / "sub", "config", "core.fsmonitor", str(trap))
    git(root, "init", "-q", "--bare", "embedded")
    git(root / "embedded", "config", "core.fsmonitor", str(trap))
    git(root / "embedded", "config", "core.bare", "false")
    write(root, {"sub/p": "changed"})
    (tmp_path / "executed").unlink(missing_ok=True)
    assert Repository.open(root).dirty() == ["embedded/"]
    with pytest.raises(EnvironmentFailure, match="bare"):
        Repository.open(root / "embedded")
    assert executed(tmp_path) == ""
    assert contents(root)["sub/p"] == b"changed"


def test_a_repository_of_another_user(root: Path) -> None:
    """Only root can make one; for others this is an ordinary reading."""
    if os.getuid() == 0:
        for path in [root, *root.rglob("*")]:
            os.lchown(path, 12345, 12345)
    assert Repository.open(root).dirty() == []


def test_a_virtual_environment_that_nobody_ignores_is_no_work_of_the_user(root: Path) -> None:
    write(root, {".venv/pyvenv.cfg": "home = /usr/bin\n", ".venv/bin/python": "", "d/env/pyvenv.cfg": ""})
    assert Repository.open(root).dirty() == []
    write(root, {"new/a.py": ""})
    assert Repository.open(root).dirty() == ["new/"]
