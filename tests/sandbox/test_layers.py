"""One tree over another, through the real sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from planexec.core.errors import EnvironmentFailure
from planexec.sandbox import layers
from planexec.sandbox.interface import Command, CommandResult, Layered, Mount, Sandbox

from .conftest import made, shell

INSIDE = Path("/srv/tree")


@pytest.fixture
def tree(tmp_path: Path) -> Layered:
    tree = Layered(tmp_path / "above", tmp_path / "below")
    (tree.over / "sub").mkdir(parents=True)
    (tree.over / "file").write_text("below\n")
    (tree.over / "sub/other").write_text("below\n")
    tree.folder.mkdir()
    tree.work.mkdir()
    return tree


def below(tree: Layered) -> dict[str, tuple[int, int, str]]:
    files = [path for path in tree.over.rglob("*") if path.is_file()]
    return {str(path): (path.stat().st_mode, path.stat().st_ctime_ns, path.read_text()) for path in files}


def names(tree: Layered) -> list[str]:
    return sorted(path.name for path in tree.folder.iterdir())


def test_who_can_layer(sandbox: Sandbox, tmp_path: Path) -> None:
    assert sandbox.layers(tmp_path) == sandbox.remaps
    assert not list(tmp_path.iterdir())


def test_what_is_written_goes_to_the_layer_alone(bubblewrap: Sandbox, tree: Layered) -> None:
    before = below(tree)
    script = "chmod 4777 file; echo x >> file; rm -r sub; mkdir sub new; touch new/f; ln file hard; echo y > hard"
    result = shell(bubblewrap, script, tree.mount(INSIDE, writable=True), cwd=INSIDE)
    assert result.exit_code == 0, result.stderr
    assert below(tree) == before
    assert names(tree) == ["file", "hard", "new", "sub"]
    again = shell(bubblewrap, "cat file; ls sub new", tree.mount(INSIDE, writable=True), cwd=INSIDE)
    assert again.stdout == b"y\nnew:\nf\n\nsub:\n"


def test_the_tree_below_is_nowhere_by_itself(bubblewrap: Sandbox, tree: Layered) -> None:
    script = f"ls -d {tree.over} {tree.folder} /oldroot /newroot; cat {tree.over}/file"
    result = shell(bubblewrap, script, tree.mount(INSIDE, writable=True), cwd=INSIDE)
    assert result.stdout == b"" and result.exit_code != 0
    # The mark of a deletion and the kernel's own attributes are no way into it either.
    script = "mknod mark c 0 0; setfattr -n user.overlay.redirect -v /x sub; umount . ; mount -o remount,rw ."
    shell(bubblewrap, script, tree.mount(INSIDE, writable=True), cwd=INSIDE)
    assert not (tree.folder / "mark").exists()
    assert shell(bubblewrap, "cat sub/other", tree.mount(INSIDE, writable=True), cwd=INSIDE).stdout == b"below\n"


def test_a_layer_can_be_shown_read_only(bubblewrap: Sandbox, tree: Layered) -> None:
    (tree.folder / "file").write_text("above\n")
    layers.hide(str(tree.folder / "gone"))
    mount = tree.mount(INSIDE, writable=False)
    result = shell(bubblewrap, "cat file; ls; echo x > new; rm file", mount, cwd=INSIDE)
    assert result.stdout == b"above\nfile\nsub\n" and result.exit_code != 0
    assert names(tree) == ["file", "gone"]


def test_mounts_lie_within_a_layer(bubblewrap: Sandbox, tree: Layered, tmp_path: Path) -> None:
    cover = tmp_path / "cover"
    cover.mkdir()
    (cover / "covered").write_text("cover\n")
    mounts = (tree.mount(INSIDE, writable=True), Mount(cover, INSIDE / "sub"))
    result = shell(bubblewrap, "cat sub/covered; echo x > sub/covered; rm -f sub/covered", *mounts, cwd=INSIDE)
    assert result.stdout == b"cover\n" and (cover / "covered").read_text() == "cover\n"


class Changed:
    """The real sandbox, with one thing that goes wrong after each command."""

    def __init__(self, spoil: str) -> None:
        self.spoil = spoil

    def run(self, command: Command) -> CommandResult:
        """Run it, then spoil the trees."""
        if self.spoil == "refused":
            raise EnvironmentFailure("the sandbox could not start: no overlay here")
        (mount,) = command.mounts
        if self.spoil == "whole":  # as if there were no tree below
            mount = Mount(mount.source, mount.target, writable=True)
        result = made("bubblewrap").run(Command(command.argv, command.cwd, (mount,), limits=command.limits))
        if self.spoil == "below" and mount.over is not None:
            (mount.over / "written").write_text("above\n")
        return result


@pytest.mark.parametrize(("spoil", "works"), [("", True), ("refused", False), ("whole", False), ("below", False)])
def test_what_does_not_hold_is_not_used(tmp_path: Path, spoil: str, works: bool) -> None:
    assert layers.work(Changed(spoil), tmp_path) == works
    assert not list(tmp_path.iterdir())
