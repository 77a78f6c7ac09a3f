"""The held process: the project is imported and its tests collected once, each candidate is a child with other code.

It answers only for candidates whose change can be put into functions that are loaded already (see ``recode``), and
declines the others. It is quick, and it is only asked whether a candidate is worth judging by the warm process.
"""

from __future__ import annotations

import gc
import os
from typing import Any, Dict, Optional

from . import processes, session
from .channel import Channel
from .forks import SPOILED, Child, Forks, candidate, pipes
from .places import Project
from .recode import Functions, exchange
from .selection import Selection


def main() -> None:
    """Collect the tests that the set-up names, then serve until the input ends."""
    source, sink = pipes()
    setup = session.as_request(source.readline())
    project = session.prepare(setup)
    forks = Forks(setup, project.root, source, sink)
    try:
        session.leave(run(project, forks))
    finally:
        os._exit(SPOILED)


def run(project: Project, forks: Forks) -> int:
    """Start pytest and serve when everything is collected; each child goes on to the end of its run."""
    import pytest

    from .plugin import Recorder

    setup = forks.setup
    request: Dict[str, Any] = {}

    def hold(held: Any) -> None:
        # Texts of failures are for people; of most candidates nobody reads them, and they take longer than the test.
        held.config.option.tbstyle, held.config.option.verbose = "native", 0
        child = serve(project, forks)
        if child is None:
            session.leave(0)
            return
        found, channel, stop = child
        request.update(found)
        recorder.order = session.ordered(dict(found, canary=setup["canary"]), channel, stop)
        wanted = Selection(found["ids"])
        kept = [item for item in held.items if recorder.planted(item.nodeid) or wanted.place(item.nodeid) is not None]
        kept.sort(key=lambda item: (recorder.planted(item.nodeid), wanted.place(item.nodeid) or 0))
        held.items[:] = kept
        channel.emit("collected", ids=[item.nodeid for item in kept if not recorder.planted(item.nodeid)])

    recorder = Recorder(project, hold=hold)
    silent = Channel(os.open(os.devnull, os.O_WRONLY), b"-")
    recorder.order = session.ordered(dict(setup, mode="judge"), silent, None)
    session.enter(project)
    args = session.arguments(setup, project) + recorder.order.wanted.files(project.folder)
    code = session.call(pytest.main, args, recorder)
    return session.finish(dict(setup, **request), recorder, code)


def serve(project: Project, forks: Forks) -> Optional[Child]:
    """Answer requests until the input ends (None). Comes back earlier only in a child, with its order."""
    gc.collect()
    functions = Functions(project, forks.setup["ran"])
    gc.freeze()  # what is shared stays shared
    if processes.threads() != 1:
        return None  # a fork would lose them
    forks.start()
    for line in iter(forks.source.readline, b""):
        request = session.as_request(line)
        changes = candidate(request)
        found = [functions.exchanges(path, content) for path, content in changes.items()]
        wanted = [each for each in found if each is not None]
        if len(wanted) < len(found):
            forks.answer({"declined": True})
            continue
        child, answer = forks.judge(changes, request)
        if child is not None:
            for each in wanted:
                exchange(each)
            return child
        forks.answer(answer)
    return None
