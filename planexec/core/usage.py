"""What asking models cost: tokens, requests, money, and the limits on them. Unknown is not zero."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class Usage(msgspec.Struct, frozen=True):
    """Tokens of one question, all its requests together. None is unknown, which is not zero.

    ``sent`` counts the prompt, ``cached`` the part of it that the server had already, ``received`` the answer with
    its reasoning. ``requests`` are those that left the machine, failed ones included.
    """

    sent: int | None = None
    cached: int | None = None
    received: int | None = None
    requests: int = 0


class Spent(msgspec.Struct, frozen=True):
    """Sums over questions to models. Tokens and ``cost`` (US dollars) are those that are known; ``unmetered`` questions
    came back without their tokens, ``unpriced`` ones without a price.
    """

    questions: int = 0
    requests: int = 0
    sent: int = 0
    cached: int = 0
    received: int = 0
    cost: float = 0.0
    unmetered: int = 0
    unpriced: int = 0
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        """Tokens both ways."""
        return self.sent + self.received

    def plus(self, usage: Usage, cost: float | None, seconds: float) -> Spent:
        """With one more question."""
        return Spent(
            self.questions + 1,
            self.requests + usage.requests,
            self.sent + (usage.sent or 0),
            self.cached + (usage.cached or 0),
            self.received + (usage.received or 0),
            self.cost + (cost or 0.0),
            self.unmetered + int(usage.sent is None or usage.received is None),
            self.unpriced + int(cost is None),
            self.seconds + seconds,
        )


def total(parts: Iterable[Spent]) -> Spent:
    """The sum of several."""
    whole = Spent()
    for part in parts:
        whole = Spent(
            *(a + b for a, b in zip(msgspec.structs.astuple(whole), msgspec.structs.astuple(part), strict=True))
        )
    return whole


class ModelLimits(msgspec.Struct, frozen=True):
    """Bounds for all questions of a run: how many, tokens both ways, US dollars. 0 dollars is no bound."""

    model_calls: int
    model_tokens: int
    model_cost: float

    def reached(self, spent: Spent) -> tuple[str, str] | None:
        """The name of a bound that is used up and a line that says so; None while there is room.

        A question whose tokens or price are unknown counts in calls alone.
        """
        if spent.questions >= self.model_calls:
            return "model_calls", f"the models were asked {spent.questions} times (limits.model_calls)"
        if spent.tokens >= self.model_tokens:
            return "model_tokens", f"the models took {spent.tokens:,} tokens (limits.model_tokens)"
        if self.model_cost and spent.cost >= self.model_cost:
            return "model_cost", f"the models cost ${spent.cost:.4f} (limits.model_cost)"
        return None


RAISABLE = {
    "time": "seconds",
    "model_calls": "model_calls",
    "model_tokens": "model_tokens",
    "model_cost": "model_cost",
}
"""Reasons for which a run ends at a limit that a person may raise, and the limit's key in the contract."""

OPTIONS = {
    "time": "--max-seconds",
    "model_calls": "--max-calls",
    "model_tokens": "--max-tokens",
    "model_cost": "--max-cost",
}
"""The option of ``resume`` that gives more of it."""
