from __future__ import annotations

from pathlib import Path

import pytest

from planexec.assembly.opened import patch_of
from planexec.core.state import RunState
from planexec.journal.artifacts import ArtifactStore
from planexec.sandbox.choose import choose
from planexec.workspace.entries import Change, Entry
from planexec.workspace.gitview import render

NAMES = ["plain.py", "with space.py", "modü.py", 'quo"ted.py', "a b/b b/c.py", "tab\there.py", "back\\slash.py"]


def entry(store: ArtifactStore, text: str) -> Entry:
    content = text.encode()
    return Entry(0o100644, store.put(content), len(content))


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore(tmp_path / "artifacts")


def test_every_changed_file_is_named_as_it_is_called(store: ArtifactStore) -> None:
    """New, changed and removed ones, whatever git does to their names in the patch."""
    old, new = entry(store, "x = 1\n"), entry(store, "x = 2\ny = 3\n")
    changes = [Change(name, old, new) for name in NAMES]
    changes += [Change("gone.py", old, None), Change("made.py", None, new)]
    text = render(changes, store, choose()).patch
    state = RunState(patch=store.put(text.encode("utf-8", "surrogateescape")))
    found = patch_of(state, store)
    assert sorted(found["files"]) == sorted([*NAMES, "gone.py", "made.py"])
    assert (found["added"], found["removed"]) == (2 * len(NAMES) + 2, len(NAMES) + 1)
    assert found["patch"] == text


def test_without_a_patch_there_is_nothing(store: ArtifactStore) -> None:
    assert patch_of(RunState(), store) == {"files": [], "added": 0, "removed": 0, "patch": ""}
