"""A server of chat completions on loopback that answers from a script: for tests, dry-runs and demonstrations.

    python -m planexec.llm.scripted REPLIES.yaml --port 8080

``REPLIES.yaml`` is a list. A text is an answer; a mapping has the fields of ``Reply``, and may have ``json`` (an object
that is the answer) in place of ``text``. A recording (``.jsonl``) gives its answers, whatever is asked. Replies are
given in order, one a request; when they are used up the server says so with HTTP 503. It speaks real HTTP, and can also
do what real servers do wrong.
"""

from __future__ import annotations

import argparse
import json
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec

from planexec.core.errors import PlanexecError, UsageError
from planexec.core.yamlmarks import read
from planexec.llm.recording import exchanges

MODEL = "scripted"
CHARACTERS_A_TOKEN = 4
Answering = Callable[[Mapping[str, Any]], "Reply | str"]


class Reply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One HTTP answer. ``text`` is what the model says and ``finish`` why it ended; ``message`` has further keys of the
    message (``refusal``, ``tool_calls``, ``reasoning_content``); ``usage`` is false for servers that tell no tokens,
    and ``sent`` the tokens that the server claims to have taken (-1: about as many as there were).

    ``body`` replaces the whole body, whatever it is. ``delay`` seconds pass before the answer and ``drip`` seconds
    between its bytes; ``reset`` breaks the connection off in the middle of the body.
    """

    text: str = ""
    finish: str = "stop"
    message: dict[str, Any] = {}
    usage: bool = True
    sent: int = -1
    status: int = 200
    headers: dict[str, str] = {}
    body: str | None = None
    delay: float = 0.0
    drip: float = 0.0
    reset: bool = False


class ScriptedServer:
    """Serves ``replies`` in order, or what ``replies`` says of each request, as a context manager.

    ``requests`` are the bodies that came, in order; ``url`` is the base URL for clients; a request with one of the
    parameters ``refused`` is answered with HTTP 400 and takes no reply.
    """

    def __init__(self, replies: Iterable[Reply | str] | Answering, refused: Sequence[str] = (), port: int = 0) -> None:
        self.requests: list[dict[str, Any]] = []
        self.refused = tuple(refused)
        self._next = replies if callable(replies) else _in_order(replies)
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.script = self
        self._thread = threading.Thread(target=lambda: self._server.serve_forever(poll_interval=0.02), daemon=True)

    @property
    def url(self) -> str:
        """The base URL, which ends in ``/v1``."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def reply_to(self, request: dict[str, Any]) -> Reply:
        """What is answered to a request."""
        with self._lock:
            self.requests.append(request)
            for name in self.refused:
                if name in request:
                    return failed(400, f"Unsupported parameter: '{name}' is not supported with this model.")
            given = self._next(request)
        return Reply(given) if isinstance(given, str) else given


def failed(status: int, message: str, code: str = "", headers: Mapping[str, str] | None = None) -> Reply:
    """An error as OpenAI's server words it."""
    body = json.dumps({"error": {"message": message, "type": "error", "param": None, "code": code or None}})
    return Reply(status=status, body=body, headers=dict(headers or {}))


def _in_order(replies: Iterable[Reply | str]) -> Answering:
    waiting = iter(list(replies))
    return lambda request: next(waiting, failed(503, "the script has no further reply"))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    script: ScriptedServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        if self.path.rstrip("/").endswith("/models"):
            listed = {"object": "list", "data": [{"id": MODEL, "object": "model"}]}
            self._send(Reply(body=json.dumps(listed)), {})
        else:
            self._send(failed(404, f"there is nothing at {self.path}"), {})

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            request = json.loads(data)
        except ValueError:
            request = None
        if not isinstance(request, dict):
            self._send(failed(400, "the request is no JSON object"), {})
        elif not self.path.endswith("/chat/completions"):
            self._send(failed(404, f"there is nothing at {self.path}"), {})
        else:
            self._send(self.server.script.reply_to(request), request)

    def _send(self, reply: Reply, request: Mapping[str, Any]) -> None:
        body = (completion(reply, request) if reply.body is None else reply.body).encode("utf-8", "surrogatepass")
        time.sleep(reply.delay)
        self.send_response(reply.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if reply.reset:
            self._break_off(body)
        elif reply.drip:
            for place in range(len(body)):
                self.wfile.write(body[place : place + 1])
                time.sleep(reply.drip)
        else:
            self.wfile.write(body)

    def _break_off(self, body: bytes) -> None:
        self.wfile.write(body[: len(body) // 2])
        self.wfile.flush()
        linger = struct.pack("ii", 1, 0)  # closed with a reset, not in good order
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.connection.close()
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged: requests hold the user's code."""


def completion(reply: Reply, request: Mapping[str, Any]) -> str:
    """The body of a chat completion."""
    size = sum(len(str(each.get("content"))) for each in request.get("messages", ()))
    message = {"role": "assistant", "content": reply.text, **reply.message}
    body: dict[str, Any] = {
        "id": "chatcmpl-scripted", "object": "chat.completion", "created": 0, "model": request.get("model", MODEL),
        "choices": [{"index": 0, "message": message, "finish_reason": reply.finish, "logprobs": None}],
    }  # fmt: skip
    if reply.usage:
        sent = size // CHARACTERS_A_TOKEN if reply.sent < 0 else reply.sent
        received = len(reply.text) // CHARACTERS_A_TOKEN + 1
        body["usage"] = {"prompt_tokens": sent, "completion_tokens": received, "total_tokens": sent + received}
    return json.dumps(body)


def load(path: Path) -> list[Reply]:
    """The replies of a file, or the answers of a recording. Raises UsageError."""
    if path.suffix == ".jsonl":
        return [Reply(each.answer.text, each.answer.finish) for each in exchanges(path)]
    try:
        data = read(path.read_text("utf-8"), str(path)).data
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the replies '{path}' cannot be read: {error}", "it is a YAML or JSON file") from None
    if not isinstance(data, list):
        raise UsageError(f"{path}: the replies are no list", "a text or a mapping for each request")
    return [_reply(each, f"{path}: reply {number}") for number, each in enumerate(data, 1)]


def _reply(value: Any, where: str) -> Reply:
    if isinstance(value, str):
        return Reply(value)
    if isinstance(value, dict) and "json" in value:
        value = {**{key: each for key, each in value.items() if key != "json"}, "text": json.dumps(value["json"])}
    try:
        return msgspec.convert(value, Reply)
    except msgspec.ValidationError as error:
        raise UsageError(f"{where}: {error}", f"fields: {', '.join(Reply.__struct_fields__)}, json") from None


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m planexec.llm.scripted", description="Answers from a script.")
    parser.add_argument("replies", type=Path, help="a YAML or JSON list, or a recording")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    chosen = parser.parse_args(arguments)
    try:
        replies = load(chosen.replies)
        with ScriptedServer(replies, port=chosen.port) as server:
            print(f"{len(replies)} replies at {server.url}", flush=True)
            threading.Event().wait()
    except PlanexecError as error:
        sys.stderr.write(f"planexec: {error.told}\n")
        return error.exit_code
    except OSError as error:
        sys.stderr.write(f"planexec: port {chosen.port} cannot be served: {error.strerror}\n")
        return 5
    except KeyboardInterrupt:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
