from __future__ import annotations

import stat
from pathlib import Path

import msgspec
import pytest

from planexec.core.errors import ModelFailure, UsageError
from planexec.core.usage import Usage
from planexec.llm.interface import ACT, PLAN, Answer, Question
from planexec.llm.recording import Recorder, Replay
from planexec.llm.redaction import REDACTED, Redactor

SECRET = "a-secret-of-some-length"


class Counting:
    """Answers with the number of the question."""

    name = "counting"

    def __init__(self) -> None:
        self.asked = 0

    def ask(self, question: Question, seconds: float) -> Answer:
        self.asked += 1
        return Answer(f"{SECRET} {self.asked}", {"n": self.asked}, usage=Usage(10, None, 3, 1), seconds=0.5)


def question(purpose: str = ACT, user: str = "user") -> Question:
    return Question(purpose, "system", user, "thing", {"type": "object"})


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "recording.jsonl"
    model = Recorder.file(path, Redactor([SECRET])).of(Counting())
    for purpose, user in [(PLAN, f"plan {SECRET}"), (ACT, "first at 0x7f0012345678"), (ACT, "second took 1.53s")]:
        model.ask(question(purpose, user), 10)
    return path


def test_a_line_a_question_for_its_owner_alone_and_without_secrets(recording: Path) -> None:
    lines = recording.read_text().splitlines()
    assert [msgspec.json.decode(line)["purpose"] for line in lines] == [PLAN, ACT, ACT]
    assert SECRET not in recording.read_text() and REDACTED in lines[0]
    assert stat.S_IMODE(recording.stat().st_mode) == 0o600


def test_a_replay_answers_each_purpose_in_order(recording: Path) -> None:
    model = Replay(recording).of("")
    assert model.name == "counting"
    assert model.ask(question(ACT, "first at 0x55aa12345678"), 10).value == {"n": 2}
    assert model.ask(question(PLAN, f"plan {REDACTED}"), 10).value == {"n": 1}
    last = model.ask(question(ACT, "second took 0.02s"), 10)
    assert (last.value, last.usage, last.seconds) == ({"n": 3}, Usage(10, None, 3, 1), 0.0)
    with pytest.raises(ModelFailure, match="no further answer for 'act'"):
        model.ask(question(), 10)


def test_another_question_is_shown_with_its_first_difference(recording: Path) -> None:
    model = Replay(recording).of("counting")
    with pytest.raises(ModelFailure, match="line 1 of the user message was 'first at 0x0' and is 'something else'"):
        model.ask(question(ACT, "something else"), 10)


def test_another_schema_is_another_question(recording: Path) -> None:
    asked = msgspec.structs.replace(question(PLAN, f"plan {REDACTED}"), schema={"type": "array"})
    with pytest.raises(ModelFailure, match="schema"):
        Replay(recording).of("").ask(asked, 10)


def test_a_model_that_was_not_recorded(recording: Path) -> None:
    with pytest.raises(UsageError, match="nothing of a model 'other'"):
        Replay(recording).of("other")


@pytest.mark.parametrize("text", ["{", '{"purpose": 1}', "\x00", '{"purpose": "act"}'])
def test_a_broken_recording_is_refused_with_its_line(recording: Path, text: str) -> None:
    recording.write_text(recording.read_text().splitlines()[0] + "\n" + text + "\n")
    with pytest.raises(UsageError, match="broken in line 2"):
        Replay(recording)


def test_a_recording_that_is_not_there_or_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        Replay(tmp_path / "none")
    with pytest.raises(UsageError, match="cannot be written"):
        Recorder.file(tmp_path / "no" / "folder", Redactor([]))
