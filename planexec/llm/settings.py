"""Which model, where, and with which key: from flags, the environment and the user's configuration, in that order.

Never from a repository: nothing here looks at the working directory.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from planexec.core.errors import UsageError

TIMEOUT = 300.0
OWN_SERVER = "OpenAI's own server"
NO_KEY = "none"
"""What is sent where no key is needed: local servers ask for none, and the client will not go without."""


class Secret:
    """A key that no print, no error and no log shows."""

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The key itself, for the client alone."""
        return self._text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __repr__(self) -> str:
        return "Secret(...)" if self._text else "Secret()"

    __str__ = __repr__


class ConfiguredModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``model:`` of the user's configuration. ``key_env`` names an environment variable that holds the key;
    ``executor`` is another model for the steps; ``timeout`` is in seconds, ``context`` in tokens (0: not known).
    """

    name: str = ""
    base_url: str = ""
    key: str = ""
    key_env: str = ""
    azure: bool = False
    api_version: str = ""
    timeout: float = TIMEOUT
    context: int = 0
    executor: str = ""


class ModelSettings(msgspec.Struct, frozen=True):
    """A model that can be asked. An empty ``base_url`` is OpenAI's own; ``timeout`` is for one question with all its
    retries, in seconds; ``context`` in tokens, 0 where it is not known.
    """

    name: str
    base_url: str = ""
    key: Secret = Secret("")
    azure: bool = False
    api_version: str = ""
    timeout: float = TIMEOUT
    context: int = 0

    def called(self, name: str) -> ModelSettings:
        """Another model of the same server."""
        return msgspec.structs.replace(self, name=name)

    @property
    def place(self) -> str:
        """Where it is, for people."""
        return self.base_url or OWN_SERVER


def resolve(
    name: str, base_url: str, environment: Mapping[str, str], configured: ConfiguredModel
) -> ModelSettings | None:
    """The model that flags, environment and configuration agree on, each before the next; None where none is named: a
    key alone asks for nothing. Raises UsageError for an address that is none.
    """
    name = name or environment.get("PLANEXEC_MODEL", "") or configured.name
    if not name:
        return None
    endpoint = environment.get("AZURE_OPENAI_ENDPOINT", "")
    plain = environment.get("PLANEXEC_BASE_URL", "") or configured.base_url or environment.get("OPENAI_BASE_URL", "")
    azure = not base_url and (configured.azure or (bool(endpoint) and not plain))
    url = base_url or (configured.base_url or endpoint if azure else plain)
    settings = ModelSettings(
        name,
        _checked_url(url) if url else "",
        Secret(_key(environment, configured, azure)),
        azure,
        configured.api_version or environment.get("OPENAI_API_VERSION", ""),
        configured.timeout,
        configured.context,
    )
    if azure and not (settings.base_url and settings.api_version):
        raise UsageError("Azure needs an endpoint and a version", "set AZURE_OPENAI_ENDPOINT and OPENAI_API_VERSION")
    return settings


def _key(environment: Mapping[str, str], configured: ConfiguredModel, azure: bool) -> str:
    names = ["PLANEXEC_API_KEY", configured.key_env]
    found = next((environment[each] for each in names if each and environment.get(each)), "")
    return found or configured.key or environment.get("AZURE_OPENAI_API_KEY" if azure else "OPENAI_API_KEY", "")


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        sound = False
    if not sound:
        raise UsageError("the model's base URL is no address of a server", "such as http://127.0.0.1:8080/v1")
    return url.rstrip("/")
