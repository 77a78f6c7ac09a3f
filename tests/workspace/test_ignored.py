from __future__ import annotations

import os
from pathlib import Path

from planexec.workspace.ignored import LARGE_BYTES, LARGE_FILES, find_mounts

from .building import write


def sparse(path: Path, size: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream:
        stream.truncate(size)


def many(folder: Path, count: int) -> None:
    folder.mkdir(parents=True)
    for number in range(count):
        (folder / f"{number}").touch()


def test_small_ignored_folders_are_copied(tmp_path: Path) -> None:
    write(tmp_path, {"build/a": "x", "x.so": "x"})
    assert find_mounts(tmp_path, ["build/", "x.so"], ["a.py"]) == []


def test_the_limits(tmp_path: Path) -> None:
    sparse(tmp_path / "fits/a", LARGE_BYTES)
    sparse(tmp_path / "big/deep/a", LARGE_BYTES)
    write(tmp_path, {"big/b": "x"})
    many(tmp_path / "few", LARGE_FILES)
    many(tmp_path / "many", LARGE_FILES + 1)
    sparse(tmp_path / "data.bin", LARGE_BYTES + 1)
    sparse(tmp_path / "small.bin", LARGE_BYTES)
    ignored = ["big/", "data.bin", "few/", "fits/", "many/", "small.bin"]
    assert find_mounts(tmp_path, ignored, []) == ["big", "data.bin", "many"]


def test_caches_do_not_count(tmp_path: Path) -> None:
    sparse(tmp_path / "out/__pycache__/a.pyc", LARGE_BYTES + 1)
    sparse(tmp_path / "out/.mypy_cache/a", LARGE_BYTES + 1)
    assert find_mounts(tmp_path, ["out/"], []) == []


def test_virtual_environments_wherever_they_are(tmp_path: Path) -> None:
    write(
        tmp_path, {".venv/pyvenv.cfg": "x", "envs/one/pyvenv.cfg": "x", "envs/notes": "x", "envs/t/w/pyvenv.cfg": "x"}
    )
    write(tmp_path, {"own/pyvenv.cfg": "x", "sub/env/pyvenv.cfg": "x", "sub/a.py": "x", "other/env/pyvenv.cfg": "x"})
    found = find_mounts(tmp_path, [".venv/", "envs/"], ["sub/a.py"])
    assert found == [".venv", "envs/one", "envs/t/w", "own", "sub/env"]


def test_an_environment_with_tracked_files_is_a_part_of_the_project(tmp_path: Path) -> None:
    write(tmp_path, {"tests/env/pyvenv.cfg": "x"})
    assert find_mounts(tmp_path, [], ["tests/env/pyvenv.cfg", "tests/env/lib/x"]) == []


def test_an_environment_inside_a_large_folder_is_not_mounted_twice(tmp_path: Path) -> None:
    sparse(tmp_path / "big/data", LARGE_BYTES + 1)
    write(tmp_path, {"big/env/pyvenv.cfg": "x"})
    assert find_mounts(tmp_path, ["big/"], []) == ["big"]


def test_git_folders_links_and_vanished_entries_are_passed_over(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write(outside, {"env/pyvenv.cfg": "x"})
    root = tmp_path / "r"
    write(root, {"ok": "x", "sub/.git/x": "x"})
    sparse(root / "ig/.git/pack", LARGE_BYTES + 1)
    (root / "linked").symlink_to(outside)
    (root / "venv").symlink_to(outside / "env")
    os.mkfifo(root / "pipe")
    ignored = ["gone/", "gone.bin", "linked/", "sub/.git/", "ig/", "pipe"]
    assert find_mounts(root, ignored, ["linked/env/x", "gone2/x"]) == []
