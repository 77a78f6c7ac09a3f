from __future__ import annotations

from pathlib import Path

from planexec.journal.artifacts import ArtifactStore
from planexec.tools.differences import difference, unified
from planexec.workspace.entries import Change, Entry


def test_an_edit_is_shown_with_its_surroundings() -> None:
    before = "".join(f"line {n}\n" for n in range(9)).encode()
    shown = unified("a.py", before, before.replace(b"line 4", b"changed"))
    assert shown.splitlines()[:3] == ["--- a/a.py", "+++ b/a.py", "@@ -2,7 +2,7 @@"]
    assert "-line 4\n+changed" in shown and " line 1\n" in shown and "line 0" not in shown


def test_new_and_removed_files_and_bytes_that_are_no_text(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)

    def entry(data: bytes) -> Entry:
        return Entry(0o100644, store.put(data), len(data))

    changes = [Change("new.py", None, entry(b"x\n")), Change("gone.py", entry(b"\xff\n"), None)]
    lines = difference(changes, store).splitlines()
    assert lines[:2] == ["--- /dev/null", "+++ b/new.py"] and "+x" in lines
    assert "+++ /dev/null" in lines and "-\ufffd" in lines
    assert difference([Change("mode.sh", entry(b"x"), entry(b"x"))], store) == ""
