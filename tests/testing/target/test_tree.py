from __future__ import annotations

import os
import shutil
from pathlib import Path

from planexec.testing.target.tree import Tree, contents, empty

from ..conftest import write


def picture(folder: Path) -> dict[str, object]:
    return {
        each.relative_to(folder).as_posix(): (
            each.lstat().st_mode,
            each.readlink() if each.is_symlink() else each.read_bytes(),
        )
        if each.is_symlink() or each.is_file()
        else each.lstat().st_mode
        for each in folder.rglob("*")
    }


def test_everything_is_put_back(tmp_path: Path) -> None:
    root = write(tmp_path / "root", {"a.py": "a", "pkg/b.py": "b", "pkg/c.py": "c", "gone/d.py": "d", "skip/x": "x"})
    (root / "link").symlink_to("a.py")
    (root / "a.py").chmod(0o755)
    shutil.copytree(root, tmp_path / "backup", symlinks=True)
    tree = Tree(str(root), str(tmp_path / "backup"), ["skip"])
    before = picture(root)
    for _ in range(2):
        tree.write({"a.py": b"changed", "new/deep/file.py": b"new", "link": b"no longer a link"})
        assert (root / "a.py").read_bytes() == b"changed" and (root / "new/deep/file.py").exists()
        stat = (root / "pkg/b.py").stat()
        (root / "pkg/b.py").write_text("B")
        os.utime(root / "pkg/b.py", ns=(stat.st_atime_ns, stat.st_mtime_ns))  # a change that hides
        shutil.rmtree(root / "gone")
        (root / "gone").write_text("a file now")
        (root / "pkg/c.py").unlink()
        (root / "pkg/c.py").mkdir()
        (root / "pkg/c.py" / "inner").touch()
        tree.restore()
        assert picture(root) == before
    (root / "skip" / "x").write_text("mounted over: not ours")
    tree.restore()
    assert (root / "skip" / "x").read_text() == "mounted over: not ours"


def test_a_folder_that_became_a_link(tmp_path: Path) -> None:
    root = write(tmp_path / "root", {"pkg/b.py": "b"})
    shutil.copytree(root, tmp_path / "backup")
    tree = Tree(str(root), str(tmp_path / "backup"))
    shutil.rmtree(root / "pkg")
    write(tmp_path / "outside", {"b.py": "outside"})
    (root / "pkg").symlink_to(tmp_path / "outside")
    tree.restore()
    assert not (root / "pkg").is_symlink() and (root / "pkg/b.py").read_text() == "b"
    assert (tmp_path / "outside" / "b.py").read_text() == "outside"


def test_shared_folders_are_emptied_but_for_what_was_there(tmp_path: Path) -> None:
    write(tmp_path, {"kept/x": "", "left/y": "", "left.txt": ""})
    found = contents([str(tmp_path), str(tmp_path / "gone")])
    assert set(found) == {str(tmp_path)} and set(found[str(tmp_path)]) == {"kept", "left", "left.txt"}
    empty(str(tmp_path), ["kept"])
    assert [each.name for each in tmp_path.iterdir()] == ["kept"]
    empty(str(tmp_path / "gone"), [])
