from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planexec.core.errors import SafetyViolation
from planexec.workspace.entries import (
    EXECUTABLE,
    LINK,
    REGULAR,
    check_path,
    is_cache,
    is_git_name,
    look,
    opened,
    parent_of,
    prune,
    put_file,
    remove,
)

from .building import entry_of, write


@pytest.mark.parametrize("name", [".git", ".GIT", ".Git", ".g\u200cit", ".git.", ".git ", "git~1", "GIT~1"])
def test_names_that_a_file_system_may_take_for_git(name: str) -> None:
    assert is_git_name(name)
    with pytest.raises(SafetyViolation, match="git folder"):
        check_path(f"a/{name}/config")


@pytest.mark.parametrize("name", [".gitignore", "git", ".github", ".gitattributes", ".gitmodules"])
def test_names_that_are_not_git(name: str) -> None:
    assert not is_git_name(name)
    assert check_path(name) == [name]


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../x", "a/../../x", "a//b", "a/", "./a", "a/.", "a\0b"])
def test_paths_that_leave_the_tree(path: str) -> None:
    with pytest.raises(SafetyViolation, match="not a path inside"):
        check_path(path)


@given(st.text(min_size=1))
def test_an_accepted_path_stays_inside(path: str) -> None:
    try:
        parts = check_path(path)
    except SafetyViolation:
        return
    assert os.path.normpath("/root/" + path) == "/root/" + "/".join(parts)


def test_caches() -> None:
    assert is_cache("__pycache__", True)
    assert is_cache("x.pyc", False)
    assert not is_cache("__pycache__", False)
    assert not is_cache("x.pyc", True)


def test_looking_at_everything(tmp_path: Path) -> None:
    write(tmp_path, {"d/file": "x", "program": "#!"})
    (tmp_path / "program").chmod(0o755)
    (tmp_path / "link").symlink_to("d")
    os.mkfifo(tmp_path / "pipe")
    with opened(tmp_path) as root:
        assert look(root, "d/file") == entry_of(b"x")
        assert look(root, "program") == entry_of(b"#!", EXECUTABLE)
        assert look(root, "link") == entry_of(b"d", LINK)
        assert look(root, "gone") is None
        assert look(root, "gone/file") is None
        assert look(root, "program/file") is None
        folder, pipe = look(root, "d"), look(root, "pipe")
        assert folder is not None
        assert pipe is not None
        assert (folder.digest, pipe.digest) == ("", "")
        with pytest.raises(SafetyViolation, match="through the link 'link'"):
            look(root, "link/file")


def test_writing_replaces_links_and_keeps_other_names(tmp_path: Path) -> None:
    write(tmp_path, {"victim": "keep", "one": "old"})
    os.link(tmp_path / "one", tmp_path / "two")
    (tmp_path / "link").symlink_to("victim")
    with opened(tmp_path) as root:
        put_file(root, "link", b"new", REGULAR)
        put_file(root, "one", b"new", EXECUTABLE)
        put_file(root, "victim2", b"one", LINK)
    assert (tmp_path / "victim").read_text() == "keep"
    assert not (tmp_path / "link").is_symlink()
    assert (tmp_path / "two").read_text() == "old"
    assert (tmp_path / "one").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "victim2").readlink() == Path("one")


def test_writing_over_a_folder_fails_and_leaves_no_trace(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    with opened(tmp_path) as root, pytest.raises(OSError, match="directory"):
        put_file(root, "d", b"x", REGULAR)
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


def test_parents_are_made_only_on_request(tmp_path: Path) -> None:
    with opened(tmp_path) as root:
        with pytest.raises(FileNotFoundError), parent_of(root, "a/b/c"):
            pass
        assert list(tmp_path.iterdir()) == []
        with parent_of(root, "a/b/c", create=True) as (folder, name):
            put_file(folder, name, b"x", REGULAR)
        (tmp_path / "out").symlink_to("/tmp")
        with pytest.raises(SafetyViolation), parent_of(root, "out/x", create=True):
            pass
    assert (tmp_path / "a/b/c").read_text() == "x"


def test_pruning_stops_at_what_is_not_empty(tmp_path: Path) -> None:
    write(tmp_path, {"a/keep": "x"})
    (tmp_path / "a/b/c").mkdir(parents=True)
    with opened(tmp_path) as root:
        prune(root, "a/b/c/gone")
        prune(root, "never/was/there")
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["keep"]


def test_removing_whatever_executed_code_leaves(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write(outside, {"precious": "x"})
    tree = tmp_path / "tree"
    write(tree, {"a/b": "x", "locked/in/side": "x"})
    (tree / "link").symlink_to(outside)
    os.mkfifo(tree / "pipe")
    (tree / "locked").chmod(0)
    with opened(tmp_path) as root:
        remove(root, "tree")
        remove(root, "tree")
        remove(root, "not-there")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["outside"]
    assert (outside / "precious").read_text() == "x"


def test_removing_a_tree_that_is_deeper_than_descriptors_and_recursion_reach(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=descriptor)
        below = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=descriptor))
    os.close(descriptor)
    with opened(tmp_path) as root:
        remove(root, "d")
    assert list(tmp_path.iterdir()) == []
