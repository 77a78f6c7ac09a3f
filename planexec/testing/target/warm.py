"""The warm process: pytest, its plug-ins and third-party packages are loaded once, each candidate is a forked child.

The fork happens inside pytest, when all installed plug-ins are loaded and nothing of the project is. The first request
is preceded by a run on the unchanged tree in a child, which tells what third-party modules the tests need; those are
loaded then. The same run leaves the bytecode of the project in a private folder, so that each candidate compiles only
the files that it changes. A line of JSON comes in, a line goes out.
"""

from __future__ import annotations

import base64
import gc
import importlib
import json
import os
import sys
from typing import Any, Dict, Iterable, List, Optional

from . import processes, session
from .forks import SPOILED, Child, Forks, candidate, pipes
from .places import Project


def main(preload: bool = True) -> None:
    """Serve until the input ends. With ``preload`` off, every child loads everything by itself."""
    source, sink = pipes()
    setup = session.as_request(source.readline())
    project = session.prepare(setup)
    server = Server(project, Forks(setup, project.root, source, sink))
    try:
        if preload:
            session.leave(run_inside_pytest(server))
        else:
            child = server.serve(scouted=True)
            session.leave(session.run(*child) if child else 0)
    finally:
        os._exit(SPOILED)


def run_inside_pytest(server: Server) -> int:
    """Start pytest, and serve from inside; each child then goes on to the end of its run. Returns the exit code."""
    import pytest

    from .plugin import Recorder

    request: Dict[str, Any] = {}

    def pause(config: Any, args: List[str]) -> None:
        child = server.serve(scouted=False)
        if child is None:
            session.leave(0)
            return
        found, channel, stop = child
        request.update(found)
        recorder.order = session.ordered(found, channel, stop)
        files = recorder.order.wanted.files(server.project.folder)
        args.extend(files)
        config.known_args_namespace.file_or_dir = files

    recorder = Recorder(server.project, pause=pause)
    session.enter(server.project)
    code = session.call(pytest.main, session.arguments(server.forks.setup, server.project), recorder)
    return session.finish(request, recorder, code) if request else code


class Server:
    """Judges candidates, one after the other."""

    def __init__(self, project: Project, forks: Forks) -> None:
        self.project = project
        self.forks = forks

    def serve(self, scouted: bool) -> Optional[Child]:
        """Answer requests until the input ends (None). Comes back earlier only in a child, with its order."""
        self.forks.start()
        for line in iter(self.forks.source.readline, b""):
            request = session.as_request(line)
            if not scouted:
                scouted = True
                child = self._scout(request)
                if child is not None:
                    return child
                if self._is_spoiled():
                    self.forks.answer({"restart": True})
                    continue
            child, found = self.forks.judge(candidate(request), request)
            if child is not None:
                return child
            self.forks.answer(found)
        return None

    def _scout(self, request: Dict[str, Any]) -> Optional[Child]:
        """Run the unchanged tree once and load the third-party modules that it needed."""
        seconds = max(30.0, 3 * request["seconds"])
        child, found = self.forks.fork(dict(request, mode="run", modules=True, seconds=seconds))
        if child is None:
            self.forks.clean()
            load(named_modules(base64.b64decode(found["records"])))
            gc.collect()
            gc.freeze()  # what is shared stays shared
        return child

    def _is_spoiled(self) -> bool:
        """Whether loading started threads, which a fork loses, or loaded modules of the project."""
        files = [str(getattr(module, "__file__", "") or "") for module in list(sys.modules.values())]
        return processes.threads() != 1 or any(self.project.relative(file) for file in files)


def named_modules(records: bytes) -> List[str]:
    """The module names in the records of the first run; none when it did not come to its end."""
    names: List[str] = []
    for line in records.splitlines():
        record = json.loads(line.decode("ascii"))
        if record["kind"] == "modules":
            names = record["names"]
    return names


def load(names: Iterable[str]) -> None:
    """Import these modules; one that cannot be imported is left to the candidates."""
    for name in names:
        if name in sys.modules or name == "__main__":
            continue
        try:
            importlib.import_module(name)
        except BaseException:  # SystemExit too
            continue
