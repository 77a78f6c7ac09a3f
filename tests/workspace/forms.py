"""Repositories in the forms in which people have them: each is built in a new folder and returns its work tree.

In all of them ``a.py`` is tracked and clean, so that a patch can be about it.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from .building import git, make, write
from .content_forms import (
    crlf,
    eol_attribute,
    filtered,
    ident_attribute,
    lfs_content,
    lfs_pointers,
    without_modes,
    without_symlinks,
    working_tree_encoding,
)
from .form_basis import FILES, Form, configured, plain


def linked(folder: Path) -> Path:
    """A linked work tree."""
    git(plain(folder), "worktree", "add", "-q", str(folder / "linked"))
    return folder / "linked"


def linked_relative(folder: Path) -> Path:
    """A linked work tree whose ``.git`` file has a relative path."""
    root = linked(folder)
    (root / ".git").write_text("gitdir: ../r/.git/worktrees/linked\n")
    return root


def linked_sparse(folder: Path) -> Path:
    """A linked work tree with settings of its own."""
    root = linked(folder)
    git(root, "sparse-checkout", "set", "d/e")
    return root


def _super(folder: Path) -> Path:
    library = make(folder / "library", FILES)
    root = plain(folder)
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "lib")
    git(root, "commit", "-qm", "with a submodule")
    return root


def superproject(folder: Path) -> Path:
    """A repository with a submodule."""
    return _super(folder)


def superproject_moved_submodule(folder: Path) -> Path:
    """A repository whose submodule is on another commit than is recorded."""
    root = _super(folder)
    git(root / "lib", "commit", "-q", "--allow-empty", "-m", "next")
    return root


def submodule(folder: Path) -> Path:
    """The submodule itself."""
    return _super(folder) / "lib"


def submodule_not_initialised(folder: Path) -> Path:
    """A clone without its submodules."""
    git(_super(folder).parent, "clone", "-q", str(folder / "r"), "clone")
    return folder / "clone"


def clone(*options: str) -> Form:
    """A clone made with options."""

    def build(folder: Path) -> Path:
        origin = plain(folder)
        write(origin, {"a.py": "one = 11\n"})
        git(origin, "commit", "-qam", "second")
        git(origin, "config", "uploadpack.allowFilter", "true")
        git(folder, "clone", "-q", *options, f"file://{origin}", "clone")
        return folder / "clone"

    return build


def shared_clone(folder: Path) -> Path:
    """A clone that borrows its objects."""
    git(plain(folder).parent, "clone", "-q", "--shared", "r", "clone")
    return folder / "clone"


def sparse(*arguments: str) -> Form:
    """A sparse checkout."""

    def build(folder: Path) -> Path:
        root = plain(folder)
        git(root, "sparse-checkout", "set", *arguments)
        return root

    return build


def split_index(folder: Path) -> Path:
    """An index in two parts."""
    root = configured("core.splitIndex=true")(folder)
    git(root, "update-index", "--split-index")
    return root


def index_version_4(folder: Path) -> Path:
    """An index with compressed paths."""
    root = plain(folder)
    git(root, "update-index", "--index-version", "4")
    return root


def sha256(folder: Path) -> Path:
    """Objects named by SHA-256."""
    return plain(folder, "--object-format=sha256")


def detached(folder: Path) -> Path:
    """A detached head."""
    root = plain(folder)
    git(root, "checkout", "-q", "--detach")
    return root


def packed_refs(folder: Path) -> Path:
    """Everything packed, no loose reference."""
    root = plain(folder)
    git(root, "gc", "-q")
    return root


def _diverged(folder: Path, path: str) -> Path:
    root = plain(folder)
    git(root, "checkout", "-q", "-b", "other")
    write(root, {path: "theirs\n"})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "theirs")
    git(root, "checkout", "-q", "-")
    write(root, {path: "ours\n"})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "ours")
    return root


def unfinished(*command: str) -> Form:
    """A merge, rebase or cherry-pick that stopped at a conflict in ``d/b.py``."""

    def build(folder: Path) -> Path:
        root = _diverged(folder, "d/b.py")
        git(root, *command, "other", check=False)
        return root

    return build


def merge_without_conflict(folder: Path) -> Path:
    """A merge that was stopped before its commit; the tree is what will be committed."""
    root = plain(folder)
    git(root, "checkout", "-q", "-b", "other")
    git(root, "commit", "-q", "--allow-empty", "-m", "theirs")
    git(root, "checkout", "-q", "-")
    git(root, "commit", "-q", "--allow-empty", "-m", "ours")
    git(root, "merge", "-q", "--no-commit", "other")
    return root


def both_added(folder: Path) -> Path:
    """Unmerged entries of a path that has no common ancestor."""
    root = _diverged(folder, "new.py")
    git(root, "merge", "-q", "other", check=False)
    return root


def intent_to_add(folder: Path) -> Path:
    """``git add -N``."""
    root = plain(folder)
    write(root, {"new.py": "new\n"})
    git(root, "add", "-N", "new.py")
    return root


def assume_unchanged(folder: Path) -> Path:
    """A changed file that git was told not to look at."""
    root = plain(folder)
    git(root, "update-index", "--assume-unchanged", "d/b.py")
    write(root, {"d/b.py": "changed\n"})
    return root


def skip_worktree(folder: Path) -> Path:
    """A file that was taken away and that git was told not to miss."""
    root = plain(folder)
    git(root, "update-index", "--skip-worktree", "d/b.py")
    (root / "d/b.py").unlink()
    return root


def staged_rename(folder: Path) -> Path:
    """A rename that is not committed."""
    root = plain(folder)
    git(root, "mv", "d/b.py", "d/z.py")
    return root


def case_only(folder: Path) -> Path:
    """Names that differ in case only."""
    root = plain(folder)
    write(root, {"A.py": "upper\n", "D/b.py": "upper\n"})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "case")
    return root


ODD_NAMES = (
    "with space.py",
    "q\"uo'te.py",
    "new\nline.py",
    "tab\there.py",
    "back\\slash.py",
    "caf\u00e9.py",
    "cafe\u0301.py",
    "\u65e5\u672c/\u8a9e.py",
    "raw\udcff.py",
    "-dash.py",
    ":(glob)*.py",
    "[a-z].py",
    "!bang.py",
    "#hash.py",
    " lead.py",
    "trail .py ",
    "a -> b.py",
)


def odd_names(folder: Path) -> Path:
    """Names with spaces, quotes, newlines, tabs, two forms of one letter, and bytes that are no UTF-8."""
    return make(folder / "r", {**FILES, **dict.fromkeys(ODD_NAMES, "odd = 1\n")})


def odd_folder(folder: Path) -> Path:
    """A repository in a folder with such a name."""
    return make(folder / 'it\'s \u00fc "r"\udcff\n\\x $HOME [1]', FILES)


def through_a_link(folder: Path) -> Path:
    """A repository that is reached through a link."""
    (folder / "link").symlink_to(plain(folder), target_is_directory=True)
    return folder / "link"


def links(folder: Path) -> Path:
    """Links in the tree: dangling, absolute, to a folder outside, to themselves."""
    (folder / "outside").mkdir()
    (folder / "outside/secret").write_text("x")
    root = plain(folder)
    for name, target in {
        "dangling": "nowhere", "absolute": "/etc/hostname", "up": "../outside", "self": "self", "sub": "d",
        "raw\udcff": "to\udcfe",
    }.items():  # fmt: skip
        (root / name).symlink_to(target)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "links")
    return root


def special_files(folder: Path) -> Path:
    """A named pipe in the tree, which git does not see."""
    root = plain(folder)
    os.mkfifo(root / "pipe")
    return root


def pipe_for_file(folder: Path) -> Path:
    """A named pipe in the place of a tracked file."""
    root = plain(folder)
    (root / "d/b.py").unlink()
    os.mkfifo(root / "d/b.py")
    return root


def nested(folder: Path) -> Path:
    """A repository within, which is no submodule."""
    root = plain(folder)
    make(root / "inner", FILES)
    return root


def nested_recorded(folder: Path) -> Path:
    """A repository within, recorded as a commit without ``.gitmodules``."""
    root = nested(folder)
    git(root, "add", "inner")
    git(root, "commit", "-qm", "embedded")
    return root


def folder_for_file(folder: Path) -> Path:
    """A folder in the place of a tracked file."""
    root = plain(folder)
    (root / "d/b.py").unlink()
    write(root, {"d/b.py/x": "x"})
    return root


def no_index(folder: Path) -> Path:
    """The index was removed: all is deleted and untracked."""
    root = plain(folder)
    (root / ".git/index").unlink()
    return root


def separate_git_dir(folder: Path) -> Path:
    """A git folder that lies elsewhere."""
    return plain(folder, f"--separate-git-dir={folder / 'elsewhere'}")


def head_is_a_link(folder: Path) -> Path:
    """``HEAD`` as a symbolic link, as very old gits wrote it."""
    root = plain(folder)
    branch = git(root, "symbolic-ref", "HEAD").strip()
    (root / ".git/HEAD").unlink()
    (root / ".git/HEAD").symlink_to(branch)
    return root


def replaced_commit(folder: Path) -> Path:
    """A commit that is replaced by another one."""
    root = plain(folder)
    head = git(root, "rev-parse", "HEAD").strip()
    other = git(root, "commit-tree", "-m", "other", git(root, "write-tree").strip()).strip()
    git(root, "replace", head, other)
    return root


def read_only_folders(folder: Path) -> Path:
    """An ignored cache folder without any rights."""
    root = plain(folder)
    write(root, {".git/info/exclude": "shut/\n", "shut/x": "x"})
    (root / "shut").chmod(0)
    return root


def moved(folder: Path) -> Path:
    """A repository that was copied: every inode and time is new."""
    shutil.copytree(plain(folder), folder / "copy", symlinks=True)
    return folder / "copy"


FORMS: dict[str, Form] = {
    "plain": configured(),
    "linked work tree": linked,
    "linked, relative": linked_relative,
    "linked, sparse": linked_sparse,
    "superproject": superproject,
    "superproject, moved submodule": superproject_moved_submodule,
    "submodule": submodule,
    "submodule not initialised": submodule_not_initialised,
    "shallow": clone("--depth=1"),
    "blobless": clone("--filter=blob:none"),
    "treeless": clone("--filter=tree:0"),
    "shared": shared_clone,
    "sparse, cone": sparse("--cone", "d/e"),
    "sparse, index": sparse("--cone", "--sparse-index", "d/e"),
    "sparse, patterns": sparse("--no-cone", "/*", "!b.py"),
    "LFS pointers": lfs_pointers,
    "filter": filtered,
    "autocrlf true": crlf("true"),
    "autocrlf input": crlf("input"),
    "eol attribute": eol_attribute,
    "encoding attribute": working_tree_encoding,
    "ident attribute": ident_attribute,
    "LFS content": lfs_content,
    "no modes": without_modes,
    "no symlinks": without_symlinks,
    "split index": split_index,
    "index version 4": index_version_4,
    "SHA-256": sha256,
    "untracked cache": configured("core.untrackedCache=true"),
    "fsmonitor": configured("core.fsmonitor=true"),
    "many files": configured("feature.manyFiles=true", "index.skipHash=true"),
    "worktree config": configured("extensions.worktreeConfig=true", "core.repositoryFormatVersion=1"),
    "detached": detached,
    "packed": packed_refs,
    "merge": unfinished("merge", "-q"),
    "rebase": unfinished("rebase", "-q"),
    "cherry-pick": unfinished("cherry-pick"),
    "merge without conflict": merge_without_conflict,
    "both added": both_added,
    "intent to add": intent_to_add,
    "assume unchanged": assume_unchanged,
    "skip worktree": skip_worktree,
    "staged rename": staged_rename,
    "case only": case_only,
    "odd names": odd_names,
    "odd folder": odd_folder,
    "through a link": through_a_link,
    "links": links,
    "pipe": special_files,
    "pipe for a file": pipe_for_file,
    "nested": nested,
    "nested, recorded": nested_recorded,
    "folder for a file": folder_for_file,
    "no index": no_index,
    "separate git folder": separate_git_dir,
    "HEAD is a link": head_is_a_link,
    "replaced commit": replaced_commit,
    "folder without rights": read_only_folders,
    "copied": moved,
}
