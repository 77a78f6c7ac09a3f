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
import tempfile
from typing import Any, BinaryIO, Callable, Dict, Iterable, List, Mapping, Optional, Tuple

from . import processes, session
from .channel import Channel
from .places import Project
from .tree import Tree, contents, empty

OUTPUT_BYTES = 16 * 1024
MOST_RECORD_BYTES = 8 * 1024 * 1024
SPOILED = 70
Stop = Optional[Callable[[], None]]
Child = Tuple[Dict[str, Any], Channel, Stop]  # the request as pytest's side needs it, and where records go


def main(preload: bool = True) -> None:
    """Serve until the input ends. With ``preload`` off, every child loads everything by itself."""
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)
    setup = session.as_request(source.readline())
    server = Server(setup, session.prepare(setup), source, sink)
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
    code = session.call(pytest.main, session.arguments(server.setup, server.project), recorder)
    return session.finish(request, recorder, code) if request else code


def answer(sink: BinaryIO, value: Mapping[str, Any]) -> None:
    """Write one line."""
    sink.write(json.dumps(value).encode("ascii") + b"\n")
    sink.flush()


class Server:
    """Judges candidates, one after the other."""

    def __init__(self, setup: Dict[str, Any], project: Project, source: BinaryIO, sink: BinaryIO) -> None:
        self.setup = setup
        self.project = project
        self._source = source
        self._sink = sink
        self._tree = Tree(project.root, setup["backup"], setup["skipped"])
        self._shared = contents(setup["shared"])

    def serve(self, scouted: bool) -> Optional[Child]:
        """Answer requests until the input ends (None). Comes back earlier only in a child, with its order."""
        processes.adopt_orphans()
        processes.listen()
        answer(self._sink, {"ready": True})
        for line in iter(self._source.readline, b""):
            request = session.as_request(line)
            if not scouted:
                scouted = True
                child = self._scout(request)
                if child is not None:
                    return child
                if self._is_spoiled():
                    answer(self._sink, {"restart": True})
                    continue
            child, found = self._judge(request)
            if child is not None:
                return child
            answer(self._sink, found)
        return None

    def _judge(self, request: Dict[str, Any]) -> Tuple[Optional[Child], Dict[str, Any]]:
        """Write the candidate, run its tests in a child, put the tree back."""
        changes = {path: base64.b64decode(text) for path, text in request.pop("changes").items()}
        self._tree.write(changes)
        child, found = self._fork(dict(request, mode="judge"))
        if child is None:
            self._clean()
        return child, found

    def _scout(self, request: Dict[str, Any]) -> Optional[Child]:
        """Run the unchanged tree once and load the third-party modules that it needed."""
        seconds = max(30.0, 3 * request["seconds"])
        child, found = self._fork(dict(request, mode="run", modules=True, seconds=seconds))
        if child is None:
            self._clean()
            load(named_modules(base64.b64decode(found["records"])))
            gc.collect()
            gc.freeze()  # what is shared stays shared
        return child

    def _is_spoiled(self) -> bool:
        """Whether loading started threads, which a fork loses, or loaded modules of the project."""
        files = [str(getattr(module, "__file__", "") or "") for module in list(sys.modules.values())]
        return processes.threads() != 1 or any(self.project.relative(file) for file in files)

    def _clean(self) -> None:
        if not processes.kill_all():
            os._exit(SPOILED)  # the host starts a new sandbox
        self._tree.restore()
        for folder, names in self._shared.items():
            empty(folder, names)

    def _fork(self, request: Dict[str, Any]) -> Tuple[Optional[Child], Dict[str, Any]]:
        """In the child its order; in this process what came of it: exit code (None after a time-out), records."""
        folder = tempfile.mkdtemp(dir=self.setup["private"])
        report, output = os.memfd_create("report"), os.memfd_create("output")
        importlib.invalidate_caches()
        process = os.fork()
        if process == 0:
            return self._begin(request, folder, report, output), {}
        code, seconds = processes.wait(process, request["seconds"])
        found = {
            "exit": code,
            "seconds": seconds,
            "records": _encoded(report, MOST_RECORD_BYTES),
            "output": _encoded(output, OUTPUT_BYTES, tail=True),
        }
        os.close(report)
        os.close(output)
        return None, found

    def _begin(self, request: Dict[str, Any], folder: str, report: int, output: int) -> Child:
        """In the child: limits, output, folders of its own; nothing of this process's talk with the host."""
        processes.become_child(self.setup["memory_bytes"], self.setup["file_bytes"], request["seconds"])
        os.dup2(output, 1)
        os.dup2(output, 2)
        self._source.close()
        os.close(self._sink.fileno())
        for name in ("home", "tmp"):
            os.mkdir(os.path.join(folder, name))
        os.environ.update(HOME=os.path.join(folder, "home"), TMPDIR=os.path.join(folder, "tmp"))
        tempfile.tempdir = None
        session.settle_home()
        sys.pycache_prefix = self.setup["bytecode"]
        # Only the unchanged tree's is kept: what a candidate compiles is of no use to the next one.
        sys.dont_write_bytecode = request["mode"] != "run"
        channel = Channel(report, bytes.fromhex(request.pop("key")))

        def stop() -> None:
            channel.close(exit=1)
            session.leave(1)

        return dict(self.setup, **request), channel, stop if request["mode"] == "judge" else None


def _encoded(descriptor: int, most: int, tail: bool = False) -> str:
    start = max(0, os.fstat(descriptor).st_size - most) if tail else 0
    return base64.b64encode(os.pread(descriptor, most, start)).decode("ascii")


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
