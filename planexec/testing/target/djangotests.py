"""What ``manage.py test`` does around a Django project's tests, for one whose pytest knows nothing of Django.

A ``conftest.py`` that sets Django up by itself is left to it. pytest-django does the same and more: it is only told the
settings of ``manage.py`` where nothing else names any.
"""

from __future__ import annotations

import ast
import importlib.util
import os
from typing import Any, Callable, List, Optional

import pytest

from .places import Project

VARIABLE = "DJANGO_SETTINGS_MODULE"
TEST_FILES = "test*.py"  # Django's own pattern
_SIGNS = (VARIABLE, "django.setup", "settings.configure")


def settings_module(project: Project) -> str:
    """The settings that ``manage.py`` names, unless a ``conftest.py`` sets Django up; empty without Django."""
    try:
        with open(os.path.join(project.folder, "manage.py"), encoding="utf-8") as stream:
            named = named_settings(stream.read())
    except (OSError, ValueError):
        return ""
    if not named or _set_up_by_conftest(project):
        return ""
    return os.environ.get(VARIABLE, named) if importlib.util.find_spec("django") else ""


def named_settings(source: str) -> str:
    """The settings module that a ``manage.py`` names: ``setdefault`` or an assignment to the variable."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            texts = [each.value for each in node.args if isinstance(each, ast.Constant)]
            if len(texts) == 2 and texts[0] == VARIABLE:
                return str(texts[1])
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            targets = [ast.dump(each) for each in node.targets if isinstance(each, ast.Subscript)]
            if any(VARIABLE in target for target in targets):
                return str(node.value.value)
    return ""


def has_pytest_django(manager: Any) -> bool:
    """Whether pytest-django is loaded, as an installed plug-in or by its module's name."""
    return any(manager.hasplugin(name) for name in ("django", "pytest_django", "pytest_django.plugin"))


def tell_pytest_django(config: Any, args: List[str], settings: str) -> None:
    """Name the settings for pytest-django, and Django's pattern for test files, where the project names none for it."""
    asked = any(each.split("=")[0] in ("--ds", "--dc") for each in args)
    if not asked and VARIABLE not in os.environ and VARIABLE not in _configured(config):
        os.environ[VARIABLE] = settings
        _find_as_django_does(config)


def _find_as_django_does(config: Any) -> None:
    if "python_files" not in _configured(config):
        config.addinivalue_line("python_files", TEST_FILES)


def _configured(config: Any) -> Any:
    """The names in the project's own configuration; pytest 9 warns of the old attribute, which a project may forbid."""
    return config._inicfg if hasattr(config, "_inicfg") else config.inicfg


def _set_up_by_conftest(project: Project) -> bool:
    for folder in ("", "tests", "test"):
        try:
            with open(os.path.join(project.folder, folder, "conftest.py"), encoding="utf-8") as stream:
                text = stream.read()
        except (OSError, ValueError):
            continue
        if any(sign in text for sign in _SIGNS):
            return True
    return False


class DjangoTests:
    """A plug-in: settings and test environment before collection, test databases around the tests.

    ``trouble`` is called with one line when the databases cannot be set up; then no test is run.
    """

    def __init__(self, settings: str, trouble: Callable[[str], None], collect_only: bool) -> None:
        self._settings = settings
        self._trouble = trouble
        self._collect_only = collect_only
        self._runner: Any = None

    def set_up(self, config: Any) -> None:
        """What ``manage.py test`` does before it imports tests. Raises what the project's settings or models raise."""
        os.environ.setdefault(VARIABLE, self._settings)
        _find_as_django_does(config)
        import django

        django.setup()
        from django.conf import settings
        from django.test.utils import get_runner

        self._runner = get_runner(settings)(verbosity=0, interactive=False)
        self._runner.setup_test_environment()

    def pytest_collection_modifyitems(self, items: List[Any]) -> None:
        """Django's order: what rolls back before what empties the tables."""
        if self._runner is None:
            return
        from django.test import SimpleTestCase, TestCase

        def rank(item: Any) -> int:
            case = getattr(item, "cls", None) or object
            return 0 if issubclass(case, TestCase) else 1 if issubclass(case, SimpleTestCase) else 2

        items.sort(key=rank)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> Optional[bool]:
        """Make the test databases; they go with the sandbox. None: pytest's own loop follows."""
        if self._runner is None or self._collect_only:
            return None
        try:
            self._runner.setup_databases()
        except BaseException as error:  # some programs of databases end the process
            self._trouble("the test databases cannot be set up: %s: %s" % (type(error).__name__, error))
            return True
        return None
