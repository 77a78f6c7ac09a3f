"""What questions cost, where a price is known: a small list that the user extends. Unknown is None, not zero."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

import msgspec

from planexec.core.errors import UsageError
from planexec.core.usage import Usage
from planexec.core.yamlmarks import read

MILLION = 1_000_000
_DATED = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2}|latest)\Z")


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """US dollars per million tokens. ``cached`` is for the part of the prompt that the server had already; without it
    that part costs what the rest costs.
    """

    sent: float
    received: float
    cached: float | None = None


class Prices:
    """Prices by model name."""

    def __init__(self, known: Mapping[str, Price]) -> None:
        self.known = known

    @classmethod
    def load(cls, own: Path | None = None) -> Prices:
        """The list that ships with planexec, with the user's file before it. Raises UsageError for a broken file."""
        known = _read((files(__package__) / "prices.yaml").read_text("utf-8"), "prices.yaml")
        try:
            known |= _read(own.read_text("utf-8"), str(own)) if own is not None else {}
        except (FileNotFoundError, NotADirectoryError):
            pass
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the prices '{own}' cannot be read: {error}", "it is a YAML file in UTF-8") from None
        return cls(known)

    def cost(self, name: str, usage: Usage) -> float | None:
        """US dollars of a question; None where the model's price or its tokens are not known. The dated name of a model
        has its price.
        """
        price = self.known.get(name) or self.known.get(_DATED.sub("", name))
        if price is None or usage.sent is None or usage.received is None:
            return None
        cached = min(usage.cached or 0, usage.sent)
        per_cached = price.sent if price.cached is None else price.cached
        return ((usage.sent - cached) * price.sent + cached * per_cached + usage.received * price.received) / MILLION


def _read(text: str, file: str) -> dict[str, Price]:
    if not re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE).strip():
        return {}
    data = read(text, file).data
    try:
        return msgspec.convert(data, dict[str, Price])
    except msgspec.ValidationError as error:
        hint = "each model has 'sent' and 'received', and may have 'cached', in US dollars per million tokens"
        raise UsageError(f"{file}: {error}", hint) from None
