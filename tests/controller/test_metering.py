"""Every question is counted, bounded and kept, and holds no secret on either side."""

from __future__ import annotations

from pathlib import Path

import pytest

from planexec.controller.metering import MeteredModel
from planexec.core import events as e
from planexec.core import wire
from planexec.core.contract import Limits
from planexec.core.errors import LimitReached
from planexec.core.usage import Usage
from planexec.journal.artifacts import ArtifactStore
from planexec.journal.journal import Journal
from planexec.journal.runlog import RunLog
from planexec.llm.answers import json_object
from planexec.llm.interface import ACT, Answer, Question
from planexec.llm.redaction import REDACTED, Redactor

from ..core.building import started

KEY = "a-key-of-many-letters"
UNLIMITED = Limits()
QUESTION = Question(ACT, f"the key is {KEY}", "say it", "n", {})


class Telling:
    name = "telling"

    def __init__(self) -> None:
        self.asked: list[Question] = []

    def ask(self, question: Question, seconds: float) -> Answer:
        self.asked.append(question)
        text = f'{{"said": "{KEY}"}}'
        return Answer(text, *json_object(text), Usage(100, 0, 20, 1), 0.5)


def metered(folder: Path, limits: Limits = UNLIMITED, seconds: float = 60.0) -> tuple[MeteredModel, Telling, RunLog]:
    model, log = Telling(), RunLog(Journal.open(folder / "state"), "run-1")
    log.record(started())
    store, clean = ArtifactStore(folder / "artifacts"), Redactor([KEY]).text
    price = 0.25
    return MeteredModel(model, log, store, limits, lambda: seconds, clean, lambda name, used: price), model, log


def test_a_question_is_kept_with_what_it_took(tmp_path: Path) -> None:
    heard: list[e.AnyEvent] = []
    meter, model, log = metered(tmp_path)
    log.listeners.append(lambda stored, event: heard.append(event))
    answer = meter.ask(QUESTION, 60.0)
    assert model.asked[0].system == f"the key is {REDACTED}"
    assert answer.value == {"said": REDACTED} and KEY not in answer.text
    (called,) = heard
    assert isinstance(called, e.ModelCalled) and (called.model, called.cost, called.usage.sent) == (
        "telling",
        0.25,
        100,
    )
    kept = wire.decode(meter.store.get(called.question))["system"] + wire.decode(meter.store.get(called.answer))["text"]
    assert kept == f'the key is {REDACTED}{{"said": "{REDACTED}"}}'
    spent = log.state.spent()
    assert (spent.questions, spent.tokens, spent.cost) == (1, 120, 0.25)


@pytest.mark.parametrize(
    ("limits", "questions", "limit"),
    [
        (Limits(model_calls=2), 2, "model_calls"),
        (Limits(model_tokens=250), 3, "model_tokens"),
        (Limits(model_cost=0.5), 2, "model_cost"),
    ],
)
def test_a_limit_ends_it_before_the_next_question(tmp_path: Path, limits: Limits, questions: int, limit: str) -> None:
    meter, model, log = metered(tmp_path, limits)
    for _ in range(questions):
        meter.ask(QUESTION, 60.0)
    with pytest.raises(LimitReached) as caught:
        meter.ask(QUESTION, 60.0)
    assert caught.value.limit == limit and len(model.asked) == questions == log.state.spent().questions


def test_without_time_nothing_is_asked(tmp_path: Path) -> None:
    meter, model, _ = metered(tmp_path, seconds=0.5)
    with pytest.raises(LimitReached, match="time of the run"):
        meter.ask(QUESTION, 60.0)
    assert model.asked == []
