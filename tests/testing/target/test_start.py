from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from planexec.testing.target import start

FOLDER = Path(start.__file__).parent


@pytest.mark.usefixtures("contained")
def test_the_package_gets_a_private_name() -> None:
    start.load_package(str(FOLDER))
    package = sys.modules[start.PACKAGE]
    assert package.__path__ == [str(FOLDER)]


def test_nothing_beside_the_script_can_be_imported_by_the_project(tmp_path: Path) -> None:
    # The request is broken: the script has set itself up by then, and says so in one line.
    done = subprocess.run(
        [sys.executable, str(FOLDER / "start.py")],
        input=b"{}",
        capture_output=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 1 and b"KeyError: 'report'" in done.stderr


def test_only_the_standard_library_and_pytest_are_imported() -> None:
    import ast

    # Django is imported where the project under test has it.
    known = set(sys.stdlib_module_names) | {"pytest", "_pytest", "pluggy", "django"}
    for file in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            assert {name.partition(".")[0] for name in names} <= known, file
        # The oldest Python that is supported can read it.
        ast.parse(file.read_text(), feature_version=(3, 8))
