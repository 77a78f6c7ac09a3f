from __future__ import annotations

import base64
import json
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from planexec.llm.redaction import REDACTED, SHORTEST, Redactor

SECRET = 'top "secret"/key+1'
secrets = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF), min_size=SHORTEST, max_size=40)


def test_known_secrets_go_in_every_spelling() -> None:
    clean = Redactor([SECRET]).text
    spelled = [SECRET, json.dumps(SECRET), quote(SECRET, safe=""), base64.b64encode(SECRET.encode()).decode()]
    assert all(REDACTED in clean(f"before {each} after") for each in spelled)
    assert not any(SECRET[:5] in clean(each) for each in spelled)


def test_what_has_the_shape_of_a_key_goes_too() -> None:
    told = Redactor([]).text(
        "sk-0123456789abcdefghij Authorization: Bearer abcdefghijklmnop https://ada:lovelace@host/x?api_key=12345678"
    )
    assert told == f"{REDACTED} Authorization: Bearer {REDACTED} https://{REDACTED}@host/x?api_key={REDACTED}"


def test_ordinary_text_stays() -> None:
    text = "def key(token): return tokens['api_key']  # sk-1"
    assert Redactor(["short"]).text(text) == text


def test_values_are_cleaned_throughout() -> None:
    value = {SECRET: [SECRET, {"a": (SECRET, 1, None)}]}
    assert Redactor([SECRET]).value(value) == {REDACTED: [REDACTED, {"a": [REDACTED, 1, None]}]}


@given(secrets, st.text(), st.text())
def test_a_secret_is_never_left_and_twice_is_once(secret: str, before: str, after: str) -> None:
    clean = Redactor([secret]).text
    told = clean(f"{before}{secret}{after}")
    assert secret not in told.replace(REDACTED, "\x00")
    assert clean(told) == told
