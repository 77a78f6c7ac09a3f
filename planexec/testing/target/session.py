"""One pytest run in this process, as the host's request asks for."""

from __future__ import annotations

import json
import os
import sys
from importlib import metadata
from typing import Any, Callable, Dict, List, Mapping, Optional, Set

from . import imports
from .channel import Channel
from .places import LastResort, Project

# pytest's own code for a run in which a test failed: with the planted test, the only one to be believed.
USAGE_ERROR = 4


def main() -> None:
    """Read the request, run, and leave without running what the project registered for the end of the process."""
    request = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    descriptor = os.open(request["report"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    channel = Channel(descriptor, bytes.fromhex(request.pop("key")))
    leave(run(request, channel))


def leave(code: int) -> None:
    """End the process now: no ``atexit`` function, no waiting for threads."""
    for stream in (sys.__stdout__, sys.__stderr__):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            pass
    os._exit(code & 0xFF)


def settle_home() -> None:
    """Give git an identity, as its users have one: tests that commit to repositories of their own expect that."""
    home = os.path.expanduser("~")
    try:
        os.makedirs(home, exist_ok=True)
        with open(os.path.join(home, ".gitconfig"), "x") as stream:
            stream.write("[user]\n\tname = planexec\n\temail = planexec@localhost\n[init]\n\tdefaultBranch = main\n")
    except OSError:  # there is one, or there cannot be one
        pass


def prepare(request: Mapping[str, Any]) -> Project:
    """Where the project is and where packages come from. The project itself is not importable yet."""
    project = Project(request["root"], request.get("home", ""), request.get("project", ""))
    os.chdir(project.folder)
    settle_home()
    if request.get("pytest"):
        sys.meta_path.append(LastResort(request["pytest"]))
    return project


def genuine(project: Project) -> str:
    """Empty when pytest is an installed one; else what is wrong: the project brings a ``pytest`` of its own."""
    import pluggy
    import pytest

    for module in (pytest, pluggy, sys.modules["_pytest"]):
        place = str(getattr(module, "__file__", "") or "")
        if project.relative(place):
            return "%s comes from the project itself: %s" % (module.__name__, project.relative(place))
    return ""


def run(request: Mapping[str, Any], channel: Channel, stop: Optional[Callable[[], None]] = None) -> int:
    """Run pytest for ``request`` and close the channel. Returns the exit code for the process."""
    project = prepare(request)
    try:
        import pytest
    except ImportError as error:
        channel.emit("environment", text="pytest cannot be imported: %s" % error)
        channel.close(exit=USAGE_ERROR)
        return USAGE_ERROR
    from .plugin import Recorder
    from .tracer import Tracer

    tracer = Tracer(project, request.get("watch", ())) if request["mode"] == "trace" else None
    recorder = Recorder(project, tracer)
    recorder.order = ordered(request, channel, stop)
    enter(project)
    args = arguments(request, project) + recorder.order.wanted.files(project.folder)
    return finish(request, recorder, call(pytest.main, args, recorder))


def ordered(request: Mapping[str, Any], channel: Channel, stop: Optional[Callable[[], None]]) -> Any:
    """The order for the plug-in."""
    from .plugin import Order
    from .selection import Selection

    wanted, patterns = Selection(request["ids"]), request.get("patterns", ())
    return Order(channel, wanted, request["canary"], request["mode"], stop, patterns)


def finish(request: Mapping[str, Any], recorder: Any, code: int) -> int:
    """Say what is not as it should be, hand over what was asked for, close the channel. Returns ``code``."""
    channel, project = recorder.order.channel, recorder.project
    wrong = genuine(project)
    for finding in ([wrong] if wrong else []) + recorder.finish():
        channel.emit("finding", text=finding)
    strangers = project.strangers()
    for name in strangers[:3]:
        channel.emit("finding", text="module %s was loaded from the user's repository, not from the tree" % name)
    for text in [] if strangers else imports.foreign(project)[:1]:
        channel.emit("foreign", text=text)
    if recorder.tracer is not None:
        planted = project.relative(os.path.join(project.folder, recorder.order.canary + ".py")) or ""
        channel.emit("trace", data=recorder.tracer.result(without=planted))
    if request.get("modules"):
        channel.emit("modules", names=loaded(project))
    channel.close(exit=code)
    return code


def enter(project: Project) -> None:
    """Make the project importable as ``python -m pytest`` does, after pytest itself was imported."""
    project.redirect()
    if project.folder in sys.path:
        sys.path.remove(project.folder)
    sys.path.insert(0, project.folder)
    imports.prefer_tree(project)


def arguments(request: Mapping[str, Any], project: Project) -> List[str]:
    """The command line for pytest. Files follow, never ids: one that is gone would end the run."""
    return ["--rootdir=" + project.folder, "-o", "cache_dir=" + request["cache"]]


def call(main_function: Any, args: List[str], recorder: Any) -> int:
    """pytest's exit code; what escapes from it is a finding."""
    tracer = recorder.tracer
    # As with ``python -m pytest``: programs under test may read it.
    sys.argv[:] = [os.path.join(os.path.dirname(sys.modules["pytest"].__file__ or ""), "__main__.py"), *args]
    if tracer is not None:
        tracer.arm()
    try:
        return int(main_function(args, plugins=[recorder]))
    except BaseException as error:  # SystemExit too: nothing may leave before the report is closed
        recorder.order.channel.emit("finding", text="pytest ended with %s: %s" % (type(error).__name__, error))
        return 3
    finally:
        if tracer is not None:
            tracer.disarm()


def loaded(project: Project) -> List[str]:
    """The modules of this process that are not the project's, in the order in which they were loaded.

    Of those that pytest rewrote, only the ones of installed plug-ins: the others are named by a conftest.py, and
    before that is read they would be loaded as they are.
    """
    marked = marked_for_rewriting()
    found = []
    for name, module in list(sys.modules.items()):
        place = str(getattr(module, "__file__", "") or "")
        spec = getattr(module, "__spec__", None)
        rewritten = type(getattr(spec, "loader", None)).__name__ == "AssertionRewritingHook"
        if rewritten and name.partition(".")[0] not in marked:
            continue
        if spec is not None and spec.name == name and place and project.relative(place) is None:
            found.append(name)
    return found


def marked_for_rewriting() -> Set[str]:
    """The top-level names that pytest rewrites because an installed plug-in brings them.

    Read from the distributions, as pytest does: its own list also holds what a conftest.py has named meanwhile.
    """
    found: Set[str] = set()
    for distribution in metadata.distributions():
        if any(point.group == "pytest11" for point in distribution.entry_points):
            for file in distribution.files or ():
                top = str(file).split("/")[0]
                found.add(top[:-3] if top.endswith(".py") else top)
    return found


def as_request(line: bytes) -> Dict[str, Any]:
    """One request from a line of JSON."""
    found: Dict[str, Any] = json.loads(line.decode("utf-8"))
    return found
