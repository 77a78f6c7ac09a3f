"""A test that must be red, built in memory under a random name: a run in which it is not red is not believed."""

from __future__ import annotations

import os
import types
from typing import Any

import pytest

BODY = """def {name}():
    expected, actual = 1, 2
    if actual != expected:
        raise AssertionError("this test is planted and must fail")
"""


class CanaryModule(pytest.Module):
    """A test module that has no file: its object is set by ``make_canary``."""


def make_canary(session: Any, name: str) -> Any:
    """The planted item ``<name>.py::<name>`` at the root of the session."""
    path = os.path.join(
        str(session.config.rootdir if not hasattr(session.config, "rootpath") else session.config.rootpath)
    )
    path = os.path.join(path, name + ".py")
    module: Any = types.ModuleType(name)
    module.__file__ = path
    exec(compile(BODY.format(name=name), path, "exec"), module.__dict__)
    node = _module_node(session, path)
    node._obj = module  # what the property ``obj`` would import
    return pytest.Function.from_parent(node, name=name, callobj=getattr(module, name))


def _module_node(session: Any, path: str) -> Any:
    try:
        import pathlib

        return CanaryModule.from_parent(session, path=pathlib.Path(path))
    except TypeError:  # pytest before 7
        return CanaryModule.from_parent(session, fspath=session.config.rootdir.join(os.path.basename(path)))
