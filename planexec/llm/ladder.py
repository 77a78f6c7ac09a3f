"""How a JSON object is asked for, and what a server does not take: remembered for as long as the process lives."""

from __future__ import annotations

from typing import Any

from planexec.llm.interface import Question
from planexec.llm.transport import Fault

FORMS = ("strict", "schema", "text")
"""The rungs: a schema that the server enforces, a schema that it may take as advice, no schema. Never ``json_object``,
which servers refuse or take for a licence to answer anything.
"""
CAPS = ("max_tokens", "max_completion_tokens", "")
"""The names of the bound on an answer; the last is none."""
_ABOUT_FORM = ("response_format", "json_schema", "schema", "strict", "grammar", "additionalproperties", "anyof")
_ABOUT_CAP = ("max_tokens", "max_completion_tokens")
_TOO_LONG = (
    "context length",
    "context_length",
    "maximum context",
    "context size",
    "too many tokens",
    "prompt is too long",
)


class Ladder:
    """What is sent to one server."""

    def __init__(self, official: bool = False) -> None:
        self._form = 0
        self._caps = [CAPS[1], CAPS[0], CAPS[2]] if official else list(CAPS)

    @property
    def form(self) -> str:
        """The present rung."""
        return FORMS[self._form]

    @property
    def capped(self) -> bool:
        """Whether the length of answers is bounded by us."""
        return bool(self._caps[0])

    def parameters(self, question: Question, cap: int) -> dict[str, Any]:
        """What goes beside model and messages. The temperature is left to the server: many refuse it."""
        asked: dict[str, Any] = {self._caps[0]: cap} if self._caps[0] else {}
        if self.form != "text":
            schema: dict[str, Any] = {"name": question.name, "schema": dict(question.schema)}
            if self.form == "strict":
                schema["strict"] = True
            asked["response_format"] = {"type": "json_schema", "json_schema": schema}
        return asked

    def step_down(self, fault: Fault) -> str:
        """Leave out what the server refused; where it does not say what, one thing after the other. A line that says
        so, empty when nothing is left to leave out.
        """
        said = f"{fault.message} {fault.code}".lower()
        if any(words in said for words in _TOO_LONG):
            return ""
        if any(name in said for name in _ABOUT_CAP) and len(self._caps) > 1:
            return self._without_cap()
        if self._form < len(FORMS) - 1:
            self._form += 1
            return f"the server does not take the form '{FORMS[self._form - 1]}'; '{self.form}' is asked for"
        if any(words in said for words in _ABOUT_FORM):
            return ""
        return self._without_cap() if len(self._caps) > 1 else ""

    def _without_cap(self) -> str:
        refused = self._caps.pop(0)
        return f"the server does not take '{refused}'"
