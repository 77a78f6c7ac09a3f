from __future__ import annotations

import os
from pathlib import Path

import pytest

from planexec.workspace.copying import copy_tree

from .building import contents, fingerprint, write


def test_a_copy_has_the_bytes_modes_times_and_links(tmp_path: Path) -> None:
    source = tmp_path / "source"
    write(source, {"a": "x" * 10_000, "d/run": "#!", "secret": "s"})
    (source / "d/run").chmod(0o4755)
    (source / "secret").chmod(0o400)
    (source / "link").symlink_to("/etc/passwd")
    (source / "empty").mkdir()
    (source / "odd\udcff\n").write_text("odd")
    os.utime(source / "a", ns=(5, 1_000_000_007))
    os.utime(source / "d", ns=(5, 2_000_000_007))
    before = fingerprint(source)
    copied = copy_tree(source, tmp_path / "copy", ())
    assert contents(tmp_path / "copy") == contents(source)
    assert (tmp_path / "copy/a").stat().st_mtime_ns == 1_000_000_007
    assert (tmp_path / "copy/d").stat().st_mtime_ns == 2_000_000_007
    assert (tmp_path / "copy/d/run").stat().st_mode & 0o7777 == 0o755
    assert (tmp_path / "copy/secret").stat().st_mode & 0o7777 == 0o400
    assert (tmp_path / "copy/link").readlink() == Path("/etc/passwd")
    assert (tmp_path / "copy/empty").is_dir()
    assert (copied.files, copied.size, copied.left_out) == (4, 10_000 + 2 + 1 + 3, [])
    assert fingerprint(source) == before


def test_no_file_is_shared_with_the_source(tmp_path: Path) -> None:
    write(tmp_path / "source", {"a": "x"})
    os.link(tmp_path / "source/a", tmp_path / "source/b")
    copy_tree(tmp_path / "source", tmp_path / "copy", ())
    (tmp_path / "copy/a").write_text("changed")
    assert contents(tmp_path / "source") == {"a": b"x", "b": b"x"}
    assert (tmp_path / "copy/b").read_text() == "x"


def test_what_stays_behind(tmp_path: Path) -> None:
    source = tmp_path / "source"
    write(source, {"a": "x", ".git/config": "x", "sub/.git": "gitdir: x", "sub/p": "x", "sub/.GIT2": "x"})
    write(source, {"__pycache__/a.pyc": "x", "b.pyc": "x", ".hypothesis/x": "x", "skip/me": "x", "d/skip/not": "x"})
    os.mkfifo(source / "pipe")
    copied = copy_tree(source, tmp_path / "copy", {"skip"})
    assert sorted(contents(tmp_path / "copy")) == ["a", "d/skip/not", "sub/.GIT2", "sub/p"]
    assert sorted(copied.left_out) == [".git", "pipe", "sub/.git"]


def test_a_folder_without_rights_is_writable_in_the_copy(tmp_path: Path) -> None:
    write(tmp_path / "source", {"d/x": "x"})
    (tmp_path / "source/d").chmod(0o555)
    copy_tree(tmp_path / "source", tmp_path / "copy", ())
    assert (tmp_path / "copy/d").stat().st_mode & 0o777 == 0o755


def test_the_target_must_be_new(tmp_path: Path) -> None:
    write(tmp_path / "source", {"a": "x"})
    (tmp_path / "copy").mkdir()
    with pytest.raises(FileExistsError):
        copy_tree(tmp_path / "source", tmp_path / "copy", ())


def test_a_tree_without_end_is_cut(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    descriptor = os.open(tmp_path / "source", os.O_RDONLY)
    for _ in range(220):
        os.mkdir("d", dir_fd=descriptor)
        descriptor, old = os.open("d", os.O_RDONLY, dir_fd=descriptor), descriptor
        os.close(old)
    os.close(descriptor)
    assert copy_tree(tmp_path / "source", tmp_path / "copy", ()).left_out == ["/".join("d" * 201)]
