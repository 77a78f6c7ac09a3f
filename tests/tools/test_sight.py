from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from planexec.core import events as e
from planexec.core.usage import Usage
from planexec.journal.artifacts import ArtifactStore
from planexec.journal.chain import Stored
from planexec.tools.sight import Sight, last_words
from planexec.tools.survey import Survey


def test_the_base_is_surveyed_once() -> None:
    asked: list[int] = []
    sight = Sight(lambda: (asked.append(1), Survey(files=("a.py",)))[1])  # type: ignore[func-returns-value]
    assert sight.look() is sight.look() and asked == [1]
    assert Sight().look().problem and Sight().changes() == "" and Sight().reports() == ()


def test_the_last_words_of_each_step(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)

    def called(step: str, text: str, purpose: str = "act") -> tuple[Stored, e.AnyEvent]:
        answer = store.put(msgspec.json.encode({"text": text}))
        return Stored(1, "", "", "", b""), e.ModelCalled(purpose, "m", step, "", answer, Usage(), 0.1)

    def said(thought: Any, **more: Any) -> str:
        return msgspec.json.encode({"thought": thought, "tool": "finish", "arguments": more}).decode()

    history = [
        called("", said("a plan"), "plan"), called("look", said("first")), called("look", said("it is line 3")),
        called("patch", said("no way", reason="it is generated")), called("judge", "no JSON"), called("odd", "[1]"),
    ]  # fmt: skip
    assert last_words(history, store) == [("look", "it is line 3"), ("patch", "no way it is generated")]
