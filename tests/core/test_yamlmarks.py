from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planexec.core.errors import ContractError
from planexec.core.yamlmarks import MAX_DEPTH, read


def refused(text: str) -> ContractError:
    with pytest.raises(ContractError) as caught:
        read(text, "c.yaml")
    return caught.value


def test_values_keys_and_places() -> None:
    document = read("goal: mend it\nlist:\n  - a\n  - 2\nwhen: 2026-01-31\non: true\nnone: ~\nhalf: 0.5\n", "c.yaml")
    assert document.data == {
        "goal": "mend it", "list": ["a", 2], "when": "2026-01-31", "on": True, "none": None, "half": 0.5,
    }  # fmt: skip
    assert document.keys["goal",] == (1, 1)
    assert document.values["goal",] == (1, 7)
    assert document.values["list", 1] == (4, 5)
    assert document.place(("list", 1, "deeper")) == (4, 5)
    assert document.place(("unknown",)) == document.place(()) == (1, 1)


@pytest.mark.parametrize(
    ("text", "place", "message", "hint"),
    [
        ("", (1, 1), "the file is empty", "'goal' and 'success'"),
        ("# only a comment\n", (1, 1), "the file is empty", "'goal' and 'success'"),
        ("goal: a\n\tb: c\n", (2, 1), "'\\t'", "spaces, not tabs"),
        ("goal: a: b\n", (1, 8), "mapping values are not allowed", "in quotes"),
        ("goal: @home\n", (1, 7), "cannot start any token", "in quotes"),
        ("goal: [a\n", (2, 1), "expected", "quotes"),
        ("a: {b: /x?y=1}\n", (1, 10), "expected ',' or '}'", "within { } and [ ]"),
        ("goal: a\nsuccess\n", (3, 1), "could not find expected ':'", "ends in ': '"),
        ("goal: *star\n", (1, 7), "undefined alias", "begins with '*' in quotes"),
        ("goal: a\n--- \ngoal: b\n", (2, 1), "another document", "one document"),
        ("goal: a\ngoal: b\n", (2, 1), "the key 'goal' stands twice (first in line 1)", "remove one"),
        ("a:\n  b: 1\n  b: 2\n", (3, 3), "the key 'b' stands twice (first in line 2)", "remove one"),
        ("a: &x {b: 1}\nc:\n  <<: *x\n", (3, 3), "a key must be a plain word", "merge keys"),
        ("? [a, b]\n: c\n", (1, 3), "a key must be a plain word", "compound keys"),
        ("!!python/name:os.system k: 1\n", (1, 1), "a key must be a plain word", "refused"),
        ("a: &x [*x]\n", (1, 4), "an alias that contains itself", "write the value out"),
        ("a: !!python/object/apply:os.system ['true']\n", (1, 4), "is not allowed", "plain text"),
        ("a: !!python/name:os.system ''\n", (1, 4), "is not allowed", "plain text"),
        ("a: !own {b: 1}\n", (1, 4), "the tag !own is not allowed", "mappings"),
        ("a: !!set {b, c}\n", (1, 4), "is not allowed", "mappings"),
        ("a: !!map text\n", (1, 4), "is not allowed", "plain text"),
        ("a: !!binary aGk=\n", (1, 4), "is not allowed", "plain text"),
        ("a: !!bool maybe\n", (1, 4), "'maybe' cannot be read as bool", "quotes"),
        ("a: !!int ''\n", (1, 4), "'' cannot be read as int", "quotes"),
        (f"a: {'9' * 5000}\n", (1, 4), "cannot be read as int", "quotes"),
        ("a: =\n", (1, 4), "'=' has a meaning of its own", "quotes"),
        ("a: 12:30\n", (1, 4), "base 60", "quotes"),
        ("a: .nan\n", (1, 4), "not a finite number", "expected_code"),
        ("a: -.inf\n", (1, 4), "not a finite number", "expected_code"),
        ("a: 1\nb: ok \x07\n", (2, 7), "unacceptable character", "remove"),
        ('a: 1\nb: "\\ud800"\n', (2, 4), "a character that no file can hold", "remove"),
        ('a: "\\0"\n', (1, 4), "a character that no file can hold", "remove"),
        ('a: 1\n"\\ud800": 2\n', (2, 1), "a character that no file can hold", "remove"),
        ('a: 1\nb: "\\UFFFFFFFF"\n', (2, 1), "stands for no character", "escape"),
    ],
)  # fmt: skip
def test_what_is_refused_and_where(text: str, place: tuple[int, int], message: str, hint: str) -> None:
    error = refused(text)
    assert (error.path, error.line, error.column) == ("c.yaml", *place)
    assert message in error.message
    assert error.message.startswith(f"c.yaml:{place[0]}:{place[1]}: ")
    assert hint in error.hint


def test_quotes_and_words_are_the_remedy() -> None:
    assert read("a: '12:30'\nb: '='\nc: '.nan'\nd: 'yes'\n", "c").data == {
        "a": "12:30", "b": "=", "c": ".nan", "d": "yes",
    }  # fmt: skip


def test_an_alias_bomb_is_refused_before_it_grows() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    error = refused("\n".join(levels))
    assert "more than 20000 values" in error.message
    assert (error.line, error.column) >= (1, 1)
    assert "aliases" in error.hint


def test_a_small_alias_is_just_a_value() -> None:
    assert read("a: &x [1, 2]\nb: *x\n", "c").data == {"a": [1, 2], "b": [1, 2]}


def test_depth_is_bounded_in_the_text_and_through_aliases() -> None:
    assert read("a: " + "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1), "c").data["a"]
    for depth in (MAX_DEPTH, 50_000):
        error = refused("a: " + "[" * depth + "]" * depth)
        assert error.message == f"c.yaml:1:{MAX_DEPTH + 3}: nested too deeply"
    half = MAX_DEPTH // 2
    chain = [f"a0: &a0 {'[' * half}1{']' * half}"]
    chain += [f"a{n}: &a{n} {'[' * half}*a{n - 1}{']' * half}" for n in range(1, 5)]
    assert "nested too deeply" in refused("\n".join(chain)).message


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab:&*!<=-?[]{},'\"\\x0uUd8#|>%@` \n\t\x00é~1.e")) | st.text(max_size=30))
def test_any_text_is_read_or_refused_with_a_place(text: str) -> None:
    try:
        read(text, "c.yaml")
    except ContractError as error:
        assert error.line >= 1 and error.column >= 1 and error.hint
