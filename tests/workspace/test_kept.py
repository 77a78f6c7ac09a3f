"""Copies that are kept between runs: taken once, brought up to date, never trusted where executed code could write."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from planexec.journal.artifacts import ArtifactStore
from planexec.workspace import kept
from planexec.workspace.copies import Workspace
from planexec.workspace.leftovers import kept_copies
from planexec.workspace.manifest import scan
from planexec.workspace.repository import Repository

from ..projects import git, make_repository

MANY = {f"many/{number // 100}/{number}.txt": f"{number}\n" for number in range(kept.WORTH_KEEPING)}


@pytest.fixture
def large(tmp_path: Path) -> Path:
    root = make_repository(tmp_path / "repo", {"a.py": "one\n", "d/b.py": "two\n", "gone/c.py": "x\n", **MANY})
    (root / "link").symlink_to("a.py")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "link")
    os.utime(root / "a.py", ns=(1, 1))
    time.sleep(0.15)  # what was just written is always read again
    return root


class Runs:
    """Runs one after the other over one cache."""

    def __init__(self, root: Path, cache: Path, store: ArtifactStore) -> None:
        self.root, self.cache, self.store, self.number = root, cache, store, 0

    def begin(self, hidden: tuple[str, ...] = ()) -> Workspace:
        self.number += 1
        return Workspace.create(Repository.open(self.root), self.cache, f"run-{self.number}", self.store, hidden)

    def fresh(self) -> Workspace:
        """What a run without anything kept would begin with."""
        return Workspace.create(Repository.open(self.root), self.cache.with_name("other"), "fresh", self.store)


@pytest.fixture
def runs(large: Path, tmp_path: Path, store: ArtifactStore) -> Iterator[Runs]:
    runs = Runs(large, tmp_path / "cache", store)
    first = runs.begin()
    first.discard(keep=True)
    assert not first.folder.exists()
    yield runs


def kept_folders(runs: Runs) -> list[Path]:
    return list((runs.cache / kept.FOLDER).iterdir())


def made(tree: Path) -> dict[str, int]:
    """When each file was made: an inode may be used again, the time never is."""
    return {str(path.relative_to(tree)): path.stat().st_ctime_ns for path in tree.rglob("*.txt")}


def test_what_has_not_changed_is_neither_copied_nor_read_again(runs: Runs, store: ArtifactStore) -> None:
    (folder,) = kept_folders(runs)
    before = made(folder / "pristine"), made(folder / "scratch")
    changed = {path for path in before[0] if path.endswith("7.txt")}
    for path in changed:
        (runs.root / path).write_text("new\n")
    second = runs.begin()
    assert not kept_folders(runs)
    assert made(second.pristine).keys() == before[0].keys()
    assert {path for path, at in made(second.pristine).items() if at != before[0][path]} == changed
    assert {path for path, at in made(second.scratch).items() if at != before[1][path]} == changed
    assert second.base == runs.fresh().base == scan(second.pristine, store) == scan(second.scratch, store)


def test_what_changed_is_brought_up_to_date(runs: Runs, large: Path) -> None:
    before = (large / "a.py").stat()
    (large / "a.py").write_text("six\n")  # as long as before
    os.utime(large / "a.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    (large / "d/b.py").chmod(0o755)
    (large / "gone/c.py").unlink()
    (large / "gone").rmdir()
    (large / "gone").write_text("a file now\n")
    (large / "link").unlink()
    (large / "link").symlink_to("d")
    (large / "many/3/300.txt").unlink()
    (large / "many/3/300.txt").mkdir()
    (large / "many/3/300.txt/new").write_text("new\n")
    second = runs.begin(hidden=("many/4/400.txt",))
    assert (second.pristine / "a.py").read_text() == (second.scratch / "a.py").read_text() == "six\n"
    assert os.access(second.scratch / "d/b.py", os.X_OK)
    fresh = runs.fresh()
    expected = dict(fresh.base.entries)
    del expected["many/4/400.txt"]
    assert second.base.entries == expected == scan(second.scratch, runs.store).entries
    second.discard(keep=True)
    assert runs.begin().base == fresh.base  # what was hidden is there again


def test_the_scratch_copy_is_compared_byte_for_byte(runs: Runs) -> None:
    second = runs.begin()
    for name in ("a.py", "d/b.py"):
        file = second.scratch / name
        status = file.stat()
        file.write_text("bad\n")
        file.chmod(0o4755 if name == "a.py" else status.st_mode)
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    (second.scratch / "planted").mkdir()
    (second.scratch / "many/1/100.txt").chmod(0o4644)
    (second.scratch / "many/2").chmod(0)
    second.discard(keep=True)
    third = runs.begin()
    assert scan(third.scratch, runs.store) == third.base == second.base
    assert not (third.scratch / "planted").exists()
    assert (third.scratch / "many/1/100.txt").stat().st_mode & 0o7000 == 0


def test_a_kept_copy_that_somebody_changed_is_mended(runs: Runs) -> None:
    (folder,) = kept_folders(runs)
    (folder / "pristine/a.py").write_text("bad\n")
    (folder / "pristine/many/1/101.txt").unlink()
    (folder / "pristine/planted").write_text("x")
    second = runs.begin()
    assert second.base == runs.fresh().base
    assert (second.pristine / "a.py").read_text() == "one\n"
    assert not (second.pristine / "planted").exists()


@pytest.mark.parametrize("damage", ["record", "version", "no record"])
def test_what_cannot_be_trusted_is_not_used(runs: Runs, damage: str) -> None:
    (folder,) = kept_folders(runs)
    record = folder / kept.MEMORY
    if damage == "no record":
        record.unlink()
    else:
        record.write_bytes(record.read_bytes().replace(b"\x01", b"\x02", 1) if damage == "version" else b"\xff")
    before = made(folder / "pristine")
    second = runs.begin()
    assert second.base == runs.fresh().base
    assert not kept_folders(runs)
    if damage == "no record":
        after = made(second.pristine)
        assert after.keys() == before.keys() and not after.items() & before.items()


def test_two_runs_at_once_have_copies_of_their_own(runs: Runs) -> None:
    second, third = runs.begin(), runs.begin()
    assert second.base == third.base and not kept_folders(runs)
    third.discard(keep=True)
    (folder,) = kept_folders(runs)
    inode = (folder / "pristine").stat().st_ino
    second.discard(keep=True)  # the other's stays
    assert [each.stat().st_ino for each in kept_folders(runs)] == [folder.stat().st_ino]
    assert (folder / "pristine").stat().st_ino == inode and not second.folder.exists()


def test_copies_are_not_kept_unless_asked_and_worth_it(runs: Runs, tmp_path: Path) -> None:
    runs.begin().discard()
    assert not kept_folders(runs)
    small = Runs(make_repository(tmp_path / "small", {"a.py": "x\n"}), runs.cache, runs.store)
    small.begin().discard(keep=True)
    assert not kept_folders(runs)


def test_they_are_found_to_be_freed(runs: Runs, large: Path, tmp_path: Path) -> None:
    (leftover,) = kept_copies(runs.cache, large)
    assert leftover.kind == "kept copy" and leftover.name == str(large)
    assert not list(kept_copies(runs.cache, tmp_path / "elsewhere"))
    with kept.alone(runs.cache / kept.FOLDER) as free:
        assert free
        assert not leftover.remove()  # another process moves them just now
        runs.begin().discard()  # and a run makes its own
    assert leftover.remove() and not kept_folders(runs)
    large.rename(large.with_name("moved"))
    assert not list(kept_copies(runs.cache, large))
