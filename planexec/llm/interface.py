"""What is asked of a language model and what comes back, whatever the server behind it.

A model gives a text and, where one was asked for, a JSON object. Neither counts for anything: planners and executors
make proposals and actions of it, and the host judges those (L2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from planexec.core.usage import Usage

PLAN, REPLAN, ACT, ASK = "plan", "replan", "act", "ask"
"""What a question is for: a first plan, a replacement, the next action of a step, a look at the server (doctor)."""


class Question(msgspec.Struct, frozen=True):
    """One question: two messages, and the JSON Schema of the object that is wanted.

    ``system`` comes first and stays the same for as long as it can, so that servers can cache it. ``schema`` is in the
    strict form (every property required, no others allowed), under ``name``. ``limit`` bounds the answer, in tokens.
    """

    purpose: str
    system: str
    user: str
    name: str
    schema: Mapping[str, Any]
    limit: int = 4096

    @property
    def size(self) -> int:
        """Characters of both messages."""
        return len(self.system) + len(self.user)


class Answer(msgspec.Struct, frozen=True):
    """What came back. ``value`` is the JSON object in ``text``, None where there is none, and then ``problem`` is one
    line that says what was wrong with the text (for the model to mend). The object is not validated here.

    ``form`` says how the object was asked for (``strict``, ``schema``, ``text``), ``warnings`` are lines for people:
    a context that was cut, a parameter that was dropped.
    """

    text: str
    value: Mapping[str, Any] | None = None
    problem: str = ""
    usage: Usage = Usage()
    seconds: float = 0.0
    finish: str = "stop"
    form: str = ""
    warnings: tuple[str, ...] = ()


class LanguageModel(Protocol):
    """A model that can be asked. ``name`` is what it is called in records and in the price list."""

    name: str

    def ask(self, question: Question, seconds: float) -> Answer:
        """Ask, within ``seconds`` of wall-clock time, retries included.

        Raises ModelFailure where no answer can be had: the server, the key, the name, the deadline. What the model
        says, however odd, is an answer.
        """
        ...
