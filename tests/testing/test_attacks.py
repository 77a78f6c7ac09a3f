"""Ways in which product code could fake success. Each ends in a report that is not trusted, or in a red test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from planexec.sandbox.interface import Sandbox
from planexec.testing.harness import Harness
from planexec.testing.interpreter import Interpreter
from planexec.testing.outcomes import TestReport

from .conftest import QUIET, ROOT, write

TEST = """
    import unittest
    import pytest
    from product import answer


    def test_answer():
        assert answer() == 42


    def test_raises():
        with pytest.raises(ValueError):
            answer(bad=True)


    class TestCase(unittest.TestCase):
        def test_method(self):
            self.assertEqual(answer(), 42)

        def test_parts(self):
            for wanted in (42, 43):
                with self.subTest(wanted=wanted):
                    self.assertEqual(answer(), wanted)
"""

# Each defines ``answer``, which never is 42 and never raises ValueError, and tries to be believed all the same.
RIGHT = """
def answer(bad=False):
    if bad:
        raise ValueError("bad")
    return 42
"""
WRONG = "def answer(bad=False): return 41\n"
ATTACKS = {
    "os._exit at import": "import os; os._exit(0)\n" + WRONG,
    "os._exit in the call": "import os\ndef answer(bad=False): os._exit(0)\n",
    "os._exit with pytest's code": "import os\ndef answer(bad=False): os._exit(1)\n",
    "sys.exit at import": "import sys; sys.exit(0)\n" + WRONG,
    "sys.exit in the call": "import sys\ndef answer(bad=False): sys.exit(0)\n",
    "pytest.exit at import": "import pytest; pytest.exit('done', 0)\n" + WRONG,
    "pytest.exit in the call": "import pytest\ndef answer(bad=False): pytest.exit('done', 1)\n",
    "keyboard interrupt": "def answer(bad=False): raise KeyboardInterrupt\n",
    "kill": "import os, signal\ndef answer(bad=False): os.kill(os.getpid(), signal.SIGKILL)\n",
    "skip": "import pytest\ndef answer(bad=False): pytest.skip('not today')\n",
    "xfail": "import pytest\ndef answer(bad=False): pytest.xfail('known')\n",
    "no exception is seen": WRONG
    + """
import _pytest.runner as runner
original = runner.CallInfo.from_call.__func__
def from_call(cls, func, when, reraise=None):
    def quiet():
        try:
            return func()
        except BaseException:
            return None
    return original(cls, quiet, when, reraise)
runner.CallInfo.from_call = classmethod(from_call)
""",
    "reports are made green": WRONG
    + """
from _pytest.reports import TestReport
original = TestReport.from_item_and_call.__func__
def from_item_and_call(cls, item, call):
    report = original(cls, item, call)
    report.outcome, report.longrepr = 'passed', None
    return report
TestReport.from_item_and_call = classmethod(from_item_and_call)
""",
    "tests are not called": WRONG
    + """
import pytest
pytest.Function.runtest = lambda self: None
""",
    "tests are not called, put back": WRONG
    + """
import pytest, threading
original = pytest.Function.runtest
def runtest(self):
    if 'canary' in self.name or not self.path.exists():
        pytest.Function.runtest = original
        return original(self)
pytest.Function.runtest = runtest
""",
    "code of a hook is exchanged": WRONG
    + """
import _pytest.python
def pytest_pyfunc_call(pyfuncitem): return True
_pytest.python.pytest_pyfunc_call.__code__ = pytest_pyfunc_call.__code__
""",
    "hook implementations are exchanged": WRONG
    + """
import gc
from pluggy._hooks import HookImpl
for each in gc.get_objects():
    if isinstance(each, HookImpl) and each.function.__name__ == 'pytest_pyfunc_call' and not each.hookwrapper:
        each.function = lambda pyfuncitem: True
        each.argnames = ('pyfuncitem',)
""",
    "a plug-in is registered late": """
import gc
class Plugin:
    def pytest_runtest_makereport(self, item, call):
        call.excinfo = None
def answer(bad=False):
    from _pytest.config import PytestPluginManager
    for each in gc.get_objects():
        if isinstance(each, PytestPluginManager) and not each.has_plugin('x'):
            each.register(Plugin(), 'x')
    return 41
""",
    "our plug-in is taken out": WRONG
    + """
import gc
from _pytest.config import PytestPluginManager
for manager in [each for each in gc.get_objects() if isinstance(each, PytestPluginManager)]:
    for plugin in manager.get_plugins():
        if type(plugin).__name__ == 'Recorder':
            manager.unregister(plugin)
""",
    "our plug-in is told lies": WRONG
    + """
import gc
for each in gc.get_objects():
    if type(each).__name__ == 'Recorder':
        original = each.pytest_runtest_logreport
        def lie(report):
            report.outcome = 'passed'
            original(report)
        each.pytest_runtest_logreport = lie
        each.bodies.outcomes = type('Yes', (dict,), {'get': lambda self, key, default=None: 'passed'})()
""",
    "our channel is rewritten": WRONG
    + """
import gc, atexit, os
for each in gc.get_objects():
    if type(each).__name__ == 'Channel':
        original = type(each).emit
        def emit(self, kind, **fields):
            if fields.get('outcome') == 'failed':
                fields.update(outcome='passed', body='passed')
            original(self, kind, **fields)
        type(each).emit = emit
""",
    "the report is forged in the file": """
import json, os
def answer(bad=False):
    for name in os.listdir('/proc/self/fd'):
        if os.path.realpath('/proc/self/fd/' + name).endswith('report.jsonl'):
            os.write(int(name), json.dumps({'kind': 'closing', 'exit': 1}).encode() + b'\\n')
            os.write(int(name), json.dumps({'kind': 'seal', 'digest': '0' * 64}).encode() + b'\\n')
            os._exit(1)
    return 41
""",
    "a child rewrites the report later": """
import os, time
def answer(bad=False):
    if os.fork() == 0:
        os.setsid()
        time.sleep(0.3)
        for folder, _, files in os.walk('/planexec/channel'):
            for name in files:
                path = os.path.join(folder, name)
                text = open(path).read().replace('"failed"', '"passed"').replace('"raised"', '"passed"')
                open(path, 'w').write(text)
        os._exit(0)
    time.sleep(0.2)
    return 41
""",
    "atexit": WRONG
    + """
import atexit, os
def forge():
    for name in os.listdir('/planexec/channel'):
        path = '/planexec/channel/' + name
        text = open(path).read().replace('"failed"', '"passed"').replace('"raised"', '"passed"')
        open(path, 'w').write(text)
atexit.register(forge)
""",
    "unittest's assertions are gone": WRONG
    + """
import unittest
unittest.TestCase.assertEqual = lambda self, first, second, msg=None: None
""",
    "unittest cases do not run": WRONG
    + """
import unittest
unittest.TestCase.run = lambda self, result=None: result
unittest.TestCase.__call__ = lambda self, *args, **kwds: None
""",
    "pytest.raises accepts everything": WRONG
    + """
import contextlib, pytest
pytest.raises = lambda *args, **kwargs: contextlib.suppress(BaseException)
""",
    "a fake pytest module": WRONG
    + """
import sys, types, contextlib, pytest
fake = types.ModuleType('pytest')
fake.__dict__.update(vars(pytest))
fake.raises = lambda *args, **kwargs: contextlib.suppress(BaseException)
sys.modules['pytest'] = fake
""",
    "builtins": WRONG
    + """
import builtins
builtins.AssertionError = type('AssertionError', (Exception,), {})
""",
    "the assertion rewriting is changed": WRONG
    + """
import _pytest.assertion.rewrite as rewrite
rewrite.AssertionRewriter.visit_Assert = lambda self, node: []
""",
    "tests are taken out of the session": WRONG
    + """
import gc
import pytest
class Gone(list):
    pass
def empty():
    for each in gc.get_objects():
        if isinstance(each, pytest.Session):
            each.items[:] = [item for item in each.items if not item.path.exists()]
original_answer = answer
def answer(bad=False):
    empty()
    return 41
""",
    "the code of the other tests is exchanged": """
import gc, types
def nothing(*args, **kwargs): pass
def answer(bad=False):
    for each in gc.get_objects():
        if isinstance(each, types.FunctionType) and each.__name__ in ('test_raises', 'test_method'):
            each.__code__ = nothing.__code__
    return 41
""",
    "pluggy runs our code": WRONG
    + """
import gc
from _pytest.config import PytestPluginManager
for manager in [each for each in gc.get_objects() if isinstance(each, PytestPluginManager)]:
    original = manager._inner_hookexec
    def execute(name, methods, kwargs, firstresult, original=original):
        if name == 'pytest_pyfunc_call' and kwargs['pyfuncitem'].path.exists():
            return True
        return original(name, methods, kwargs, firstresult)
    manager._inner_hookexec = execute
""",
}


# Ways of a conftest.py to pass over the bodies of the tests, whatever the product does; the planted test is spared.
CONFTESTS = {
    "a hook takes the place of the body": """
def pytest_pyfunc_call(pyfuncitem):
    return True if pyfuncitem.path.exists() else None
""",
    "the body is exchanged in set-up": """
def pytest_runtest_setup(item):
    if item.path.exists():
        item.obj = lambda: None
""",
    "the bodies are exchanged after collection": """
def pytest_collection_modifyitems(items):
    for item in items:
        item.obj = lambda *args: None
""",
    "the code is exchanged in set-up": """
def nothing(*args): pass
def pytest_runtest_setup(item):
    if item.path.exists():
        getattr(item.obj, '__func__', item.obj).__code__ = nothing.__code__
""",
    "a failure is taken back": """
import pytest
@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    outcome = yield
    if pyfuncitem.path.exists():
        outcome.force_result(True)
""",
}


@pytest.fixture(scope="module")
def reports(
    sandbox: Sandbox, interpreter: Interpreter, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[str, Future[TestReport]]]:
    """All of them, several at a time."""
    harness = Harness(sandbox, interpreter, ROOT, env=QUIET)

    def run(source: str, conftest: str = "") -> TestReport:
        tree = write(tmp_path_factory.mktemp("attack"), {"test_product.py": TEST})
        (tree / "product.py").write_text(source)
        (tree / "conftest.py").write_text(conftest)
        return harness.run(tree, seconds=60)

    with ThreadPoolExecutor(max_workers=3) as pool:
        with_product = {name: pool.submit(run, source) for name, source in {**ATTACKS, "": RIGHT}.items()}
        yield {**with_product, **{name: pool.submit(run, WRONG, conftest) for name, conftest in CONFTESTS.items()}}


@pytest.mark.parametrize("name", [*ATTACKS, *CONFTESTS])
def test_no_attack_is_believed(name: str, reports: Mapping[str, Future[TestReport]]) -> None:
    report = reports[name].result()
    assert not report.green
    assert report.trusted or report.distrust
    # What is not caught red-handed shows no test as passed.
    assert not report.trusted or not report.with_status("passed"), report.output


def test_honest_code_is_believed(reports: Mapping[str, Future[TestReport]]) -> None:
    report = reports[""].result()
    assert report.trusted, report.distrust
    assert report.with_status("passed") == [
        "test_product.py::test_answer",
        "test_product.py::test_raises",
        "test_product.py::TestCase::test_method",
    ]
    # One of its subtests is red, whatever the closing report of the test says.
    assert report.with_status("failed") == ["test_product.py::TestCase::test_parts"]


def test_a_pytest_module_in_the_tree_is_not_used(
    harness: Harness, project: Callable[[Mapping[str, str]], Path]
) -> None:
    tree = project(
        {
            "pytest.py": "def main(*args, **kwargs): return 1\n",
            "_pytest/__init__.py": "",
            "pluggy.py": "",
            "test_it.py": "def test_it(): assert 1 == 2\n",
        }
    )
    report = harness.run(tree, seconds=60)
    assert report.with_status("failed") == ["test_it.py::test_it"]
    # A repository that has modules of these names is about them, and they are not what was run.
    assert not report.trusted and "tests import '_pytest' from" in report.distrust
