"""A child for each candidate: forked off a process that has loaded much already, bounded, and cleaned up after."""

from __future__ import annotations

import base64
import importlib
import json
import os
import sys
import tempfile
from typing import Any, BinaryIO, Callable, Dict, Mapping, Optional, Tuple

from . import processes, session
from .channel import Channel
from .tree import Tree, contents, empty

OUTPUT_BYTES = 16 * 1024
MOST_RECORD_BYTES = 8 * 1024 * 1024
SPOILED = 70
Stop = Optional[Callable[[], None]]
Child = Tuple[Dict[str, Any], Channel, Stop]  # the request as pytest's side needs it, and where records go


def pipes() -> Tuple[BinaryIO, BinaryIO]:
    """Where requests come from and answers go to, out of the way of what tests read and print."""
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)
    return source, sink


def candidate(request: Dict[str, Any]) -> Dict[str, bytes]:
    """Take the candidate's files (relative posix path to content) out of a request."""
    return {path: base64.b64decode(text) for path, text in request.pop("changes").items()}


class Forks:
    """Writes candidates into the tree, runs children, and leaves everything as it was before."""

    def __init__(self, setup: Dict[str, Any], root: str, source: BinaryIO, sink: BinaryIO) -> None:
        self.setup = setup
        self.source = source
        self._sink = sink
        self._tree = Tree(root, setup["backup"], setup["skipped"], setup.get("touched", ""))
        self._shared = contents(setup["shared"])

    def start(self) -> None:
        """Say that requests may come."""
        processes.adopt_orphans()
        processes.listen()
        self.answer({"ready": True})

    def answer(self, value: Mapping[str, Any]) -> None:
        """Write one line."""
        self._sink.write(json.dumps(value).encode("ascii") + b"\n")
        self._sink.flush()

    def judge(self, changes: Mapping[str, bytes], request: Dict[str, Any]) -> Tuple[Optional[Child], Dict[str, Any]]:
        """Write the candidate, run its tests in a child, put the tree back. See ``fork``."""
        self._tree.write(changes)
        child, found = self.fork(dict(request, mode="judge"))
        if child is None:
            self.clean()
        return child, found

    def clean(self) -> None:
        """Kill what the child left running, and put back what was written."""
        if not processes.kill_all():
            os._exit(SPOILED)  # the host starts a new sandbox
        self._tree.restore()
        for folder, names in self._shared.items():
            empty(folder, names)

    def fork(self, request: Dict[str, Any]) -> Tuple[Optional[Child], Dict[str, Any]]:
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
        self.source.close()
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
