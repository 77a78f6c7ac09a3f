"""Small real projects, run by the interpreter that runs these tests, in the real sandbox."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from planexec.sandbox.choose import choose
from planexec.sandbox.interface import Sandbox
from planexec.testing.harness import Harness
from planexec.testing.interpreter import Interpreter, discover

ROOT = Path("/home/somebody/project")
# Plug-ins of this program's own development would only cost time.
QUIET = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for path, text in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(textwrap.dedent(text).lstrip("\n"))
    return folder


@pytest.fixture(scope="session")
def sandbox() -> Sandbox:
    return choose("bubblewrap")


@pytest.fixture(scope="session")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> Interpreter:
    return discover(tmp_path_factory.mktemp("nowhere"), flag=sys.executable)


@pytest.fixture
def harness(sandbox: Sandbox, interpreter: Interpreter) -> Harness:
    return Harness(sandbox, interpreter, ROOT, env=QUIET)


@pytest.fixture
def project(tmp_path: Path) -> Callable[[Mapping[str, str]], Path]:
    def make(files: Mapping[str, str]) -> Path:
        return write(tmp_path / "tree", files)

    return make
