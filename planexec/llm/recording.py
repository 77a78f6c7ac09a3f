"""Record and replay: each question to a model and its answer as one JSON line: a run can be repeated offline.

A replay answers in the recorded order, for each model and purpose by itself, and only where the question is the
recorded one: what differs between two machines (addresses of objects, durations, temporary folders) is evened out
first, and any other difference ends the replay with the first line that differs. Secrets are taken out beforehand.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from pathlib import Path
from typing import Any, TextIO

import msgspec

from planexec.core.errors import ModelFailure, UsageError
from planexec.llm.interface import Answer, LanguageModel, Question
from planexec.llm.redaction import Redactor

SHOWN = 160
_VARYING = (
    (re.compile(r"\b0x[0-9a-fA-F]{6,}\b"), "0x0"),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:s|ms|seconds|milliseconds)\b"), "0s"),
    (re.compile(r"/(?:tmp|var/tmp|private/tmp|var/folders)(?:/[^\s'\":,)\]}]+)?"), "/tmp"),
)


class Exchange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question with its answer, as a line of a recording."""

    purpose: str
    model: str
    system: str
    user: str
    name: str
    schema: Any
    answer: Answer


class Recorder:
    """Writes exchanges to an open file, each as soon as it is over."""

    def __init__(self, file: TextIO, redactor: Redactor) -> None:
        self._file, self._redactor = file, redactor

    @classmethod
    def file(cls, path: Path, redactor: Redactor) -> Recorder:
        """To a file (an old one is replaced) for its owner alone. Raises UsageError where it cannot be written."""
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        except OSError as error:
            raise UsageError(
                f"the recording '{path}' cannot be written: {error.strerror}", "name a file in a folder of yours"
            ) from None
        return cls(os.fdopen(descriptor, "w", encoding="utf-8"), redactor)

    def of(self, model: LanguageModel) -> LanguageModel:
        """``model``, recorded."""
        return _Recorded(model, self)

    def keep(self, model: str, question: Question, answer: Answer) -> None:
        """Write one exchange."""
        exchange = Exchange(
            question.purpose, model, question.system, question.user, question.name, question.schema, answer
        )
        cleaned = self._redactor.value(msgspec.to_builtins(exchange))
        self._file.write(msgspec.json.encode(cleaned).decode() + "\n")
        self._file.flush()


class _Recorded:
    def __init__(self, model: LanguageModel, recorder: Recorder) -> None:
        self.name = model.name
        self._model, self._recorder = model, recorder

    def ask(self, question: Question, seconds: float) -> Answer:
        answer = self._model.ask(question, seconds)
        self._recorder.keep(self.name, question, answer)
        return answer


class Replay:
    """Gives the answers of a recording. Raises UsageError for a file that is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._waiting: dict[tuple[str, str], list[Exchange]] = defaultdict(list)
        self._first = ""
        for exchange in exchanges(path):
            self._waiting[exchange.model, exchange.purpose].append(exchange)
            self._first = self._first or exchange.model

    def of(self, name: str) -> LanguageModel:
        """The recorded model with this name; without a name, the first that was asked. Raises UsageError."""
        name = name or self._first
        models = sorted({model for model, _ in self._waiting})
        if name not in models:
            hint = f"recorded: {', '.join(models)}" if models else "the file is empty"
            raise UsageError(f"the recording '{self.path}' holds nothing of a model '{name}'", hint)
        return _Replayed(name, self)

    def answer(self, model: str, question: Question) -> Answer:
        """The next answer to a question of this purpose. Raises ModelFailure where the question is another one."""
        waiting = self._waiting[model, question.purpose]
        if not waiting:
            raise ModelFailure(
                f"the recording '{self.path}' has no further answer for '{question.purpose}'", "record the run anew"
            )
        recorded = waiting.pop(0)
        difference = _difference(recorded, question)
        if difference:
            raise ModelFailure(f"this run asks something else than the recording: {difference}", "record the run anew")
        return msgspec.structs.replace(recorded.answer, seconds=0.0)


class _Replayed:
    def __init__(self, name: str, replay: Replay) -> None:
        self.name = name
        self._replay = replay

    def ask(self, question: Question, seconds: float) -> Answer:
        return self._replay.answer(self.name, question)


def exchanges(path: Path) -> list[Exchange]:
    """What a recording holds, in order. Raises UsageError for a file that is none."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the recording '{path}' cannot be read: {error}", "record one: --record FILE") from None
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(msgspec.json.decode(line, type=Exchange))
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise UsageError(
                f"the recording '{path}' is broken in line {number}: {error}", "record the run anew"
            ) from None
    return found


def _difference(recorded: Exchange, question: Question) -> str:
    """The first line that differs, empty where none does."""
    pairs = ((recorded.system, question.system, "system"), (recorded.user, question.user, "user"))
    for then, now, part in pairs:
        was, has = normalised(then).splitlines(), normalised(now).splitlines()
        for number in range(max(len(was), len(has))):
            old = was[number] if number < len(was) else "(nothing)"
            new = has[number] if number < len(has) else "(nothing)"
            if old != new:
                return f"line {number + 1} of the {part} message was {old[:SHOWN]!r} and is {new[:SHOWN]!r}"
    if msgspec.json.encode(recorded.schema) != msgspec.json.encode(question.schema):
        return "the schema of the answer is another one"
    return ""


def normalised(text: str) -> str:
    """``text`` without what differs from machine to machine."""
    for pattern, stand_in in _VARYING:
        text = pattern.sub(stand_in, text)
    return text
