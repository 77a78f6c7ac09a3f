"""Takes secrets out of texts before they are kept: known ones in every common spelling, and what has a key's shape."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, quote_plus

REDACTED = "[redacted]"
SHORTEST = 8
"""Shorter secrets would be found everywhere."""

_SHAPES = re.compile(
    r"\bsk-[A-Za-z0-9_-]{16,}"
    r"|(?<=Bearer )[A-Za-z0-9._~+/=-]{12,}"
    r"|(?<=api_key=)[^\s&\"']{8,}"
    r"|(?<=api-key=)[^\s&\"']{8,}"
    r"|(?<=://)[^\s/:@\"']+:[^\s/@\"']+(?=@)"
)


class Redactor:
    """Knows secrets. Applying it twice changes nothing more."""

    def __init__(self, secrets: Iterable[str]) -> None:
        spellings = {form for secret in secrets if len(secret) >= SHORTEST for form in _spellings(secret)}
        longest_first = sorted(spellings, key=lambda form: (-len(form), form))
        self._known = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def text(self, text: str) -> str:
        """``text`` without secrets."""
        if self._known is not None:
            text = self._known.sub(REDACTED, text)
        return _SHAPES.sub(REDACTED, text)

    def value(self, value: Any) -> Any:
        """A JSON value without secrets, keys of objects included."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self.value(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(each) for each in value]
        return value


def _spellings(secret: str) -> set[str]:
    """As it is, in JSON, in URLs, in base64 (the part that does not hang on what stands beside it)."""
    data = secret.encode("utf-8", "surrogatepass")
    whole = base64.b64encode(data).decode()
    forms = {secret, json.dumps(secret)[1:-1], quote(secret, safe="", errors="replace"), whole.rstrip("=")}
    forms |= {quote_plus(secret, errors="replace"), base64.urlsafe_b64encode(data).decode().rstrip("=")}
    return {form for form in forms if len(form) >= SHORTEST}
