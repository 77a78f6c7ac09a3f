from __future__ import annotations

import ast

import pytest

from planexec.repair.mentions import Kind, index, last_word, locals_of
from planexec.repair.source import Source

TEXT = """
import os.path, json as j
from typing import Any
LIMIT, other = 3, 4
if LIMIT:
    def helper(a, /, b, *c, d=1, **e):
        for f in a:
            with open(f) as g, h as (i, k):
                pass
        try:
            import late
        except OSError as error:
            m: int = 1
        if (n := b):
            def inner(o): return o
        return lambda p: p
class Thing:
    size = 1
    def method(self):
        self.count = session['key'] = 1
        return session.get('read') or ('asked' in session) or make(name='x', **{'made': 2}), dict(word=1)
session.setdefault('given', 2)
"""


def test_mentions_by_kind_with_receiver_and_direction() -> None:
    source = Source.read("a.py", TEXT.encode())
    assert source is not None
    found = index(source)

    def texts(kind: Kind, *, stored: bool | None = None) -> set[str]:
        return {each.text for each in found.of(kind) if stored is None or each.stored == stored}

    assert texts("key", stored=True) == {"key", "made", "word", "given"}
    assert texts("key", stored=False) == {"read", "asked"}
    assert {each.text for each in found.of("key") if each.asked} == {"asked"}
    assert texts("attribute", stored=True) == {"count", "method", "size"}
    assert {"get", "setdefault"} == texts("attribute", stored=False)
    assert texts("keyword") == {"name", "word"}
    assert {"open", "get", "make", "dict", "setdefault"} == texts("call")
    assert {(each.text, each.receiver) for each in found.of("constant")} >= {("3", "int"), ("'key'", "str")}
    assert set(found.variables) == {"LIMIT", "other"}
    assert set(found.callables) == {"os", "j", "Any", "helper", "Thing"}
    receivers = {each.text: each.receiver for each in found.of("key")}
    assert receivers["key"] == receivers["read"] == receivers["asked"] == "session"
    method = next(each.function for each in found.of("key") if each.text == "key")
    assert method is not None
    assert method.name == "method"


def test_locals_are_what_the_function_binds_itself() -> None:
    source = Source.read("a.py", TEXT.encode())
    assert source is not None
    helper = next(node for node in ast.walk(source.tree) if isinstance(node, ast.FunctionDef) and node.name == "helper")
    assert set(locals_of(helper)) == set("abcdefgikmn") | {"late", "error", "inner"}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("a", "a"),
        ("a.b", "b"),
        ("a.b()", "b"),
        ("a.b[0]", "b"),
        ("a.b()[1].c", "c"),
        ("1", ""),
        ("(a + b)", ""),
        ("a['b']", "b"),
    ],
)
def test_last_word(text: str, word: str) -> None:
    assert last_word(ast.parse(text, mode="eval").body) == word
