"""A program of its own that tries to break out of the sandbox that it runs in, harmlessly, and tells what happened.

``prove.py`` passes its text to a fresh Python; it imports the standard library only. The one argument is a JSON
document of things to try; the answer on standard output is a JSON object with a result for each: an empty string when
it worked, else the error.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PATIENCE = 2.0  # seconds for a connection; a refused one takes none


def main(document: str) -> dict[str, Any]:
    """Try everything that ``document`` lists."""
    wanted = json.loads(document)
    found: dict[str, Any] = {
        "outside": {path: attempt(append, path) for path in wanted["outside"]},
        "inside": attempt(append, wanted["inside"]),
        "secret": {path: attempt(read, path) for path in wanted["secret"]},
        "connections": {text: attempt(connect, text) for text in wanted["connections"]},
        "loopback": attempt(loopback),
        "signal": attempt(os.kill, wanted["process"], 0),
        "environments": environments(),
    }
    leave_daemon(wanted["lock"])
    return found


def attempt(action: Callable[..., object], *arguments: Any) -> str:
    """Empty when ``action`` worked, else its error."""
    try:
        action(*arguments)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def append(path: str) -> None:
    """Write to a file, creating it when it is not there."""
    with Path(path).open("a") as stream:
        stream.write("written from inside\n")


def read(path: str) -> None:
    """Read a file or list a folder."""
    if Path(path).is_dir():
        list(Path(path).iterdir())
    else:
        Path(path).read_bytes()


def connect(text: str) -> None:
    """Connect to ``tcp:HOST:PORT`` or ``unix:PATH`` (``@`` for the abstract ones)."""
    kind, _, rest = text.partition(":")
    if kind == "unix":
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(rest.replace("@", "\0", 1) if rest.startswith("@") else rest)
        return
    host, _, port = rest.rpartition(":")
    socket.create_connection((host, int(port)), PATIENCE).close()


def loopback() -> None:
    """Serve one connection to oneself."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE)
        with socket.create_connection(server.getsockname(), PATIENCE) as client:
            accepted, _ = server.accept()
            with accepted:
                client.sendall(b"x")
                if accepted.recv(1) != b"x":
                    raise OSError("nothing came through")


def environments() -> list[str]:
    """The hash of each ``NAME=VALUE`` in the environment of every process that can be read."""
    pairs: set[bytes] = set()
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            pairs.update(path.read_bytes().split(b"\0"))
        except OSError:
            continue
    return sorted(hashlib.sha256(pair).hexdigest() for pair in pairs if pair)


def leave_daemon(lock: str) -> None:
    """Leave a daemon behind that holds ``lock`` for as long as it lives."""
    descriptor = os.open(lock, os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for stream in (0, 1, 2):
                os.close(stream)
            time.sleep(60)
        os._exit(0)
    os.close(descriptor)


if __name__ == "__main__":
    json.dump(main(sys.argv[1]), sys.stdout)
