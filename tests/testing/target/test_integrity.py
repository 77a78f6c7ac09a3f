from __future__ import annotations

import builtins
import sys
import types
import unittest.case
from collections.abc import Callable, Iterator

import _pytest.reports
import _pytest.runner
import pluggy
import pytest

from planexec.testing.target.integrity import Guard, HookGuard


def never(path: str) -> bool:
    return False


@pytest.fixture
def guard() -> Guard:
    return Guard(never)


def test_an_untouched_process_has_no_findings(guard: Guard) -> None:
    assert guard.findings() == [] and guard.quick() is None


def replacement(*args: object, **kwargs: object) -> None: ...


TOUCHED: list[tuple[object, str, object, str]] = [
    (
        _pytest.runner,
        "call_and_report",
        replacement,
        "_pytest.runner.call_and_report was replaced by test_integrity.py",
    ),
    (_pytest.reports.TestReport, "from_item_and_call", classmethod(replacement), "from_item_and_call was replaced"),
    (unittest.case.TestCase, "assertEqual", replacement, "assertEqual was replaced"),
    (pytest, "raises", replacement, "pytest.raises was replaced"),
    (pytest, "fail", 3, "pytest.fail was removed or replaced"),
    (builtins, "AssertionError", ValueError, "builtins.AssertionError was replaced"),
]


@pytest.mark.parametrize(("owner", "name", "value", "finding"), TOUCHED)
def test_what_was_replaced_is_named(
    owner: object, name: str, value: object, finding: str, guard: Guard, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, value)
        found, quick = guard.findings(), guard.quick()
    assert any(finding in each for each in found), found
    assert (quick is not None) == (owner in (_pytest.runner, _pytest.reports.TestReport, unittest.case.TestCase))
    assert guard.findings() == []


def test_exchanged_code_and_defaults_are_seen(guard: Guard) -> None:
    function = _pytest.runner.pytest_runtest_setup
    code, defaults = function.__code__, function.__defaults__
    try:
        function.__code__ = (lambda item: None).__code__
        assert guard.quick() is not None
        function.__code__, function.__defaults__ = code, (1,)
        assert guard.findings() != []
    finally:
        function.__code__, function.__defaults__ = code, defaults
    assert guard.findings() == []


def test_additions_matter_where_they_cover_something(guard: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(unittest.case.TestCase, "assertSomething", replacement, raising=False)
        patched.setattr(_pytest.runner, "something", replacement, raising=False)
        assert guard.findings() == []
        patched.setattr(_pytest.runner, "isinstance", replacement, raising=False)
        patched.setattr(_pytest.reports.TestReport, "__getattribute__", replacement)
        found = guard.findings()
    assert any("_pytest.runner.isinstance was added" in each for each in found)
    assert any("TestReport.__getattribute__ was added" in each for each in found)


def test_a_replaced_module_is_seen(guard: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "pytest", types.ModuleType("pytest"))
        assert "module pytest was replaced" in guard.findings()


def test_an_installed_plugin_may(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = Guard(lambda path: path == __file__)
    with monkeypatch.context() as patched:
        patched.setattr(_pytest.runner, "call_and_report", replacement)
        patched.setattr(pytest, "raises", Allowed)
        assert guard.findings() == [] and guard.quick() is None


class Allowed:
    pass


hookspec, hookimpl = pluggy.HookspecMarker("demo"), pluggy.HookimplMarker("demo")


class Spec:
    @hookspec
    def pytest_runtest_call(self, item: object) -> None: ...

    @hookspec
    def pytest_pyfunc_call(self, item: object) -> None: ...


class Ours:
    @hookimpl
    def pytest_runtest_call(self, item: object) -> None: ...


Ours.__module__ = "planexec.testing.target.plugin"  # as our own plug-in, which has to stay


@pytest.fixture
def manager() -> Iterator[pluggy.PluginManager]:
    found = pluggy.PluginManager("demo")
    found.add_hookspecs(Spec)
    found.register(Ours(), "ours")
    yield found


CHANGES: list[tuple[Callable[[pluggy.PluginManager], object], str]] = [
    (lambda manager: manager.unregister(name="ours"), "implementation of hook pytest_runtest_call was removed"),
    (lambda manager: setattr(manager, "_inner_hookexec", replacement), "hook execution was replaced"),
    (lambda manager: setattr(manager.hook, "pytest_pyfunc_call", replacement), "hook pytest_pyfunc_call was replaced"),
    (
        lambda manager: setattr(manager.hook.pytest_runtest_call.get_hookimpls()[0], "function", replacement),
        "implementation of hook pytest_runtest_call was removed or replaced",
    ),
]


@pytest.mark.parametrize(("change", "finding"), CHANGES)
def test_hooks(change: Callable[[pluggy.PluginManager], object], finding: str, manager: pluggy.PluginManager) -> None:
    guard = HookGuard(manager)
    manager.register(types.SimpleNamespace(pytest_pyfunc_call=replacement), "another")
    assert guard.findings() == []
    change(manager)
    assert any(finding in each for each in guard.findings())
