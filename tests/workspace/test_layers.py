"""What a layer over a tree shows is what a whole copy with the same changes holds. Seen through the real sandbox."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planexec.core.errors import ConflictError, SafetyViolation
from planexec.journal.artifacts import ArtifactStore
from planexec.sandbox.choose import choose
from planexec.sandbox.interface import Command, FileTree, Layered, Mount
from planexec.testing.interpreter import discover
from planexec.workspace.copies import Workspace, write_changes
from planexec.workspace.copying import copy_tree
from planexec.workspace.entries import Change
from planexec.workspace.layers import copy_layer, make_layer
from planexec.workspace.manifest import Manifest, changes, scan
from planexec.workspace.repository import Repository

from ..projects import make_repository
from .building import contents, entry_of, write

INSIDE = Path("/srv/tree")
LOOK = """
import json, os, stat, sys
found = {}
for folder, folders, names in os.walk("."):
    for name in [*folders, *names]:
        path = os.path.join(folder, name)[2:]
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            found[path] = "-> " + os.readlink(path)
        elif stat.S_ISDIR(status.st_mode):
            found[path] = oct(status.st_mode)
        else:
            found[path] = oct(status.st_mode) + " " + open(path).read()
print(json.dumps(found))
"""
BASE = {"a": "1", "d/a": "2", "d/b": "3", "d/e/f": "4", "x/y/z": "5", "x/q": "6"}
PATHS = [*BASE, "d", "x", "x/y", "new", "d/new", "a/below", "x/y/z/deep"]


def seen(tree: FileTree) -> dict[str, str]:
    """Every entry of a tree, as a sandboxed program sees it."""
    sandbox, interpreter = choose("bubblewrap"), discover(Path("/"), flag=sys.executable)
    mount = tree.mount(INSIDE, writable=True) if isinstance(tree, Layered) else Mount(tree, INSIDE, writable=True)
    argv = (str(interpreter.executable), "-c", LOOK)
    result = sandbox.run(Command(argv, INSIDE, (*interpreter.mounts(), mount)))
    assert result.exit_code == 0, result.stderr
    found: dict[str, str] = json.loads(result.stdout)
    return found


def whole(place: Path, over: Path, wanted: list[Change], store: ArtifactStore) -> Path:
    copy_tree(over, place, ())
    write_changes(place, wanted, store)
    return place


def manifests(wanted: dict[str, str], store: ArtifactStore) -> Manifest:
    return Manifest({path: entry_of(text.encode()) for path, text in wanted.items() if store.put(text.encode())})


def is_tree(paths: set[str]) -> bool:
    """Whether no path is a folder of another."""
    return not any(other.startswith(f"{path}/") for path in paths for other in paths)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(wanted=st.dictionaries(st.sampled_from(PATHS), st.sampled_from("13x")).filter(lambda each: is_tree(set(each))))
def test_a_layer_shows_what_a_whole_copy_holds(
    wanted: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("layer")
    store = ArtifactStore(place / "artifacts")
    over = place / "over"
    write(over, BASE)
    (over / "empty").mkdir()
    (over / "d/e").chmod(0o711)
    before = contents(over)
    diff = changes(manifests(BASE, store), manifests(wanted, store))
    layer = make_layer(place / "layer", over, diff, store, {})
    again = copy_layer(layer, place / "again")
    shown = seen(layer)
    assert shown == seen(whole(place / "whole", over, diff, store))
    assert shown == seen(again)
    assert contents(over) == before


def test_the_host_s_files_are_seen_and_never_replace_one(tmp_path: Path) -> None:
    store, over = ArtifactStore(tmp_path / "artifacts"), tmp_path / "over"
    write(over, BASE)
    (over / "d/link").symlink_to("nowhere")
    (over / "out").symlink_to(tmp_path)
    gone = [Change("x/y/z", entry_of(b"5"), None)]
    shown = seen(make_layer(tmp_path / "one", over, gone, store, {"x/y/new": b"host", "deep/er/t": b"host"}))
    assert shown["x/y/new"].endswith(" host") and shown["deep/er/t"].endswith(" host") and "x/y/z" not in shown
    for number, path in enumerate(["a", "d", "d/link", "d/b"]):
        with pytest.raises(ConflictError, match="exists already"):
            make_layer(tmp_path / f"layer-{number}", over, (), store, {path: b"host"})
    with pytest.raises(SafetyViolation, match="through the link"):
        make_layer(tmp_path / "layer-link", over, (), store, {"out/x": b"host"})
    assert not (tmp_path / "x").exists()


def test_a_run_workspace_lends_layers_and_takes_them_away(tmp_path: Path, store: ArtifactStore) -> None:
    root = make_repository(tmp_path / "repo", {"a.py": "one\n", "d/b.py": "two\n", "gen.py": "x\n"})
    workspace = Workspace.create(Repository.open(root), tmp_path / "cache", "run-1", store)
    wanted = [Change("a.py", workspace.base.entries["a.py"], None)]
    with workspace.layer(wanted, {"t.py": b"host"}) as one, workspace.layer() as other:
        assert one.folder != other.folder and one.over == workspace.pristine
        assert "a.py" not in seen(one) and "t.py" in seen(one) and "a.py" in seen(other)
        run = Command(("/bin/sh", "-c", "rm -rf d; mkdir d; chmod 0 d; echo x > gen.py"), INSIDE)
        mounted = Command(run.argv, INSIDE, (other.mount(INSIDE, writable=True),))
        assert choose("bubblewrap").run(mounted).exit_code == 0
    assert not one.folder.exists() and not one.work.exists()
    assert scan(workspace.pristine, store) == workspace.base
    assert sorted(path.name for path in workspace.folder.iterdir()) == [
        "owner",
        "pristine",
        "scratch",
        "workspace.json",
    ]
