from __future__ import annotations

import importlib.util
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planexec.testing.target.places import Project
from planexec.testing.target.recode import Functions, exchange

BASE = """\
import functools

def passed(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments)
    return wrapper

def plain(x):
    return x + 1

@passed
def wrapped(x):
    return x + 1

@functools.lru_cache()
def cached(x):
    return x + 1

def outer(x):
    def inner(y):
        return y + 1
    return inner(x)

class Thing:
    size = 1

    def method(self, x):
        return x + 1

    @staticmethod
    def static(x):
        return x + 1

    @property
    def value(self):
        return 1

def default(x, more=1):
    return x + more

def at_import(x):
    return x + 1

TABLE = [at_import(1)]
one_line = lambda x: x + 1
"""
RAN_LINES = [number for number, line in enumerate(BASE.splitlines(), 1) if line and line[0] not in " )"]
AT_IMPORT = next(n for n, line in enumerate(BASE.splitlines(), 1) if line == "def at_import(x):") + 1
WRAPS = [4, 5, 7]
_numbers = itertools.count()


@pytest.fixture
def loaded(tmp_path: Path, contained: None) -> Callable[[str], tuple[ModuleType, Functions]]:
    def load(text: str, ran: list[int] | None = None) -> tuple[ModuleType, Functions]:
        (tmp_path / "product.py").write_text(text)
        module = fresh(tmp_path / "product.py")
        lines = [*RAN_LINES, AT_IMPORT, *WRAPS] if ran is None else ran
        return module, Functions(Project(str(tmp_path)), {"product.py": lines})

    return load


def fresh(path: Path) -> ModuleType:
    name = f"product_{next(_numbers)}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def answers(module: ModuleType) -> list[Any]:
    thing = module.Thing()
    calls = (module.plain, module.wrapped, module.cached, module.outer, thing.method, module.Thing.static)
    return [*(call(10) for call in calls), thing.value, module.default(10), module.TABLE, module.one_line(10)]


@pytest.mark.parametrize(
    ("before", "after", "place"),
    [
        ("def plain(x):\n    return x + 1", "def plain(x):\n    return x - 1", 0),
        ("def wrapped(x):\n    return x + 1", "def wrapped(x):\n    y = 5\n\n    return x * y", 1),
        ("def cached(x):\n    return x + 1", "def cached(x):\n    return x - 1", 2),
        ("        return y + 1", "        return y - 1", 3),
        ("    def method(self, x):\n        return x + 1", "    def method(self, x):\n        return x - 1", 4),
        ("    def static(x):\n        return x + 1", "    def static(x):\n        return [x for _ in 'ab']", 5),
        ("        return 1\n", "        return True\n", 6),
        ("    return x + more", "    return x - more", 7),
    ],
)
def test_code_is_exchanged(
    loaded: Callable[[str], tuple[ModuleType, Functions]], tmp_path: Path, before: str, after: str, place: int
) -> None:
    module, functions = loaded(BASE)
    was = answers(module)
    module.cached.cache_clear()
    text = BASE.replace(before, after)
    assert text != BASE
    found = functions.exchanges("product.py", text.encode())
    assert found
    exchange(found)
    (tmp_path / "new.py").write_text(text)
    now = answers(module)
    assert repr(now) == repr(answers(fresh(tmp_path / "new.py")))
    assert [index for index, pair in enumerate(zip(was, now, strict=True)) if repr(pair[0]) != repr(pair[1])] == [place]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("more=1", "more=2"),  # a default
        ("size = 1", "size = 2"),  # a class body
        ("TABLE = [at_import(1)]", "TABLE = [at_import(2)]"),  # a module's body
        ("def at_import(x):\n    return x + 1", "def at_import(x):\n    return x - 1"),  # its value is in the table
        ("lambda x: x + 1", "lambda x: x - 1"),  # its only line ran at import
        ("@passed\n", ""),  # a decorator
        ("def inner(y):\n        return y + 1", "def inner(y):\n        return x + 1\n    inner.x = x"[:40]),
        ("def plain(x):", "def plain(x:"),  # broken
        ("def plain(x):\n    return x + 1", ""),  # gone
        ("        return function(*arguments)", "        return wraps(*arguments)\n    wraps = function"),
    ],
)
def test_what_cannot_be_exchanged_is_declined(
    loaded: Callable[[str], tuple[ModuleType, Functions]], before: str, after: str
) -> None:
    _, functions = loaded(BASE)
    text = BASE.replace(before, after)
    assert text != BASE
    found = functions.exchanges("product.py", text.encode())
    if found is not None:  # an inner function that is made anew at each call may change as it likes
        assert "inner" in before


def test_a_live_closure_is_exchanged_with_what_made_it(
    loaded: Callable[[str], tuple[ModuleType, Functions]],
) -> None:
    module, functions = loaded(BASE)
    text = BASE.replace("        return function(*arguments)", "        return function(*arguments) * 2")
    found = functions.exchanges("product.py", text.encode())
    assert found is not None
    exchange(found)
    assert (module.wrapped(10), module.passed(module.plain)(10)) == (22, 22)


def test_a_file_that_is_not_loaded_needs_nothing(
    loaded: Callable[[str], tuple[ModuleType, Functions]], tmp_path: Path
) -> None:
    _, functions = loaded(BASE)
    (tmp_path / "later.py").write_text("def f():\n    return 1\n")
    assert functions.exchanges("later.py", b"def f():\n    return 2\n") == []


EXPRESSIONS = ["x + 1", "x - 1", "x * 1.0", "True", "1", "[x for x in (1, 2)]", "(lambda y: y + x)(1)", "-0.0", "0.0"]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    before=st.lists(st.sampled_from(EXPRESSIONS), min_size=6, max_size=6),
    after=st.lists(st.sampled_from(EXPRESSIONS), min_size=6, max_size=6),
)
def test_an_exchange_is_as_good_as_loading(
    contained: None, tmp_path: Path, before: list[str], after: list[str]
) -> None:
    """Either it is declined, or every function gives what it gives in a fresh module."""

    def text(parts: list[str]) -> str:
        return (
            f"x = 3\ndef a(x):\n    return {parts[0]}\ndef b(x, y={parts[1]}):\n    return {parts[2]}, y\n"
            f"class C:\n    z = {parts[3]}\n    def c(self, x):\n        def d(y):\n            return {parts[4]}, y\n"
            f"        return d({parts[5]})\n"
        )

    root = tmp_path / str(next(_numbers))  # bytecode of one text must not stand for another of the same length
    root.mkdir()
    (root / "product.py").write_text(text(before))
    (root / "other.py").write_text(text(after))
    module = fresh(root / "product.py")
    ran = [1, 2, 4, 6, 7, 8]
    found = Functions(Project(str(root)), {"product.py": ran}).exchanges("product.py", text(after).encode())
    if found is None:
        return
    exchange(found)
    other = fresh(root / "other.py")
    for each in (module, other):
        each.result = [each.a(5), each.b(5), each.C.z, each.C().c(5)]
    assert repr(module.result) == repr(other.result)
