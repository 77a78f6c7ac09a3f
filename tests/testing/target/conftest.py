"""Target code runs here in this very process: what it changes is put back."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def contained(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    path, argv, finders, modules = list(sys.path), list(sys.argv), list(sys.meta_path), set(sys.modules)
    folder, trace, thread_trace = Path.cwd(), sys.gettrace(), threading.gettrace()
    yield
    sys.settrace(trace)
    threading.settrace(thread_trace)
    os.chdir(folder)
    sys.path[:], sys.argv[:], sys.meta_path[:] = path, argv, finders
    for name in set(sys.modules) - modules:
        if not name.startswith(("_pytest", "planexec")):
            del sys.modules[name]
