"""A model behind an OpenAI-compatible server: one question in, one answer out, whatever servers do in between.

Retries are ours, under one deadline. How the JSON object is asked for goes down a ladder (strict schema, plain schema,
text) when a server refuses a rung, and what a server refused once is not sent to it again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from planexec.core.errors import ModelFailure
from planexec.core.usage import Usage
from planexec.llm.answers import json_object
from planexec.llm.interface import Answer, Question
from planexec.llm.ladder import Ladder
from planexec.llm.redaction import REDACTED
from planexec.llm.settings import ModelSettings
from planexec.llm.transport import Fault, Reply, Transport

ATTEMPTS = 5
"""Requests that may fail in a row before the question fails; a server that is not there gets fewer."""
UNREACHABLE = 3
LONGEST_PAUSE = 8.0
LEAST_ROOM, HIGHEST_CAP = 1024, 16_384
"""Tokens: what the context must leave for an answer, and how far its cap is raised, once, when it was cut."""
FINISHED = frozenset({"stop", "tool_calls", "function_call", "eos"})
CUT, FILTERED = "length", "content_filter"
CHARACTERS_A_TOKEN = 12.0
"""No text of ours has tokens as long as that: fewer tokens mean that the server cut the prompt."""
WORTH_COMPARING = 4000


class ServedModel:
    """Asks one model. ``pause`` is the first pause between attempts, in seconds; it doubles."""

    def __init__(self, settings: ModelSettings, pause: float = 0.5) -> None:
        self.settings, self.pause = settings, pause
        self.name = settings.name
        self.transport = Transport(settings)
        self.ladder = Ladder(official=not settings.base_url)

    def ask(self, question: Question, seconds: float) -> Answer:
        """See ``LanguageModel``. Raises ModelFailure where no answer can be had."""
        asked = _Asking(self, question, min(seconds, self.settings.timeout), self._room(question))
        return asked.answer()

    def _room(self, question: Question) -> int:
        """Tokens that the context leaves for an answer; what is usual where the context is not known."""
        if not self.settings.context:
            return HIGHEST_CAP
        tokens = question.size // 4
        room = min(self.settings.context - tokens, HIGHEST_CAP)
        if room < min(LEAST_ROOM, question.limit):
            raise ModelFailure(
                f"a question has about {tokens} tokens, and the context of '{self.name}' {self.settings.context}: no "
                "room is left for an answer",
                "raise the server's context, and 'context' in the configuration",
            )
        return room


class _Asking:
    """One question on its way: attempts, deadline, and what they cost."""

    def __init__(self, model: ServedModel, question: Question, seconds: float, room: int) -> None:
        self.model, self.question, self.seconds = model, question, seconds
        self.started = time.monotonic()
        self.room = room
        self.cap = min(question.limit, room)
        self.requests = self.faults = 0
        self.warnings: list[str] = []

    def answer(self) -> Answer:
        while True:
            left = self.seconds - (time.monotonic() - self.started)
            if left <= 0:
                raise self._failure(Fault("deadline", f"no answer within {self.seconds:.0f} s"))
            self.requests += 1
            result = self.model.transport.send(self._request(), left)
            if isinstance(result, Fault):
                self._after(result)
                continue
            choice = _choice(result)
            if isinstance(choice, Fault):
                self._after(choice)
                continue
            answer = self._read(result, choice)
            if answer is not None:
                return answer

    def _request(self) -> dict[str, Any]:
        question = self.question
        messages = [{"role": "system", "content": question.system}, {"role": "user", "content": question.user}]
        return {"model": self.model.name, "messages": messages, **self.model.ladder.parameters(question, self.cap)}

    def _read(self, reply: Reply, choice: Mapping[str, Any]) -> Answer | None:
        """The answer in a whole reply; None when it was cut and is to be asked for again with more room."""
        finish = str(choice["finish_reason"])
        usage = self._usage(reply)
        self._check_context(usage)
        if finish == CUT and self.cap < self.room and self.model.ladder.capped:
            self.cap = self.room
            return None
        text, problem = _said(choice["message"])
        text = text.encode("utf-8", "replace").decode()  # half of a surrogate pair cannot be kept
        value = None
        if finish == CUT:
            problem = "the answer was cut off because it was too long; answer shorter"
        elif finish == FILTERED:
            problem = "the server's content filter withheld the answer"
        elif not problem:
            value, problem = json_object(text)
        took = time.monotonic() - self.started
        return Answer(text, value, problem, usage, took, finish, self.model.ladder.form, tuple(self.warnings))

    def _usage(self, reply: Reply) -> Usage:
        told = reply.body.get("usage")
        told = told if isinstance(told, dict) else {}
        details = told.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else None
        counts = [_count(each) for each in (told.get("prompt_tokens"), cached, told.get("completion_tokens"))]
        return Usage(counts[0], counts[1], counts[2], self.requests)

    def _check_context(self, usage: Usage) -> None:
        """A prompt that arrived with too few tokens was cut on the way: its answer would be about something else."""
        size = self.question.size
        if usage.sent is None or size < WORTH_COMPARING:
            return
        tokens = usage.sent + (usage.cached or 0)  # some servers count what was cached beside the rest
        if tokens < size / CHARACTERS_A_TOKEN:
            raise ModelFailure(
                f"the server took only {usage.sent} tokens of a prompt of {size} characters: it cut it",
                "raise the server's context size (llama.cpp: --ctx-size, Ollama: num_ctx)",
            )

    def _after(self, fault: Fault) -> None:
        """Go on after a fault: with other parameters, or after a pause. Raises ModelFailure where that is no use."""
        if fault.status in {400, 422} and (said := self.model.ladder.step_down(fault)):
            self.warnings.append(said)
            return
        self.faults += 1
        most = UNREACHABLE if fault.kind in {"connect", "body"} else ATTEMPTS
        if not _passes(fault) or self.faults >= most:
            raise self._failure(fault)
        doubled = self.model.pause * 2 ** (self.faults - 1)
        pause = min(doubled, LONGEST_PAUSE) if fault.wait is None else fault.wait
        left = self.seconds - (time.monotonic() - self.started)
        if pause >= left:
            raise self._failure(fault, f"and asks to wait {pause:.0f} s" if fault.wait is not None else "")
        time.sleep(pause)

    def _failure(self, fault: Fault, more: str = "") -> ModelFailure:
        place, said = self.model.settings.place, fault.message
        tries = f" ({self.requests} requests)" if self.requests > 1 else ""
        message, hint = f"the model's server at {place} failed: {said}{tries}", ""
        if fault.kind == "connect":
            message = f"nothing answers at {place}: {said}{tries}"
            hint = "start the server, or give its address: --base-url"
        elif fault.kind == "deadline":
            hint = "give it more time ('timeout' in the configuration), or take a quicker model"
        elif fault.status in {401, 403}:
            message = f"the model's server refuses the key (HTTP {fault.status}): {said}"
            hint = "set OPENAI_API_KEY (or PLANEXEC_API_KEY) to a key of this server"
        elif fault.status == 404:
            message = f"the server at {place} knows no model '{self.model.name}', or the address is wrong: {said}"
            hint = "check --model and --base-url, which often ends in /v1"
        elif fault.code and "insufficient_quota" in fault.code:
            hint = "the account has no credit left"
        elif fault.status:
            message = f"the model's server answers with HTTP {fault.status}: {said}{tries}"
        return ModelFailure(_hidden(" ".join(f"{message} {more}".split()), self.model.settings), hint)


def _passes(fault: Fault) -> bool:
    """Whether another attempt may fare better."""
    if "insufficient_quota" in fault.code:
        return False
    return not fault.status or fault.status in {408, 409, 425, 429} or fault.status >= 500


def _choice(reply: Reply) -> Mapping[str, Any] | Fault:
    """The first choice, whole; its finish reason is of a closed set."""
    choices = reply.body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, dict) or not isinstance(first.get("message"), dict):
        return Fault("body", "the server's answer holds no message")
    if first.get("finish_reason") not in FINISHED | {CUT, FILTERED}:
        return Fault("body", f"the server ended the answer for the unknown reason {first.get('finish_reason')!r}")
    return first


def _said(message: Mapping[str, Any]) -> tuple[str, str]:
    """The text of a message, and what keeps it from being an answer."""
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    text = content if isinstance(content, str) else ""
    if message.get("refusal"):
        return text, f"the model refused: {str(message['refusal'])[:200]}"
    calls = message.get("tool_calls")
    if not text.strip() and isinstance(calls, list) and calls and isinstance(calls[0], dict):
        return _called(calls[0].get("function")), ""
    if not text.strip():
        reasoned = message.get("reasoning_content") or message.get("reasoning")
        return "", "the model reasoned and answered nothing" if reasoned else "the answer is empty"
    return text, ""


def _called(function: Any) -> str:
    """A call of a tool, which was not asked for, as the object that was."""
    if not isinstance(function, dict):
        return ""
    try:
        arguments = json.loads(function.get("arguments") or "{}")
    except (ValueError, TypeError, RecursionError):
        return str(function.get("arguments"))
    return json.dumps({"tool": function.get("name"), "arguments": arguments})


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _hidden(text: str, settings: ModelSettings) -> str:
    """A server may repeat what it was sent."""
    key = settings.key.reveal()
    return text.replace(key, REDACTED) if key else text
