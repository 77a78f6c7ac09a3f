"""A server that misbehaves, on loopback: what comes of it, in how many requests and how much time."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from planexec.core.errors import ModelFailure
from planexec.llm.client import ServedModel
from planexec.llm.interface import ACT, Answer, Question
from planexec.llm.scripted import Reply, ScriptedServer, failed
from planexec.llm.settings import ModelSettings, Secret

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
QUESTION = Question(ACT, "system", "user", "thing", SCHEMA)
GOOD = '{"a": 1}'
KEY = "sk-planted-0123456789abcdef"


def model(url: str, timeout: float = 20.0, context: int = 0) -> ServedModel:
    return ServedModel(ModelSettings("m", url, Secret(KEY), timeout=timeout, context=context), pause=0.01)


@dataclass
class Asked:
    """How a question ended."""

    requests: int
    seconds: float
    answer: Answer | None = None
    failure: str = ""
    hint: str = ""


def asked(
    replies: Sequence[Reply | str], *, refused: Sequence[str] = (), timeout: float = 20.0, question: Question = QUESTION
) -> Asked:
    with ScriptedServer(replies, refused) as server:
        started = time.monotonic()
        try:
            answer = model(server.url, timeout).ask(question, 60.0)
        except ModelFailure as error:
            return Asked(len(server.requests), time.monotonic() - started, None, error.message, error.hint)
        return Asked(len(server.requests), time.monotonic() - started, answer)


def test_a_good_answer_takes_one_request_with_its_tokens() -> None:
    result = asked([GOOD])
    assert result.answer is not None and result.requests == 1
    assert result.answer.value == {"a": 1} and result.answer.form == "strict"
    assert result.answer.usage.sent == 2 and result.answer.usage.received == 3 and result.answer.usage.requests == 1


PASSING = {
    "429": failed(429, "slow down"),
    "429 with a wait": failed(429, "slow down", headers={"Retry-After": "0.2"}),
    "429 with a date": failed(429, "slow down", headers={"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}),
    "500": failed(500, "oops"),
    "503": Reply(status=503, body="<html>busy</html>"),
    "HTML with 200": Reply(body="<html><body>login</body></html>"),
    "an error with 200": Reply(body='{"error": {"message": "overloaded"}}'),
    "no choices": Reply(body='{"choices": []}'),
    "a list": Reply(body="[]"),
    "nothing": Reply(body=""),
    "an unknown reason to end": Reply(GOOD, finish="because"),
    "a reset": Reply(GOOD, reset=True),
    "408": failed(408, "time"),
    "409": failed(409, "conflict"),
}


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING.keys())
def test_what_passes_is_asked_again(fault: Reply) -> None:
    result = asked([fault, GOOD])
    assert result.failure == "" and result.answer is not None
    assert result.answer.value == {"a": 1} and result.requests == 2 == result.answer.usage.requests
    assert result.seconds < 10


def test_the_server_says_how_long_to_wait() -> None:
    assert asked([PASSING["429 with a wait"], GOOD]).seconds >= 0.2


def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    result = asked([failed(429, "slow down", headers={"Retry-After": "3600"}), GOOD], timeout=5)
    assert result.requests == 1 and result.seconds < 4
    assert "HTTP 429" in result.failure and "asks to wait 3600 s" in result.failure


@pytest.mark.parametrize(
    ("fault", "requests"),
    [(failed(500, "oops"), 5), (failed(429, "slow down"), 5), (Reply(body="<html>"), 3), (Reply(GOOD, reset=True), 5)],
)
def test_what_does_not_pass_ends_after_a_bounded_number_of_requests(fault: Reply, requests: int) -> None:
    result = asked([fault] * 20)
    assert result.requests == requests and result.failure and result.seconds < 10
    assert f"({requests} requests)" in result.failure


FINAL = {
    "401": (failed(401, "bad key"), "refuses the key (HTTP 401): bad key", "OPENAI_API_KEY"),
    "403": (failed(403, "not yours"), "refuses the key (HTTP 403)", "OPENAI_API_KEY"),
    "404": (failed(404, "no such model"), "knows no model 'm'", "--base-url"),
    "402": (failed(402, "pay"), "HTTP 402: pay", ""),
    "no credit": (failed(429, "you exceeded your quota", "insufficient_quota"), "exceeded your quota", "credit"),
    "too long": (failed(400, "This model's maximum context length is 8 tokens"), "maximum context length", ""),
    "a redirection": (Reply(status=301, body=""), "HTTP 301", ""),
}


@pytest.mark.parametrize(("fault", "message", "hint"), FINAL.values(), ids=FINAL.keys())
def test_what_will_not_pass_is_not_asked_again(fault: Reply, message: str, hint: str) -> None:
    result = asked([fault, GOOD])
    assert result.requests == 1 and message in result.failure and hint in result.hint
    assert "\n" not in result.failure


def test_a_key_that_the_server_repeats_is_not_told() -> None:
    result = asked([failed(401, f"Incorrect API key provided: {KEY}")])
    assert KEY not in result.failure and "[redacted]" in result.failure


def test_nobody_there() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}/v1"
    started = time.monotonic()
    with pytest.raises(ModelFailure, match="nothing answers at") as raised:
        model(url).ask(QUESTION, 30)
    assert "--base-url" in raised.value.hint and "(3 requests)" in raised.value.message
    assert time.monotonic() - started < 10


def test_bytes_that_trickle_do_not_outlast_the_deadline() -> None:
    result = asked([Reply(GOOD, drip=0.1)], timeout=1.5)
    assert result.failure and 1.4 <= result.seconds < 5 and result.requests == 1
    assert "timeout" in result.hint


def test_silence_does_not_outlast_the_deadline() -> None:
    result = asked([Reply(GOOD, delay=30)], timeout=1.0)
    assert result.failure and result.seconds < 5 and result.requests == 1


def test_the_deadline_covers_all_attempts() -> None:
    result = asked([Reply(status=500, body="no", delay=0.6)] * 9, timeout=1.5)
    assert result.failure and result.seconds < 5 and result.requests <= 3


def test_an_answer_that_is_cut_is_asked_for_once_with_more_room() -> None:
    with ScriptedServer([Reply('{"a"', finish="length"), GOOD]) as server:
        answer = model(server.url).ask(QUESTION, 30)
    assert answer.value == {"a": 1}
    assert [request["max_tokens"] for request in server.requests] == [4096, 16384]
    result = asked([Reply('{"a"', finish="length")] * 5)
    assert result.answer is not None and result.answer.value is None and result.requests == 2
    assert "cut off" in result.answer.problem


def test_the_filter_is_told_as_such() -> None:
    result = asked([Reply("", finish="content_filter")])
    assert result.answer is not None and "content filter" in result.answer.problem and result.requests == 1


def test_tokens_that_are_not_told_are_unknown_and_not_zero() -> None:
    result = asked([Reply(GOOD, usage=False)])
    assert result.answer is not None and result.answer.usage.sent is None and result.answer.usage.received is None


LADDER = {
    "strict": ([failed(400, "Invalid schema: strict is not supported")], "schema"),
    "schema": ([failed(400, "response_format is not supported"), failed(422, "json_schema: unknown")], "text"),
    "not said": ([failed(400, "Bad Request")] * 2, "text"),
}


@pytest.mark.parametrize(("faults", "form"), LADDER.values(), ids=LADDER.keys())
def test_the_ladder_goes_down_and_is_remembered(faults: list[Reply], form: str) -> None:
    requests = len(faults) + 1
    with ScriptedServer([*faults, GOOD, GOOD]) as server:
        served = model(server.url)
        first = served.ask(QUESTION, 30)
        assert (first.form, len(server.requests)) == (form, requests)
        assert len(first.warnings) == requests - 1
        assert served.ask(QUESTION, 30).warnings == ()
        assert len(server.requests) == requests + 1
    assert [("response_format" in request) for request in server.requests][-1] is (form != "text")


@pytest.mark.parametrize(
    ("refused", "sent"), [(["max_tokens"], "max_completion_tokens"), (["max_tokens", "max_completion_tokens"], "")]
)
def test_a_parameter_that_is_refused_is_left_out_from_then_on(refused: list[str], sent: str) -> None:
    with ScriptedServer([GOOD, GOOD], refused) as server:
        served = model(server.url)
        assert served.ask(QUESTION, 30).value == {"a": 1}
        before = len(server.requests)
        assert before == len(refused) + 1
        assert served.ask(QUESTION, 30).value == {"a": 1}
    assert len(server.requests) == before + 1
    last = server.requests[-1]
    assert [name for name in ("max_tokens", "max_completion_tokens") if name in last] == ([sent] if sent else [])
    assert "temperature" not in last and last["response_format"]["type"] == "json_schema"


def test_a_server_that_refuses_everything_is_not_asked_for_ever() -> None:
    result = asked([failed(400, "Bad Request")] * 20)
    assert result.requests <= 6 and "HTTP 400" in result.failure


def test_a_prompt_that_the_server_cut_is_no_question() -> None:
    long = Question(ACT, "system", "x " * 10_000, "thing", SCHEMA)
    result = asked([Reply(GOOD, sent=500)], question=long)
    assert "it cut it" in result.failure and "--ctx-size" in result.hint and result.requests == 1
    assert asked([GOOD], question=long).failure == ""


def test_a_question_beyond_the_configured_context_is_not_sent() -> None:
    long = Question(ACT, "system", "x" * 4000, "thing", SCHEMA)
    with ScriptedServer([GOOD]) as server, pytest.raises(ModelFailure, match="context of 'm' 1100: no room is left"):
        model(server.url, context=1100).ask(long, 30)
    assert server.requests == []


def test_an_answer_may_be_as_long_as_the_context_leaves_room_for() -> None:
    cut = Reply('{"a": ', finish="length")
    for context, caps in ((3000, [2998]), (6000, [4096, 5998]), (0, [4096, 16_384])):
        with ScriptedServer([cut, GOOD]) as server:
            model(server.url, context=context).ask(QUESTION, 30)
        assert [request.get("max_tokens") or request["max_completion_tokens"] for request in server.requests] == caps


CALL = {"tool_calls": [{"id": "1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a.py"}'}}]}
ODD = {
    "a refusal": (Reply("", message={"refusal": "I cannot help"}), None, "refused: I cannot help"),
    "empty": (Reply(""), None, "empty"),
    "null": (Reply("", message={"content": None}), None, "empty"),
    "only thoughts": (Reply("", message={"reasoning_content": "hm"}), None, "answered nothing"),
    "parts": (Reply("", message={"content": [{"type": "text", "text": GOOD}]}), {"a": 1}, ""),
    "a number": (Reply("", message={"content": 5}), None, "empty"),
    "a call": (Reply("", "tool_calls", CALL), {"tool": "read", "arguments": {"path": "a.py"}}, ""),
    "half a character": (Reply('{"a": "\\ud800"}'), None, "surrogate"),
}


@pytest.mark.parametrize(("reply", "value", "problem"), ODD.values(), ids=ODD.keys())
def test_odd_messages(reply: Reply, value: object, problem: str) -> None:
    result = asked([reply])
    assert result.answer is not None and result.requests == 1
    assert result.answer.value == value and problem in result.answer.problem
    result.answer.text.encode()
