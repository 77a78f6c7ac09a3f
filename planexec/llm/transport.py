"""One request to a server of chat completions, and what came back: a reply, or a fault of a known kind.

The `openai` package speaks to the server; its own retries are off, and a wall-clock deadline is kept beside its
time-outs, which bytes that trickle in defeat. The package takes over a second to import: only when a model is called.
"""

from __future__ import annotations

import ipaddress
import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from planexec.llm.settings import NO_KEY, ModelSettings

CONNECT_SECONDS = 10.0
SHOWN = 300


@dataclass(frozen=True)
class Reply:
    """A 200 with a JSON object in it."""

    body: Mapping[str, Any]


@dataclass(frozen=True)
class Fault:
    """No answer. ``status`` is HTTP's, 0 where it did not come to that; ``code`` is the server's own word; ``wait`` is
    what it asks for in seconds. ``kind`` is ``status``, ``connect``, ``cut``, ``deadline`` or ``body``.
    """

    kind: str
    message: str
    status: int = 0
    code: str = ""
    wait: float | None = None


class Transport:
    """Sends requests of one model's server."""

    def __init__(self, settings: ModelSettings) -> None:
        self.settings = settings
        self._client: Any = None

    def send(self, request: Mapping[str, Any], seconds: float) -> Reply | Fault:
        """One request, answered or given up within ``seconds``."""
        result: list[Reply | Fault] = []
        client = self._connected()
        # A daemon, so that a server that never ends cannot keep the program from ending.
        worker = threading.Thread(target=lambda: result.append(self._attempt(client, request, seconds)), daemon=True)
        worker.start()
        worker.join(seconds)
        if result:
            return result[0]
        self.close()  # takes the connection away from under the worker
        return Fault("deadline", f"no whole answer within {seconds:.0f} s")

    def close(self) -> None:
        """Close connections. Idempotent."""
        client, self._client = self._client, None
        if client is not None:
            threading.Thread(target=client.close, daemon=True).start()

    def _connected(self) -> Any:
        if self._client is None:
            from openai import AzureOpenAI, DefaultHttpxClient, OpenAI, Timeout  # noqa: PLC0415

            settings = self.settings
            key = settings.key.reveal() or NO_KEY
            trusted = not _is_loopback(settings.base_url)  # HTTP_PROXY would be asked for what is on this machine
            http = DefaultHttpxClient(trust_env=trusted)
            timeout = Timeout(settings.timeout, connect=CONNECT_SECONDS)
            if settings.azure:
                self._client = AzureOpenAI(
                    api_key=key, azure_endpoint=settings.base_url, api_version=settings.api_version,
                    max_retries=0, timeout=timeout, http_client=http,
                )  # fmt: skip
            else:
                self._client = OpenAI(
                    api_key=key, base_url=settings.base_url or None, max_retries=0, timeout=timeout, http_client=http
                )
        return self._client

    def _attempt(self, client: Any, request: Mapping[str, Any], seconds: float) -> Reply | Fault:
        from openai import APIConnectionError, APIStatusError, APITimeoutError  # noqa: PLC0415

        started = time.monotonic()
        try:
            raw = client.chat.completions.with_raw_response.create(**request, timeout=seconds)
            return _body(raw.text if isinstance(raw.text, str) else raw.text())
        except APIStatusError as error:
            return _refusal(error.status_code, error.response.headers, error.response.text)
        except APITimeoutError:
            return Fault("deadline", f"no answer within {time.monotonic() - started:.0f} s")
        except APIConnectionError as error:
            cause = f"{type(error.__cause__).__name__}: {error.__cause__}" if error.__cause__ else str(error)
            kind = "connect" if type(error.__cause__).__name__.startswith("Connect") else "cut"
            return Fault(kind, cause[:SHOWN])
        except Exception as error:  # whatever the package makes of an odd answer, it is no answer
            return Fault("body", f"{type(error).__name__}: {error}"[:SHOWN])


def _body(text: str) -> Reply | Fault:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return Fault("body", f"the server answered with something that is no JSON: {text.strip()[:80]!r}")
    if not isinstance(body, dict):
        return Fault("body", "the server's answer is no JSON object")
    error = body.get("error")
    if error:
        message = error.get("message", "") if isinstance(error, dict) else error
        return Fault("body", f"the server answered with an error: {message}"[:SHOWN])
    return Reply(body)


def _refusal(status: int, headers: Mapping[str, str], text: str) -> Fault:
    """A status that is no success, in the server's own words."""
    message, code = text.strip()[:SHOWN], ""
    try:
        error = json.loads(text)
        error = error.get("error", error) if isinstance(error, dict) else error
        if isinstance(error, dict):
            message = str(error.get("message") or message)[:SHOWN]
            code = " ".join(str(error[key]) for key in ("code", "type", "param") if error.get(key))
    except (ValueError, RecursionError):
        message = message[:80]
    return Fault("status", " ".join(message.split()), status, code, _wait(headers.get("retry-after", "")))


def _wait(header: str) -> float | None:
    """Seconds that a ``Retry-After`` header asks for: a number, or a date."""
    try:
        return max(float(header), 0.0)
    except ValueError:
        pass
    try:
        return max(parsedate_to_datetime(header).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError):
        return None


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
