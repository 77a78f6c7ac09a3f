from __future__ import annotations

import ast
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planexec.repair.edits import Edit, Sieve, splice
from planexec.repair.source import Source, parse
from tests.repair.functions import PATH, candidates

PROGRAM = '''\
"""Documentation: nothing here may change."""
from __future__ import annotations

import re  # a comment with "quotes" and (brackets

LIMIT = 10


class Basket:
    def __init__(self, items, owner=None):
        self.items = items;  self.owner = owner

    @property
    def total(self): return sum(item["price"] * item.get('count', 1) for item in self.items)

    def cheapest(self, default=0.0):
        found = default   # trailing
        for item in (self.items or []):
            if (item["price"] < found
                    or not found):  # layout kept
                found = item["price"]
        return found if found is not None else -1


async def fetch(url, *rest, retries=3, **more):
    try:
        answer = await get(f"{url}/x?{retries + 1}", timeout=LIMIT - 2)
    except (ValueError, KeyError) as error:
        raise RuntimeError('bad' + str(error)) from error
    while retries and answer[1:retries] != b'ok':
        retries -= 1
    return (answer, [x for x in rest if x], {**more}, lambda y: y ** 2)
'''


def edit(start: int, end: int, text: str, line: int = 1) -> Edit:
    return Edit("a.py", line, start, end, text.encode(), "t", 1.0, "", "")


@given(st.binary(max_size=40), st.binary(max_size=10), st.data())
def test_an_edit_changes_its_span_and_nothing_else(data: bytes, new: bytes, draw: st.DataObject) -> None:
    start = draw.draw(st.integers(0, len(data)))
    end = draw.draw(st.integers(start, len(data)))
    after = Edit("a.py", 1, start, end, new, "t", 1.0, "", "").apply(data)
    assert after[:start] == data[:start]
    assert after[start : start + len(new)] == new
    assert after[start + len(new) :] == data[end:]


WORDS = st.text(alphabet="abä€漢😀 ()", max_size=12)


@given(WORDS, WORDS, WORDS, WORDS, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_splice_puts_text_at_characters_and_is_minimal(
    before: str, old: str, new: str, after: str, newline: str, bom: bool
) -> None:
    head, tail = f"# {before}", f"{after}{newline}x = 1{newline}"
    text = head + old + tail
    data = (b"\xef\xbb\xbf" if bom else b"") + text.encode()
    source = Source.read("a.py", data)
    assert source is not None
    found = splice(source, len(head), len(head) + len(old), new)
    if old == new:
        assert found is None
        return
    assert found is not None
    first, last, replacement = found
    result = data[:first] + replacement + data[last:]
    assert result == (b"\xef\xbb\xbf" if bom else b"") + (head + new + tail).encode()
    assert len(replacement) <= len(new.encode())


def test_a_text_that_the_encoding_cannot_hold_is_no_splice() -> None:
    source = Source.read("a.py", "# coding: latin-1\nx = 'ä'\n".encode("latin-1"))
    assert source is not None
    place = source.text.index("ä")
    assert splice(source, place, place + 1, "漢") is None
    assert splice(source, place, place + 1, "ö") == (place, place + 1, "ö".encode("latin-1"))


def encoded(style: str) -> bytes:
    text = PROGRAM
    if style == "crlf":
        return text.replace("\n", "\r\n").encode()
    if style == "cr":
        return text.replace("\n", "\r").encode()
    if style == "bom":
        return b"\xef\xbb\xbf" + text.encode()
    if style == "latin":
        return ("# coding: latin-1\n" + text.replace("bad", "schön").replace("quotes", "Größe")).encode("latin-1")
    if style == "tabs":
        return text.replace("    ", "\t").replace("class Basket", "\f\nclass Basket").encode()
    if style == "wide":
        return text.replace("items", "ítems").replace("'count'", "'漢😀'").encode()
    return text.encode()


@pytest.mark.parametrize("style", ["plain", "crlf", "cr", "bom", "latin", "tabs", "wide"])
def test_every_candidate_parses_differs_and_leaves_the_rest_byte_for_byte(style: str) -> None:
    data = encoded(style)
    base = Source.read(PATH, data)
    assert base is not None
    found = candidates(data, most=2000 if style == "plain" else 400)
    assert len(found) >= 400
    assert len({each.content for each in found}) == len(found)
    for each in found[:: max(1, len(found) // 150)]:
        change = each.edit
        assert each.content[: change.start] == data[: change.start]
        assert each.content[change.start + len(change.replacement) :] == data[change.end :]
        tree = ast.parse(each.content)
        assert ast.dump(tree) != ast.dump(ast.parse(data))
        if style == "crlf":
            assert b"\n" not in each.content.replace(b"\r\n", b"")


def test_no_two_candidates_have_the_same_tree_and_all_parse_as_whole_files() -> None:
    text = textwrap.dedent(
        """
        def f(a, b=2):
            if a > b and not a:
                return [a, b][0] + g(a, b)
            for i in range(a):
                b -= a[i - 1]
            return b
        """
    )
    trees = [ast.dump(ast.parse(each.content)) for each in candidates(text)]
    assert len(trees) > 300
    assert len(set(trees)) == len(trees)


EXPRESSION = st.recursive(
    st.sampled_from(["a", "b", "1", "0", "'s'", "None", "True", "x.y", "[]", "-1"]),
    lambda inner: st.one_of(
        st.tuples(
            inner, st.sampled_from(["+", "-", "*", "**", "<", "==", "and", "or", "in", "is not", "%"]), inner
        ).map(lambda parts: f"({parts[0]}) {parts[1]} ({parts[2]})"),
        inner.map(lambda each: f"not ({each})"),
        st.tuples(inner, inner).map(lambda parts: f"f({parts[0]}, k={parts[1]})"),
        st.tuples(inner, inner).map(lambda parts: f"({parts[0]})[({parts[1]}):]"),
        st.tuples(inner, inner, inner).map(lambda parts: f"({parts[0]}) if ({parts[1]}) else ({parts[2]})"),
        st.tuples(inner, inner).map(lambda parts: f"[{parts[0]}, ({parts[1]})]"),
        inner.map(lambda each: f"f'{{{each}}}'" if "'" not in each else each),
    ),
    max_leaves=5,
)


@settings(max_examples=15, deadline=None)
@given(EXPRESSION, st.sampled_from(["return {}", "x = {}", "if {}:\n        pass", "g({})", "assert {}"]))
def test_candidates_of_any_expression_parse_and_keep_the_rest(expression: str, frame: str) -> None:
    text = f"# before é\ndef f(a, b):\n    {frame.format(expression)}\n    return a  # after\n"
    data = text.encode()
    for each in candidates(data, most=100):
        ast.parse(each.content)
        assert each.content.startswith(data[: each.edit.start])
        assert each.content.endswith(data[each.edit.end :])


def source_of(text: str) -> Source:
    source = Source.read("a.py", text.encode())
    assert source is not None
    return source


def test_the_sieve_refuses_what_is_broken_idle_or_known() -> None:
    source, sieve = source_of("def f(a):\n    return a + 1\n"), Sieve()
    place = source.text.index("a + 1")
    assert sieve.admit(source, edit(place, place + 1, "(", 2)) is None
    assert sieve.admit(source, edit(place, place + 1, "(a)", 2)) is None
    first = sieve.admit(source, edit(place, place + 1, "b", 2))
    assert first is not None
    assert first.content == b"def f(a):\n    return b + 1\n"
    assert sieve.admit(source, edit(place, place + 1, "(b)", 2)) is None
    assert sieve.admit(source, edit(place, place + 1, "c", 2)) is not None


def test_the_sieve_falls_back_to_the_file_where_a_statement_does_not_stand_alone() -> None:
    text = "if x: y = [\n1]; z = (\n2)\n"
    source, sieve = source_of(text), Sieve()
    place = text.index("2")
    found = sieve.admit(source, edit(place, place + 1, "3", 3))
    assert found is not None
    assert sieve.admit(source, edit(place, place + 1, "3 +", 3)) is None


def test_a_statement_added_to_a_body_is_seen_as_a_change() -> None:
    source, sieve = source_of("class A:\n    def f(self):\n        x = 1\n        return x\n"), Sieve()
    place = source.text.index("x = 1") + 5
    assert sieve.admit(source, edit(place, place, "\n        y = 2", 3)) is not None
    assert sieve.admit(source, edit(place, place, "\n      y = 2", 3)) is None


SHAPES = """\
class C:
    def f(self, a, b):
        if a > b:  # note
            return a
        elif b:
            a = b + 1; b = a
        else:
            a = [
                b,
                a,
            ]
        try:
            with a as c:
                b = c
        except (KeyError, ValueError) as error:
            raise error
        for each in a:
            b = each
        return lambda x: x + \\
            b
"""


def test_what_is_let_through_is_whole_and_new_in_every_kind_of_statement() -> None:
    """Only a part is parsed again: what it says must be what the whole file says."""
    for newline in ("\n", "\r\n"):
        source = Source.read("a.py", SHAPES.replace("\n", newline).encode())
        assert source is not None
        base = ast.dump(ast.parse(source.text))
        let, sieve = set(), Sieve()
        for start in range(len(source.data)):
            for end, text in ((start + 1, b""), (start + 1, b"b"), (start, b"not "), (start, b" + 1"), (start, b",")):
                edit = Edit("a.py", source.line_of(start), start, end, text, "t", 1.0, "", "")
                candidate = sieve.admit(source, edit)
                tree = parse(edit.apply(source.data).decode())
                if candidate is None:
                    assert tree is None or ast.dump(tree) == base or ast.dump(tree) in let
                else:
                    assert tree is not None and ast.dump(tree) != base
                    let.add(ast.dump(tree))
        assert len(let) > 200
