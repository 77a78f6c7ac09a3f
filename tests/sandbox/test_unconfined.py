"""No confinement, and no claim of any."""

from __future__ import annotations

from pathlib import Path

from planexec.sandbox.unconfined import UnconfinedSandbox

from .conftest import shell


def test_it_says_that_it_holds_nothing() -> None:
    text = UnconfinedSandbox().describe()
    assert text.startswith("none:") and "open" in text


def test_it_really_confines_nothing(tmp_path: Path) -> None:
    result = shell(UnconfinedSandbox(), f"echo x > {tmp_path}/file; cat /proc/1/status > /dev/null && echo seen")
    assert (tmp_path / "file").read_text() == "x\n"
    assert result.stdout == b"seen\n"
