"""What a model's server can do, found by asking it (``planexec doctor --model``): schema, context, usage, speed."""

from __future__ import annotations

from typing import Any

from planexec.core.errors import ModelFailure
from planexec.llm.interface import ASK, Answer, LanguageModel, Question

SECONDS = 180.0
PROMPT = 24_000
"""Characters of the long question: as large as the largest that planning asks."""
WORD = "marigold"

_SYSTEM = "You answer with one JSON object and nothing else."
_SCHEMA = {
    "type": "object", "properties": {"word": {"type": "string", "enum": [WORD, "none"]}}, "required": ["word"],
    "additionalProperties": False,
}  # fmt: skip


def examine_model(model: LanguageModel, place: str, seconds: float = SECONDS) -> dict[str, Any]:
    """Ask a model at ``place`` three things. Keys: ``name``, ``place``, ``answers``, ``problem``, ``form``, ``schema``
    (``enforced``, ``advice``, ``none``), ``usage`` and ``cached`` (whether tokens are told), ``tokens_a_second`` (None
    where not known), ``whole`` (whether a long prompt arrived whole), ``warnings`` and ``words``: all of it in
    sentences.
    """
    found: dict[str, Any] = {"name": model.name, "place": place, "answers": False, "problem": ""}
    try:
        first = model.ask(_question(f'Say {{"word": "{WORD}"}}.'), seconds)
        defiant = model.ask(_question("Write three sentences about the sea. Do not write JSON."), seconds)
    except ModelFailure as error:
        return {**found, "problem": error.message, "hint": error.hint, "words": [error.message]}
    found |= {
        "answers": True,
        "form": first.form,
        "schema": _schema(first, defiant),
        "usage": first.usage.sent is not None and first.usage.received is not None,
        "cached": first.usage.cached is not None,
        "tokens_a_second": _speed(defiant),
        **_long(model, seconds),
        "warnings": list(dict.fromkeys((*first.warnings, *defiant.warnings))),
    }
    return {**found, "words": _words(found)}


def _question(user: str) -> Question:
    return Question(ASK, _SYSTEM, user, "word", _SCHEMA, limit=512)


def _schema(first: Answer, defiant: Answer) -> str:
    if first.form == "text":
        return "none"
    return "enforced" if defiant.value is not None and set(defiant.value) == {"word"} else "advice"


def _speed(answer: Answer) -> float | None:
    if not answer.usage.received or answer.seconds <= 0:
        return None
    return round(answer.usage.received / answer.seconds, 1)


def _long(model: LanguageModel, seconds: float) -> dict[str, Any]:
    """Whether a prompt of the size that planning needs arrives whole: the word in its first line must come back."""
    filler = "\n".join(f"{n}: nothing of interest stands in this line" for n in range(PROMPT // 48))
    user = f"The word is {WORD}.\n{filler}\nSay the word that the first line names, or none."
    try:
        answer = model.ask(_question(user), seconds)
    except ModelFailure as error:
        return {"whole": False, "long_prompt": error.message}
    whole = answer.value is not None and answer.value.get("word") == WORD
    tokens = f" ({answer.usage.sent} tokens)" if answer.usage.sent is not None else ""
    told = f"a prompt of {len(user):,} characters{tokens} was " + ("read whole" if whole else "answered, but not read")
    return {"whole": whole, "long_prompt": told}


def _words(found: dict[str, Any]) -> list[str]:
    schemas = {
        "enforced": "it enforces a JSON Schema: answers have the asked-for form",
        "advice": "it takes a JSON Schema as advice only: expect correction turns",
        "none": "it knows no JSON Schema: the object is asked for in words",
    }
    speed = found["tokens_a_second"]
    cached = ", cached ones too" if found["cached"] else ""
    return [
        f"{found['name']} at {found['place']} answers",
        f"{schemas[found['schema']]} (form '{found['form']}')",
        f"it tells the tokens of each question{cached}" if found["usage"]
        else "it does not tell tokens: limits.model_calls is the bound",
        f"it writes {speed} tokens a second" if speed else "its speed is not known",
        found["long_prompt"],
        *found["warnings"],
    ]  # fmt: skip
