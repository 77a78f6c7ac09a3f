"""The file form of the scripted server, and its command."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from planexec.core.errors import UsageError
from planexec.llm.interface import Answer, Question
from planexec.llm.recording import Recorder
from planexec.llm.redaction import Redactor
from planexec.llm.scripted import Reply, load


def test_a_list_of_texts_and_replies(tmp_path: Path) -> None:
    path = tmp_path / "replies.yaml"
    path.write_text("- plain\n- {json: {tool: finish}}\n- {text: cut, finish: length, status: 200}\n- {status: 429}\n")
    found = load(path)
    assert found == [Reply("plain"), Reply('{"tool": "finish"}'), Reply("cut", "length"), Reply(status=429)]


def test_a_recording_gives_its_answers(tmp_path: Path) -> None:
    class Model:
        name = "m"

        def ask(self, question: Question, seconds: float) -> Answer:
            return Answer(f"answer to {question.user}", finish="stop")

    path = tmp_path / "recording.jsonl"
    recorder = Recorder(path.open("w"), Redactor([]))
    for user in ("one", "two"):
        recorder.of(Model()).ask(Question("act", "s", user, "n", {}), 1.0)
    assert load(path) == [Reply("answer to one"), Reply("answer to two")]


@pytest.mark.parametrize(
    ("text", "message"),
    [("a: 1", "no list"), ("- {texts: a}", "reply 1: Object contains unknown field `texts`"), ("- 3", "reply 1"),
     ("- {status: many}", "reply 1"), ("[", "")],
)  # fmt: skip
def test_what_is_no_list_of_replies_is_told(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "replies.yaml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        load(path)
    assert message in caught.value.message and "\n" not in caught.value.told
    with pytest.raises(UsageError, match="cannot be read"):
        load(tmp_path / "none.yaml")


def test_the_command_serves_and_ends_with_its_list(tmp_path: Path) -> None:
    path = tmp_path / "replies.json"
    path.write_text('["hello"]')
    command = [sys.executable, "-m", "planexec.llm.scripted", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            url = (server.stdout or io.StringIO()).readline().split()[-1]
            body = json.dumps({"messages": []}).encode()
            with urllib.request.urlopen(f"{url}/chat/completions", body, timeout=20) as answer:
                assert json.load(answer)["choices"][0]["message"]["content"] == "hello"
            with urllib.request.urlopen(f"{url}/models", timeout=20) as answer:
                assert json.load(answer)["data"][0]["id"] == "scripted"
        finally:
            server.terminate()
    refused = subprocess.run([*command[:-1], str(tmp_path / "none")], capture_output=True, text=True, check=False)
    assert refused.returncode == 2 and len(refused.stderr.splitlines()) == 1
