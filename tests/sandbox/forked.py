"""Runs a function in a forked child: for what changes a process for good."""

from __future__ import annotations

import contextlib
import os
import pickle
import traceback
from collections.abc import Callable
from typing import Any


def in_child(function: Callable[[], Any]) -> Any:
    """The result of ``function`` in a child of this process; its error, as text, fails the test."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = ("result", function())
        except BaseException:
            answer = ("error", traceback.format_exc())
        with contextlib.suppress(BaseException):
            os.write(writer, pickle.dumps(answer))
            _save_coverage()
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        kind, value = pickle.loads(stream.read())
    os.waitpid(child, 0)
    assert kind == "result", value
    return value


def _save_coverage() -> None:
    """What ran here counts, too."""
    import coverage

    current = coverage.Coverage.current()
    if current is not None:
        current.stop()
        current.save()
