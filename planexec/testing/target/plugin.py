"""The pytest plug-in that tells the host what happened: every report, the body's own outcome, the planted test."""

from __future__ import annotations

import os
import sys
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

import _pytest
import pytest

from . import failures, options
from .bodies import NOT_RUN, PASSED, RAISED, Bodies
from .canary import make_canary
from .channel import Channel
from .djangotests import DjangoTests, has_pytest_django, settings_module, tell_pytest_django
from .integrity import Guard, HookGuard
from .places import Project
from .selection import Selection
from .tracer import Tracer


def plugin_places(manager: Any) -> List[str]:
    """Files and folders of the installed pytest plug-ins: what they replace in pytest is allowed."""
    found = []
    for plugin, distribution in manager.list_plugin_distinfo():
        name = getattr(plugin, "__name__", "") or type(plugin).__module__
        tops = {name.split(".")[0]}
        tops.update(file.parts[0] for file in distribution.files or [] if len(file.parts) > 1)
        for top in tops:
            place = getattr(sys.modules.get(top), "__file__", None)
            if place:
                is_package = os.path.basename(place).startswith("__init__.")
                found.append(os.path.dirname(place) + os.sep if is_package else place)
    return found


class Order:
    """What one run is asked for: which tests, in which mode, where its records go.

    ``mode`` is ``run``, ``collect``, ``trace`` or ``judge``, which runs the tests in the wanted order and calls
    ``stop`` at the first red one. ``canary`` is the name of the planted test. ``patterns`` are further globs of test
    files.
    """

    def __init__(
        self,
        channel: Channel,
        wanted: Selection,
        canary: str,
        mode: str,
        stop: Optional[Callable[[], None]] = None,
        patterns: Sequence[str] = (),
    ) -> None:
        self.channel = channel
        self.wanted = wanted
        self.canary = canary
        self.mode = mode
        self.stop = stop
        self.patterns = patterns


class Recorder:
    """The plug-in. Identities are taken when it is made; it needs an ``order`` before conftests are loaded.

    ``pause`` is called with pytest's configuration and arguments when all plug-ins are loaded and nothing of the
    project is: the warm process forks there. ``hold`` is called with pytest's session when all is collected and nothing
    has run: the held process forks there.
    """

    order: Order

    def __init__(
        self,
        project: Project,
        tracer: Optional[Tracer] = None,
        pause: Optional[Callable[[Any, List[str]], None]] = None,
        hold: Optional[Callable[[Any], None]] = None,
    ) -> None:
        self.project = project
        self.tracer = tracer
        self.pause = pause
        self.hold = hold
        self.bodies = Bodies(project)
        self.raised: Dict[Any, str] = {}
        self.places: Optional[List[str]] = None
        self.guard = Guard(self.allowed)
        self.hooks: Optional[HookGuard] = None
        self.manager: Any = None
        self.settled = False

    def allowed(self, path: str) -> bool:
        """Whether code of that file may replace parts of pytest."""
        if not path or self.project.relative(path) is not None:
            return False
        if self.places is None:
            self.places = plugin_places(self.manager) if self.manager is not None else []
            self.places += [os.path.dirname(pytest.__file__) + os.sep, os.path.dirname(_pytest.__file__) + os.sep]
        return any(path.startswith(each) for each in self.places)

    # -- configuration

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: Any, parser: Any, args: List[str]) -> Iterator[None]:
        """Settle the early options; afterwards teach the parser what a missing reporting plug-in would have."""
        self.manager = early_config.pluginmanager
        self.hooks = HookGuard(self.manager)
        if self.pause is not None:
            self.pause(early_config, args)
        options.settle(early_config.known_args_namespace, self.order.mode == "collect")
        self.set_up_django(early_config, args)
        for pattern in self.order.patterns:
            early_config.addinivalue_line("python_files", pattern)
        outcome = yield
        error = outcome.excinfo  # type: ignore[attr-defined]
        if error is not None:
            self.conftest_failed(error[1])
        else:
            options.tolerate(parser, args)

    def set_up_django(self, config: Any, args: List[str]) -> None:
        """Where the tests are those of ``manage.py test`` and nothing else sets Django up."""
        settings = settings_module(self.project)
        if not settings:
            return
        if has_pytest_django(self.manager):
            tell_pytest_django(config, args, settings)
            return
        tests = DjangoTests(settings, self.environment_lacks, self.order.mode == "collect")
        self.manager.register(tests, "planexec-django")
        try:
            tests.set_up(config)
        except Exception as error:
            self.collection_error("manage.py", "%s: %s" % (failures.exception_name(type(error)), error), error)

    def environment_lacks(self, text: str) -> None:
        """Tell the host what stands in the way of running any test."""
        self.order.channel.emit("environment", text=text)

    def conftest_failed(self, error: Any) -> None:
        """A ``conftest.py`` that cannot be imported ends the run before it begins: say which and why."""
        path = str(getattr(error, "path", "") or "conftest.py")
        excinfo = getattr(error, "excinfo", None)
        cause = excinfo[1] if isinstance(excinfo, tuple) else getattr(error, "cause", None) or error
        text = "%s: %s" % (failures.exception_name(type(cause)), cause)
        self.collection_error(self.project.below_folder(path), text, cause)

    def collection_error(self, name: str, text: str, cause: Any) -> None:
        """Record it, and whether its cause is a package that the environment lacks."""
        self.order.channel.emit("collection_error", id=name, text=failures.shortened(text, failures.DETAIL_CHARACTERS))
        module = failures.missing_module(cause)
        if module and not self.project.provides(module):
            self.order.channel.emit("environment", text="no module named %r (needed by %s)" % (module, name))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: Any) -> Iterator[None]:
        """Settle the options before any plug-in, such as xdist, acts on them."""
        options.settle(config.option, self.order.mode == "collect")
        yield

    # -- collection

    def pytest_ignore_collect(self) -> Optional[bool]:
        """Ignore everything when no wanted file exists: an empty list of arguments would mean the whole suite."""
        wanted = self.order.wanted
        return True if wanted and not wanted.files(self.project.folder) else None

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, session: Any, config: Any, items: List[Any]) -> Iterator[None]:
        """After all others: keep the wanted tests, in the wanted order when judging, and plant the canary last."""
        yield
        places = {id(item): self.order.wanted.place(item.nodeid) for item in items}
        dropped = [item for item in items if places[id(item)] is None]
        kept = [item for item in items if places[id(item)] is not None]
        if self.order.mode == "judge":
            kept.sort(key=lambda item: places[id(item)] or 0)
        if dropped:
            config.hook.pytest_deselected(items=dropped)
        items[:] = kept
        self.order.channel.emit("collected", ids=[item.nodeid for item in kept])
        if self.order.mode != "collect":
            items.append(make_canary(session, self.order.canary))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector: Any) -> Iterator[None]:
        """Record a collection error with its cause."""
        outcome = yield
        if outcome.excinfo is not None:  # type: ignore[attr-defined]
            return
        report = outcome.get_result()  # type: ignore[attr-defined]
        if report.outcome == "failed":
            excinfo = getattr(getattr(report, "call", None), "excinfo", None)
            cause = excinfo.value if excinfo is not None else None
            self.collection_error(report.nodeid or ".", str(report.longrepr), cause)
            if self.tracer is not None and excinfo is not None:
                self.tracer.failed(report.nodeid, failures.frames_of(excinfo, self.project))

    @pytest.hookimpl(tryfirst=True)
    def pytest_itemcollected(self, item: Any) -> None:
        """Keep what the item will run, before anybody may change it."""
        self.bodies.collected(item)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: Any) -> None:
        """From here on the tests run: plug-ins that appear later have no business here."""
        self.settled = True

    # -- running

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> Iterator[None]:
        """Let the held process wait here."""
        if self.hold is not None:
            self.hold(session)
        yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        """Say which test runs, so that a process that dies can be blamed on it."""
        self.order.channel.emit("start", id=item.nodeid)
        if self.tracer is not None and not self.planted(item.nodeid):
            self.tracer.enter(item.nodeid)
        yield
        if self.tracer is not None:
            self.tracer.leave()

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self, item: Any) -> Iterator[None]:
        """Watch the body of a unittest method, and of items that are no functions."""
        is_case = hasattr(item, "addFailure") and hasattr(item, "obj")
        if is_case:
            self.check_body(item)
            self.bodies.watch(item)
        if self.tracer is not None and not self.planted(item.nodeid):
            self.tracer.arm()  # a test before may have set a tracer of its own
        outcome = yield
        if is_case and getattr(item, "_excinfo", None):
            self.bodies.outcomes[item.nodeid] = RAISED
        elif item.nodeid not in self.bodies.outcomes and not _calls_python_function(item):
            failed = outcome.excinfo is not None  # type: ignore[attr-defined]
            self.bodies.outcomes[item.nodeid] = RAISED if failed else PASSED

    def check_body(self, item: Any) -> None:
        """Tell the host when it is not the body that was collected."""
        finding = self.bodies.changed(item)
        if finding:
            self.order.channel.emit("finding", text=finding)

    def planted(self, nodeid: str) -> bool:
        """Whether that is the canary."""
        return nodeid.startswith(self.order.canary + ".py::")

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_pyfunc_call(self, pyfuncitem: Any) -> Iterator[None]:
        """Our own wrapper around a test function, whoever calls it: nobody's hook may pass for its body."""
        self.check_body(pyfuncitem)
        whole = pyfuncitem.obj
        self.bodies.watch(pyfuncitem)
        yield
        pyfuncitem.obj = whole

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Iterator[None]:
        """Keep the exception's name: a report has only text."""
        yield
        if call.excinfo is not None:
            self.raised[item.nodeid, call.when] = failures.exception_name(call.excinfo.type)
        else:
            self.raised.pop((item.nodeid, call.when), None)

    def pytest_exception_interact(self, node: Any, call: Any, report: Any) -> None:
        """Keep the project's frames of a failure."""
        if self.tracer is not None and call.excinfo is not None and not self.planted(report.nodeid):
            self.tracer.failed(report.nodeid, failures.frames_of(call.excinfo, self.project))

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        """Write one record for each report; the host folds those of an id."""
        subtest = type(report).__name__.lower() == "subtestreport"  # pytest 9 and the plug-in pytest-subtests
        if subtest and report.outcome == "passed":
            return  # some projects have tens of thousands, and they decide nothing
        self.order.channel.emit(
            "report",
            id=report.nodeid,
            when=report.when,
            outcome=report.outcome,
            xfail=hasattr(report, "wasxfail"),
            subtest=subtest,
            body="" if subtest or report.when != "call" else self.bodies.outcomes.get(report.nodeid, NOT_RUN),
            exception=self.raised.get((report.nodeid, report.when), "") if report.outcome != "passed" else "",
            message=failures.message_of(report) if report.outcome != "passed" else "",
            detail=failures.detail_of(report),
            seconds=float(getattr(report, "duration", 0.0)),
        )
        if report.when == "call" and report.outcome == "passed":
            finding = self.guard.quick()
            if finding:
                self.order.channel.emit("finding", text=finding)
        if report.outcome == "failed" and self.order.stop is not None and not self.planted(report.nodeid):
            self.order.stop()

    @pytest.hookimpl(tryfirst=True)
    def pytest_plugin_registered(self, plugin: Any) -> None:
        """A plug-in that is registered while the tests run, by code of the project, is suspicious."""
        module = sys.modules.get(type(plugin).__module__) if not hasattr(plugin, "__name__") else plugin
        place = str(getattr(module, "__file__", "") or "")
        if self.settled and self.project.relative(place) and os.path.basename(place) != "conftest.py":
            self.order.channel.emit("finding", text="a pytest plug-in was registered by %s" % os.path.basename(place))

    # -- the end

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: Any) -> Iterator[None]:
        """Take the planted test out of what is printed: people read those counts."""
        reporter = self.manager.get_plugin("terminalreporter")
        for reports in getattr(reporter, "stats", {}).values():
            reports[:] = [each for each in reports if not self.planted(str(getattr(each, "nodeid", "")))]
        yield

    def finish(self) -> List[str]:
        """What is no longer as it was at the start, one line each."""
        found = self.guard.findings() + self.bodies.recoded()[:3]
        if self.hooks is not None:
            found += self.hooks.findings()
        if self.manager is not None and not self.manager.is_registered(self):
            found.append("planexec's plug-in was removed")
        own = [name for name in vars(self) if callable(getattr(type(self), name, None))]
        found.extend("planexec's plug-in was changed: %s" % name for name in own)
        return found


def _calls_python_function(item: Any) -> bool:
    """Whether pytest's own ``Function.runtest`` runs this item, through ``pytest_pyfunc_call``."""
    return isinstance(item, pytest.Function) and type(item).runtest is pytest.Function.runtest
