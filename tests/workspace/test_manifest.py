from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planexec.journal.artifacts import ArtifactStore
from planexec.workspace.entries import EXECUTABLE, LINK, REGULAR, Entry
from planexec.workspace.manifest import Change, Manifest, ScanCache, changes, restore, scan

from .building import contents, entry_of, paths, write


def test_a_scan_sees_files_modes_links_and_empty_folders(tmp_path: Path, store: ArtifactStore) -> None:
    tree = tmp_path / "tree"
    write(tree, {"a.py": "x", "d/b": b"\0\xff", "run": "#!"})
    (tree / "run").chmod(0o700)
    (tree / "link").symlink_to("/etc/passwd")
    (tree / "folder-link").symlink_to("d")
    (tree / "empty/below").mkdir(parents=True)
    manifest = scan(tree, store)
    assert manifest.entries == {
        "a.py": entry_of(b"x"),
        "d/b": entry_of(b"\0\xff"),
        "run": entry_of(b"#!", EXECUTABLE),
        "link": entry_of(b"/etc/passwd", LINK),
        "folder-link": entry_of(b"d", LINK),
    }
    assert (manifest.folders, manifest.left_out) == (["empty/below"], [])
    assert all(store.has(entry.digest) for entry in manifest.entries.values())


def test_git_folders_and_special_files_are_left_out_and_recorded(tmp_path: Path, store: ArtifactStore) -> None:
    tree = tmp_path / "tree"
    write(tree, {"a": "x", "sub/.git": "gitdir: /x", "deep/er/.GIT/config": "[core]", ".git/config": "x"})
    os.mkfifo(tree / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tree / "s"))
        manifest = scan(tree, store)
    assert list(manifest.entries) == ["a"]
    assert manifest.left_out == [".git", "deep/er/.GIT", "pipe", "s", "sub/.git"]


def test_an_empty_git_folder_at_the_top_is_a_place_for_a_mount(tmp_path: Path, store: ArtifactStore) -> None:
    (tmp_path / "tree/.git").mkdir(parents=True)
    (tmp_path / "tree/d/.git").mkdir(parents=True)
    assert scan(tmp_path / "tree", store).left_out == ["d/.git"]


def test_caches_are_left_out_silently(tmp_path: Path, store: ArtifactStore) -> None:
    tree = tmp_path / "tree"
    write(tree, {"a": "x", "__pycache__/a.pyc": "x", "b.pyc": "x", "d/.pytest_cache/x": "x", ".mypy_cache/y": "y"})
    manifest = scan(tree, store)
    assert (list(manifest.entries), manifest.left_out) == (["a"], [])


def test_what_cannot_be_read_is_left_out(tmp_path: Path, store: ArtifactStore) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    descriptor = os.open(tree, os.O_RDONLY)
    for _ in range(220):
        os.mkdir("d", dir_fd=descriptor)
        descriptor, old = os.open("d", os.O_RDONLY, dir_fd=descriptor), descriptor
        os.close(old)
    os.close(descriptor)
    assert scan(tree, store).left_out == ["/".join("d" * 201)]


def test_changes_are_sorted_and_complete() -> None:
    old, new = entry_of(b"o"), entry_of(b"n")
    before = Manifest({"same": old, "gone": old, "edited": old, "mode": old})
    mode = Entry(EXECUTABLE, old.digest, old.size)
    after = Manifest({"same": old, "edited": new, "born": new, "mode": mode})
    assert changes(before, after) == [
        Change("born", None, new),
        Change("edited", old, new),
        Change("gone", old, None),
        Change("mode", old, mode),
    ]
    assert changes(before, before) == []


NAMES = st.binary(min_size=1, max_size=8).filter(lambda name: b"\0" not in name and b"/" not in name)


@given(st.dictionaries(NAMES.map(os.fsdecode), st.builds(Entry, st.just(REGULAR), st.text(), st.integers(0, 9))))
def test_a_manifest_survives_encoding_whatever_the_names(entries: dict[str, Entry]) -> None:
    manifest = Manifest(entries, ["x\udcff"], ["e"])
    assert Manifest.decode(manifest.encode()) == manifest


@pytest.mark.parametrize("data", [b"", b"[]", b'{"entries": 3}', b"\xff"])
def test_anything_else_is_not_a_manifest(data: bytes) -> None:
    with pytest.raises(ValueError):
        Manifest.decode(data)


def test_restoring_undoes_everything(tmp_path: Path, store: ArtifactStore) -> None:
    tree = tmp_path / "tree"
    write(tree, {"keep": "k", "edit": "old", "gone/x": "g", "run": "#!", "swap/in": "s", "file": "f"})
    (tree / "run").chmod(0o755)
    (tree / "link").symlink_to("keep")
    (tree / "empty").mkdir()
    (tree / "name\udcff\n").write_text("odd")
    base = scan(tree, store)
    kept = (tree / "keep").stat()

    outside = tmp_path / "outside"
    write(outside, {"x": "precious"})
    (tree / "edit").write_text("new")
    (tree / "gone/x").unlink()
    (tree / "gone").rmdir()
    (tree / "gone").symlink_to(outside)  # writing to gone/x would now leave the tree
    (tree / "run").chmod(0o644)
    (tree / "link").unlink()
    (tree / "link").symlink_to("/etc/passwd")
    (tree / "empty").rmdir()
    (tree / "swap/in").unlink()
    (tree / "swap").rmdir()
    (tree / "swap").write_text("a file now")
    (tree / "file").unlink()
    write(tree, {"file/below": "x", ".git/config": "evil", "new": "n", "__pycache__/keep.pyc": "stale"})
    os.link(outside / "x", tree / "hard")
    (tree / "name\udcff\n").write_text("changed")

    restore(tree, base, store)
    assert changes(base, scan(tree, store)) == []
    assert scan(tree, store) == base
    assert (tree / "gone/x").read_text() == "g"
    assert contents(outside) == {"x": b"precious"}
    assert not (tree / "__pycache__").exists()
    assert list((tree / ".git").iterdir()) == []
    assert (tree / "keep").stat().st_ino == kept.st_ino
    assert (tree / "keep").stat().st_mtime_ns == kept.st_mtime_ns


def test_restoring_into_an_empty_folder_and_twice(tmp_path: Path, store: ArtifactStore) -> None:
    write(tmp_path / "tree", {"a/b": "x"})
    base = scan(tmp_path / "tree", store)
    (tmp_path / "other").mkdir()
    for _ in range(2):
        restore(tmp_path / "other", base, store)
        assert scan(tmp_path / "other", store) == base


def test_restoring_opens_locked_folders_and_replaces_special_files(tmp_path: Path, store: ArtifactStore) -> None:
    tree = tmp_path / "tree"
    write(tree, {"d/x": "x", "y": "y"})
    base = scan(tree, store)
    (tree / "d").chmod(0)
    (tree / "y").unlink()
    os.mkfifo(tree / "y")
    restore(tree, base, store)
    assert scan(tree, store) == base


def settle(tree: Path) -> None:
    time.sleep(0.15)
    assert tree.exists()


def test_a_cached_scan_does_not_read_again(tmp_path: Path, store: ArtifactStore) -> None:
    write(tmp_path / "tree", {"a": "one"})
    settle(tmp_path / "tree")
    cache = ScanCache()
    first = scan(tmp_path / "tree", store, cache)
    status = (tmp_path / "tree/a").stat()
    assert cache.get("a", status) == first.entries["a"].digest
    assert scan(tmp_path / "tree", store, cache) == first
    restore(tmp_path / "tree", first, store, cache)
    assert (tmp_path / "tree/a").stat().st_ino == status.st_ino


def test_the_cache_is_not_fooled_by_a_time_that_was_set_back(tmp_path: Path, store: ArtifactStore) -> None:
    path = tmp_path / "tree/a"
    write(tmp_path / "tree", {"a": "one"})
    settle(tmp_path / "tree")
    cache = ScanCache()
    base = scan(tmp_path / "tree", store, cache)
    old = path.stat()
    path.write_text("two")
    os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))
    assert paths(changes(base, scan(tmp_path / "tree", store, cache))) == ["a"]
    restore(tmp_path / "tree", base, store, cache)
    assert path.read_text() == "one"


def test_a_file_that_is_too_young_is_not_trusted(tmp_path: Path, store: ArtifactStore) -> None:
    write(tmp_path / "tree", {"a": "one"})
    cache = ScanCache()
    scan(tmp_path / "tree", store, cache)
    assert cache.get("a", (tmp_path / "tree/a").stat()) is None


def test_a_cached_digest_whose_bytes_were_removed_is_stored_again(tmp_path: Path, store: ArtifactStore) -> None:
    write(tmp_path / "tree", {"a": "one"})
    settle(tmp_path / "tree")
    cache = ScanCache()
    digest = scan(tmp_path / "tree", store, cache).entries["a"].digest
    store.path(digest).unlink()
    scan(tmp_path / "tree", store, cache)
    assert store.get(digest) == b"one"
