"""A project that is tested by ``manage.py test``, with the real Django and a pytest that knows nothing of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from planexec.sandbox.interface import Sandbox
from planexec.testing.harness import Harness
from planexec.testing.interpreter import Interpreter

from .conftest import QUIET, ROOT

Project = Callable[[Mapping[str, str]], Path]

SITE = {
    "manage.py": """
        import os, sys

        if __name__ == "__main__":
            os.environ.setdefault("DJANGO_SETTINGS_MODULE", "site1.settings")
            from django.core.management import execute_from_command_line
            execute_from_command_line(sys.argv)
    """,
    "site1/__init__.py": "",
    "site1/settings.py": """
        SECRET_KEY = "x"
        INSTALLED_APPS = ["shop"]
        DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "real.sqlite3"}}
        DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
    """,
    "shop/__init__.py": "",
    "shop/models.py": """
        from django.db import models

        class Item(models.Model):
            price = models.IntegerField()

            def net(self, discount):
                return self.price + discount
    """,
    "shop/tests.py": """
        from django.core import mail
        from django.test import TestCase, TransactionTestCase
        from shop.models import Item

        class Emptying(TransactionTestCase):
            def test_empty(self):
                assert Item.objects.count() == 0

        class ItemTest(TestCase):
            def setUp(self):
                Item.objects.create(price=500)

            def test_net(self):
                self.assertEqual(Item.objects.get().net(50), 450)

            def test_mail(self):
                mail.send_mail("a", "b", "c@example.org", ["e@example.org"])
                self.assertEqual(len(mail.outbox), Item.objects.count())
    """,
}
NET = "shop/tests.py::ItemTest::test_net"


def test_settings_databases_and_the_pattern_of_django(project: Project, harness: Harness) -> None:
    tree = project(SITE)
    report = harness.run(tree, seconds=60)
    assert report.trusted, report.distrust
    assert {name: each.status for name, each in report.outcomes.items()} == {
        NET: "failed",
        "shop/tests.py::ItemTest::test_mail": "passed",
        "shop/tests.py::Emptying::test_empty": "passed",
    }
    assert list(report.outcomes)[-1].startswith("shop/tests.py::Emptying")  # Django's order
    assert not (tree / "real.sqlite3").exists()
    assert len(harness.collect(tree)) == 3
    with harness.warm(tree) as judge:
        assert judge.judge({}, [NET], seconds=60).failing == [NET]
        fixed = (tree / "shop" / "models.py").read_bytes().replace(b"+ discount", b"- discount")
        assert judge.judge({"shop/models.py": fixed}, [NET, "shop/tests.py"], seconds=60).outcome == "passed"


def test_databases_that_cannot_be_had_are_the_environment(project: Project, harness: Harness) -> None:
    engine = '{"ENGINE": "django.db.backends.sqlite3", "NAME": "x", "TEST": {"NAME": "/nowhere/x.sqlite3"}}'
    settings = f"SECRET_KEY = 'x'\nINSTALLED_APPS = ['shop']\nDATABASES = {{'default': {engine}}}\n"
    report = harness.run(project({**SITE, "site1/settings.py": settings}), seconds=60)
    assert report.outcomes == {} and not report.trusted
    assert report.environment_problem.startswith("the test databases cannot be set up: ")


def test_settings_that_cannot_be_imported_are_told(project: Project, harness: Harness) -> None:
    report = harness.run(project({**SITE, "site1/settings.py": "import a_package_that_nobody_has"}), seconds=60)
    assert "manage.py" in report.collection_errors and not report.green
    assert report.environment_problem == "no module named 'a_package_that_nobody_has' (needed by manage.py)"


SETUP = "import django, django.conf\ndjango.conf.settings.configure()\ndjango.setup()\n"


def test_a_project_that_sets_django_up_by_itself_is_left_alone(project: Project, harness: Harness) -> None:
    test = "from django.conf import settings\ndef test_a(): assert settings.configured and settings.DEBUG is False"
    settings = {"site1/__init__.py": "", "site1/settings.py": "raise RuntimeError('not wanted')"}
    tree = project({"manage.py": SITE["manage.py"], "conftest.py": SETUP, "test_a.py": test, **settings})
    report = harness.run(tree, seconds=60)
    assert [each.status for each in report.outcomes.values()] == ["passed"], report.output


@pytest.mark.parametrize(
    "settings",
    [
        "[pytest]\nDJANGO_SETTINGS_MODULE = site1.settings\npython_files = tests.py\n",
        "[pytest]\nfilterwarnings = error\n",  # installed, but the project names no settings for it
    ],
)
def test_a_plug_in_that_runs_the_cases_its_own_way(
    settings: str, project: Project, sandbox: Sandbox, interpreter: Interpreter
) -> None:
    loaded = Harness(sandbox, interpreter, ROOT, env={**QUIET, "PYTEST_PLUGINS": "pytest_django.plugin"})
    report = loaded.run(project({**SITE, "pytest.ini": settings}), seconds=60)
    assert report.trusted, report.distrust
    assert {name: each.status for name, each in report.outcomes.items()} == {
        NET: "failed",
        "shop/tests.py::ItemTest::test_mail": "passed",
        "shop/tests.py::Emptying::test_empty": "passed",
    }, report.output
