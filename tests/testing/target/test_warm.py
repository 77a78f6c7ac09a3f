from __future__ import annotations

import base64
import ctypes
import io
import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planexec.testing import records as reading
from planexec.testing.target import forks, processes, session, warm
from planexec.testing.target.channel import Channel

from ..conftest import write


@pytest.fixture
def setup(tmp_path: Path, contained: None) -> Iterator[dict[str, Any]]:
    root = write(tmp_path / "tree", {"a.py": "old"})
    shutil.copytree(root, tmp_path / "backup")
    (tmp_path / "private").mkdir()
    found: dict[str, Any] = {
        "root": str(root),
        "backup": str(tmp_path / "backup"),
        "private": str(tmp_path / "private"),
        "bytecode": str(tmp_path / "bytecode"),
    }
    found.update(skipped=[], shared=[str(tmp_path / "private")], memory_bytes=None, file_bytes=10**6, cache="x")
    yield found
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
    ctypes.CDLL(None).prctl(processes.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def serve(
    setup: dict[str, Any], tmp_path: Path, *requests: dict[str, Any], scouted: bool = True
) -> list[dict[str, Any]]:
    """What the server answers; its children say what they see of the candidate and end."""
    (tmp_path / "in").write_text("".join(json.dumps(each) + "\n" for each in requests))
    with (tmp_path / "in").open("rb") as source, (tmp_path / "out").open("wb") as sink:
        project = session.prepare(setup)
        server = warm.Server(project, forks.Forks(setup, project.root, source, sink))
        own = os.getpid()
        try:
            child = server.serve(scouted)
            if child is not None:
                act(*child)
        finally:
            if os.getpid() != own:
                os._exit(9)  # a child must not go on as if it were the test
    return [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]


def act(request: dict[str, Any], channel: Any, stop: Any) -> None:
    try:
        content = Path("a.py").read_text()
        Path("litter").touch()
        os.write(1, b"seen " + content.encode())
        if content == "stop":
            stop()
        if content == "hang":
            signal.pause()
        home = os.environ["HOME"].startswith(request["private"])
        channel.emit("modules", names=["wave", "no_such_module", "json", "__main__"], mode=request["mode"], home=home)
        channel.close(exit=0)
        os._exit(0)
    finally:
        os._exit(9)


def asked(content: str, seconds: float = 20) -> dict[str, Any]:
    changes = {"a.py": base64.b64encode(content.encode()).decode()}
    return {"changes": changes, "ids": [], "seconds": seconds, "key": b"key".hex(), "canary": "c"}


def test_each_candidate_is_seen_by_its_own_child(setup: dict[str, Any], tmp_path: Path) -> None:
    ready, first, second, hung = serve(setup, tmp_path, asked("new"), asked("stop"), asked("hang", 0.2))
    assert ready == {"ready": True}
    assert (first["exit"], second["exit"], hung["exit"]) == (0, 1, None)
    records = reading.parse(base64.b64decode(first["records"]), b"key")
    assert records.sealed and records.of("modules")[0]["mode"] == "judge" and records.of("modules")[0]["home"]
    assert base64.b64decode(first["output"]) == b"seen new"
    assert reading.parse(base64.b64decode(second["records"]), b"key").of("closing")[0]["exit"] == 1
    assert [each.name for each in (tmp_path / "tree").iterdir()] == ["a.py"]
    assert (tmp_path / "tree" / "a.py").read_text() == "old"
    assert list((tmp_path / "private").iterdir()) == []


def test_the_first_request_is_scouted(setup: dict[str, Any], tmp_path: Path) -> None:
    import gc
    import sys

    sys.modules.pop("wave", None)
    try:
        answers = serve(setup, tmp_path, asked("new"), scouted=False)
    finally:
        gc.unfreeze()
    assert "wave" in sys.modules  # what the unchanged tree needed
    assert answers[1].get("exit") == 0 or answers[1] == {"restart": True}


@pytest.mark.parametrize("data", [b"", b'{"kind": "start", "id": "x"}\n'])
def test_a_first_run_that_did_not_end_names_no_modules(data: bytes) -> None:
    assert warm.named_modules(data) == []


def test_loading_never_fails(tmp_path: Path, contained: None) -> None:
    import sys

    write(tmp_path, {"leaving_module.py": "raise SystemExit(3)\n", "fine_module.py": "x = 1\n"})
    sys.path.insert(0, str(tmp_path))
    warm.load(["leaving_module", "fine_module", "gone_module"])
    assert "fine_module" in sys.modules and "leaving_module" not in sys.modules


class OneChild(warm.Server):
    """The order of a child without a fork."""

    def __init__(self, setup: dict[str, Any], channel: Channel) -> None:
        project = session.prepare(setup)
        super().__init__(project, forks.Forks(setup, project.root, io.BytesIO(), io.BytesIO()))
        self.channel = channel

    def serve(self, scouted: bool) -> forks.Child:
        request = dict(self.forks.setup, ids=["test_warm_a.py::test_b"], canary="test_planted", mode="judge")
        return request, self.channel, lambda: None


def test_a_child_goes_on_inside_pytest(setup: dict[str, Any], tmp_path: Path) -> None:
    write(tmp_path / "tree", {"test_warm_a.py": "def test_a(): assert 0\ndef test_b(): pass\n"})
    with (tmp_path / "report").open("wb") as stream:
        code = warm.run_inside_pytest(
            OneChild({**setup, "cache": str(tmp_path / "cache")}, Channel(stream.fileno(), b"k"))
        )
    records = reading.parse((tmp_path / "report").read_bytes(), b"k")
    folded = reading.fold(records)
    assert code == 1 and reading.why_not_trusted(records, folded, "test_planted", 1) == ""
    assert folded.outcomes["test_warm_a.py::test_b"].status == "passed" and len(folded.outcomes) == 2
