"""Whether pytest, pluggy and unittest are still what they were: identities taken before the project is loaded.

Product code and pytest share one process, so this is strong evidence and not proof.
"""

from __future__ import annotations

import builtins
import importlib
import operator
import os
import sys
import types
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from .places import origin

PREFIXES = ("pytest", "_pytest", "pluggy")
MODULES = ("unittest", "unittest.case", "unittest.result", "unittest.suite")
# What decides about one test: looked at after every passed test.
CRITICAL = (
    "_pytest.runner",
    "_pytest.reports",
    "_pytest.unittest",
    "pluggy._callers",
    "pluggy._hooks",
    "unittest.case",
)
# Names that programs replace for good reasons.
LOOSE_BUILTINS = frozenset(
    [
        "_",
        "__import__",
        "print",
        "input",
        "open",
        "exit",
        "quit",
        "help",
        "copyright",
        "credits",
        "license",
        "breakpoint",
    ]
)

Mark = Tuple[Any, Any, Any, Any]


def _mark(value: Any) -> Mark:
    """What must stay the same: the object itself and, of a function, its code and defaults."""
    inner = _function(value)
    if isinstance(inner, types.FunctionType):
        return value, inner.__code__, inner.__defaults__, inner.__kwdefaults__
    return value, None, None, None


def _function(value: Any) -> Any:
    return value.fget if isinstance(value, property) else getattr(value, "__func__", value)


def _entries(module: Any, name: str) -> Iterator[Tuple[str, Any]]:
    for key, value in list(vars(module).items()):
        if isinstance(value, type):
            yield name + "." + key, value
            if value.__module__ == name:
                for attribute, member in list(vars(value).items()):
                    if isinstance(member, (types.FunctionType, classmethod, staticmethod, property)):
                        yield name + "." + key + "." + attribute, member
        elif callable(value):
            yield name + "." + key, value


def _ours(name: str, package: str) -> bool:
    return name in MODULES or name.partition(".")[0] in PREFIXES or name == package or name.startswith(package + ".")


class Guard:
    """Takes the identities when made; ``findings`` compares. ``allowed`` tells which file may replace them
    (a plug-in that is installed beside pytest), from the path of the replacing function.
    """

    def __init__(self, allowed: Callable[[str], bool]) -> None:
        self._allowed = allowed
        package = __name__.rpartition(".")[0]
        for name in MODULES:
            importlib.import_module(name)
        self._modules = {name: module for name, module in list(sys.modules.items()) if _ours(name, package)}
        self._tables: Dict[str, Dict[str, Mark]] = {
            name: {key: _mark(value) for key, value in _entries(module, name)} for name, module in self._modules.items()
        }
        self._critical = list(self._flat())
        self._builtins = {key: value for key, value in vars(builtins).items() if key not in LOOSE_BUILTINS}

    def _flat(self) -> Iterator[Tuple[Any, str, Any, Any, Any]]:
        """Owner, attribute, value, function and code of everything that ``quick`` looks at."""
        for name, module in self._modules.items():
            if name in CRITICAL or name.startswith("pluggy."):
                for key, (value, code, _, _) in self._tables[name].items():
                    parts = key[len(name) + 1 :].split(".")
                    owner = module if len(parts) == 1 else vars(module)[parts[0]]
                    yield owner, parts[-1], value, _function(value), code

    def quick(self) -> Optional[str]:
        """The first change in what decides about one test; None when there is none."""
        for owner, attribute, value, function, code in self._critical:
            if vars(owner).get(attribute) is not value or (code is not None and function.__code__ is not code):
                break
        else:
            return None
        for name in self._tables:
            if name in CRITICAL or name.startswith("pluggy."):
                for finding in self._changes(name):
                    return finding
        return None

    def findings(self) -> List[str]:
        """Every change, one line each, at most ten."""
        found: List[str] = []
        for name, module in self._modules.items():
            if sys.modules.get(name) is not module:
                found.append("module %s was replaced" % name)
            found.extend(self._changes(name))
        now = vars(builtins)
        found.extend(
            "builtins.%s was replaced" % key for key in self._builtins if now.get(key) is not self._builtins[key]
        )
        return found[:10]

    def _changes(self, name: str) -> Iterator[str]:
        before = self._tables[name]
        seen = 0
        for key, value in _entries(self._modules[name], name):
            old = before.get(key)
            now = _mark(value)
            if old is not None:
                seen += 1
                if all(map(operator.is_, old, now)):
                    continue
            if (old is not None or _shadows(self._modules[name], key)) and not self._allowed(origin(value)):
                yield "%s was %s by %s" % (key, "replaced" if old else "added", _place(origin(value)))
        if seen != len(before):
            present = {key for key, _ in _entries(self._modules[name], name)}
            for key in before:
                if key not in present and not self._excused(key):
                    yield "%s was removed or replaced" % key

    def _excused(self, key: str) -> bool:
        """An entry that vanished because a permitted plug-in put something else there."""
        module_name = max((name for name in self._modules if key.startswith(name + ".")), key=len)
        value: Any = self._modules[module_name]
        for part in key[len(module_name) + 1 :].split("."):
            value = vars(value).get(part) if hasattr(value, "__dict__") else None
        return self._allowed(origin(value))


def _shadows(module: Any, key: str) -> bool:
    """Whether an added entry covers another: a module's global a builtin, a class member an inherited one."""
    parts = key[len(module.__name__) + 1 :].split(".")
    if len(parts) == 1:
        return hasattr(builtins, parts[0])
    bases = getattr(module, parts[0]).__mro__[1:]
    return parts[1].startswith("__") or any(parts[1] in vars(base) for base in bases)


def _place(path: str) -> str:
    return os.path.basename(path) if path else "something without a source file"


def hook_callers(manager: Any) -> Dict[str, Any]:
    """Every hook of a pluggy manager: its name and the object that calls it."""
    return {name: caller for name, caller in vars(manager.hook).items() if not name.startswith("__")}


class HookGuard:
    """Whether the hooks are still called by pluggy and our plug-in and pytest's own are still among them."""

    WATCHED = (
        "pytest_runtest_protocol",
        "pytest_runtest_call",
        "pytest_pyfunc_call",
        "pytest_runtest_makereport",
        "pytest_runtest_logreport",
        "pytest_runtest_setup",
        "pytest_runtest_teardown",
        "pytest_runtestloop",
    )

    def __init__(self, manager: Any) -> None:
        self._manager = manager
        self._execute = getattr(manager, "_inner_hookexec", None)
        self._callers = hook_callers(manager)
        self._implementations = {name: self._functions(name) for name in self.WATCHED}

    def _functions(self, name: str) -> List[Tuple[Any, Any]]:
        caller = self._callers.get(name)
        found = caller.get_hookimpls() if caller is not None else []
        return [(each, each.function) for each in found if _settled(each.plugin)]

    def findings(self) -> List[str]:
        """Every change, one line each."""
        found: List[str] = []
        now = hook_callers(self._manager)
        found.extend("hook %s was replaced" % name for name, each in self._callers.items() if now.get(name) is not each)
        if getattr(self._manager, "_inner_hookexec", None) is not self._execute:
            found.append("pluggy's hook execution was replaced")
        for name, before in self._implementations.items():
            present = self._functions(name)
            for each, function in before:
                if not any(other is each and run is function for other, run in present):
                    found.append("an implementation of hook %s was removed or replaced" % name)
        return found


def _settled(plugin: Any) -> bool:
    """Whether a plug-in stays for the whole run: our own one and the modules that pytest loads by itself."""
    name = getattr(plugin, "__name__", "") or type(plugin).__module__
    package = __name__.rpartition(".")[0]
    return name in ("_pytest.runner", "_pytest.python", "_pytest.unittest", "_pytest.skipping", "_pytest.main") or (
        name.startswith(package + ".")
    )
