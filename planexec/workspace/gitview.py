"""What git says about a candidate, and the git folder that executed code sees.

Patch text, whitespace check and status come from git itself, in a tiny repository that holds only the changed
files and in which git runs inside the sandbox: neither the user's repository nor a tree in which code was executed
is ever looked at, and no attribute or configuration of the project has a say.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from planexec.core.errors import EnvironmentFailure
from planexec.journal.artifacts import ArtifactStore
from planexec.sandbox.interface import MIB, Command, Limits, Mount, Sandbox
from planexec.workspace.copies import write_changes
from planexec.workspace.entries import LINK, Change
from planexec.workspace.gitdir import fill
from planexec.workspace.repository import Repository

_SYSTEM = Path("/usr")
LARGEST = 64 * MIB  # bytes of one output of git
# Bytes stay bytes, whatever the project's own attributes say; whether a file is text is seen from its content.
_ATTRIBUTES = "* -text -ident -filter !eol !working-tree-encoding !diff !merge !whitespace\n"
_DIFF = "git diff --cached --no-ext-diff --no-textconv --no-renames --no-color --src-prefix=a/ --dst-prefix=b/"
# Both sides stand in folders of their own; git sees first the one, then the other as its work tree.
_SCRIPT = f"""
set -eu
export GIT_DIR="$1/git" GIT_WORK_TREE="$1/before"
cd "$GIT_WORK_TREE"
git init -q --template= --object-format="$2"
git add -A -f
git commit -q --no-verify --allow-empty -m base
export GIT_WORK_TREE="$1/after"
cd "$GIT_WORK_TREE"
git status --short -z --untracked-files=all --ignored=matching --no-renames > "$1/out/status"
git add -A -f
{_DIFF} --binary --full-index HEAD > "$1/out/patch"
{_DIFF} --numstat -z HEAD > "$1/out/counts"
{_DIFF} --check HEAD > "$1/out/check" || test $? -eq 2
"""
_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.excludesFile": os.devnull,
    "core.attributesFile": os.devnull,
    "core.autocrlf": "false",
    "core.bare": "false",
    "core.fileMode": "true",
    "core.symlinks": "true",
    "core.ignoreCase": "false",
    "commit.gpgSign": "false",
    "gc.auto": "0",
    "init.defaultBranch": "base",
    "safe.directory": "*",
}
_ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_AUTHOR_NAME": "planexec",
    "GIT_AUTHOR_EMAIL": "planexec@localhost",
    "GIT_COMMITTER_NAME": "planexec",
    "GIT_COMMITTER_EMAIL": "planexec@localhost",
    "GIT_CONFIG_COUNT": str(len(_SETTINGS)),
    **{f"GIT_CONFIG_KEY_{number}": name for number, name in enumerate(_SETTINGS)},
    **{f"GIT_CONFIG_VALUE_{number}": value for number, value in enumerate(_SETTINGS.values())},
}


@dataclass(frozen=True)
class PatchView:
    """A candidate as git shows it.

    ``patch`` is a git patch with full binary parts; its bytes are ``patch.encode("utf-8", "surrogateescape")``.
    ``check_ok`` and ``check_output`` are of ``git diff --check``; ``status`` the lines of ``git status --short``
    with paths unquoted; ``files`` the changed paths; ``added`` and ``removed`` count lines of text.
    """

    patch: str
    check_ok: bool
    check_output: str
    status: list[str]
    files: list[str]
    added: int
    removed: int


def render(
    changes: Sequence[Change],
    store: ArtifactStore,
    sandbox: Sandbox,
    *,
    object_format: str = "sha1",
    largest: int = LARGEST,
) -> PatchView:
    """The view of ``changes``. No output of git may have more than ``largest`` bytes.

    Raises EnvironmentFailure when git cannot be run, a command of it fails, or an output is too large.
    """
    if not changes:
        return PatchView("", True, "", [], [], 0, 0)
    with tempfile.TemporaryDirectory(prefix="planexec-view-") as name:
        folder = Path(name).resolve()
        for part in ("git/info", "before", "after", "out"):
            (folder / part).mkdir(parents=True)
        before = [Change(change.path, None, change.before) for change in changes if change.before]
        after = [Change(change.path, None, change.after) for change in changes if change.after]
        write_changes(folder / "before", before, store)
        write_changes(folder / "after", after, store)
        (folder / "git" / "info" / "attributes").write_bytes(_attributes(changes, store))
        _run(folder, object_format, sandbox)
        names = ("status", "patch", "counts", "check")
        status, patch, counts, check = (_output(folder / "out" / part, largest) for part in names)
    rows = _numstat(counts)
    return PatchView(
        patch.decode("utf-8", "surrogateescape"),
        not check,
        check.decode("utf-8", "replace"),
        [os.fsdecode(line) for line in status.split(b"\0")[:-1]],
        [path for path, _, _ in rows],
        sum(added for _, added, _ in rows),
        sum(removed for _, _, removed in rows),
    )


def _run(folder: Path, object_format: str, sandbox: Sandbox) -> None:
    program = _git()
    command = Command(
        ("/bin/sh", "-c", _SCRIPT, "sh", str(folder), object_format),
        folder,
        (Mount(folder, folder, writable=True), *git_mounts()),
        {**_ENVIRONMENT, "HOME": str(folder), "PATH": f"{program.parent}:/usr/bin:/bin"},
        Limits(seconds=120),
    )
    result = sandbox.run(command)
    if result.exit_code != 0 or result.timed_out:
        lines = result.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit code {result.exit_code}"]
        raise EnvironmentFailure(f"git failed in the sandbox: {lines[-1]}", "Look at: planexec doctor.")


def _output(path: Path, largest: int) -> bytes:
    with path.open("rb") as stream:
        data = stream.read(largest + 1)
    if len(data) > largest:
        raise EnvironmentFailure("the patch is too large to be shown", "Keep large files out of the change.")
    return data


def _attributes(changes: Sequence[Change], store: ArtifactStore) -> bytes:
    """The attributes of the tiny repository: in files that had carriage returns before, they are no flaw."""
    lines = [_ATTRIBUTES.encode()]
    for change in changes:
        if change.before and change.before.mode != LINK and b"\r\n" in store.get(change.before.digest):
            lines.append(pattern(change.path) + b" whitespace=cr-at-eol\n")
    return b"".join(lines)


def pattern(path: str) -> bytes:
    """A pattern of gitattributes(5) that matches exactly this path: globs escaped, then quoted as in C."""
    literal = re.sub(rb"([\\*?\[\]!#])", rb"\\\1", b"/" + os.fsencode(path))
    quoted = b"".join(_quoted_byte(byte) for byte in literal)
    return b'"' + quoted + b'"'


def _quoted_byte(byte: int) -> bytes:
    if byte in b'"\\':
        return b"\\" + bytes((byte,))
    return bytes((byte,)) if 0x20 <= byte < 0x7F else b"\\%03o" % byte


def _numstat(output: bytes) -> list[tuple[str, int, int]]:
    """(path, lines added, lines removed); a binary file counts none."""
    rows = []
    for record in output.split(b"\0")[:-1]:
        added, removed, path = os.fsdecode(record).split("\t", 2)
        rows.append((path, _count(added), _count(removed)))
    return rows


def _count(text: str) -> int:
    return int(text) if text.isdigit() else 0


def git_mounts() -> list[Mount]:
    """What git needs inside a sandbox beyond the system's folders: its own, where it was installed elsewhere."""
    program = _git()
    return [] if program.is_relative_to(_SYSTEM) else [Mount(program.parent.parent, program.parent.parent)]


def _git() -> Path:
    found = shutil.which("git")
    if found is None:
        raise EnvironmentFailure("the program git was not found", "Install git and put it on PATH.")
    return Path(found) if Path(found).is_relative_to(_SYSTEM) else Path(found).resolve()


def synthesise(repository: Repository, folder: Path) -> list[Mount]:
    """Write a git folder for executed code into the new folder ``folder``; returns its mounts, in order.

    It stands read-only at ROOT/.git: a configuration of its own, a detached head, a copy of the index, the tags,
    the user's objects. The real one would show tokens, the journal and hidden tests, and makes no sense for
    linked work trees. Mount these after the tree.
    """
    place = repository.place
    carried = {name: value for name, value in repository.settings.items() if name != "core.excludesfile"}
    fill(folder, place, repository.head, carried)
    tags = repository.tags()
    (folder / "packed-refs").write_bytes(b"".join(os.fsencode(f"{tags[name]} {name}\n") for name in sorted(tags)))
    inside = place.root / ".git"
    mounts = [Mount(folder, inside)]
    for objects in object_folders(repository.objects):
        mounts.append(Mount(objects, objects))
    if repository.objects != inside / "objects":
        alternates = folder / "objects" / "info" / "alternates"
        alternates.write_bytes(os.fsencode(f"{repository.objects}\n"))
    return mounts


def object_folders(first: Path) -> list[Path]:
    """An object database and those that it borrows from (a clone made with --shared or --reference)."""
    found = [first]
    for folder in found:
        try:
            lines = (folder / "info" / "alternates").read_bytes().splitlines()
        except OSError:
            continue
        for line in lines:
            path = (folder / os.fsdecode(line)).resolve()
            # Only what is an object database: the file is the repository's, and must not open other folders.
            if path.name == "objects" and (path.parent / "HEAD").is_file() and path not in found:
                found.append(path)
    return found
