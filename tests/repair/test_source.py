from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planexec.repair.source import Source, header_lines, inside, parse, qualified_name


def read(data: bytes | str) -> Source:
    source = Source.read("a.py", data if isinstance(data, bytes) else data.encode())
    assert source is not None
    return source


def names(source: Source) -> dict[str, str]:
    return {
        ast.dump(node): source.segment(node)
        for node in ast.walk(source.tree)
        if isinstance(node, (ast.Name, ast.Constant))
    }


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbfx = '\xc3\xa4', y\n",
        "# -*- coding: latin-1 -*-\nx = 'ä', y\n".encode("latin-1"),
        "x = 'ä', y\r\nz = '€', x\r\n".encode(),
        "x = 'ä', y\rz = '€', x\r".encode(),
        "\fx = 'ä', y\n\f\ndef f():\n\treturn '漢', x\n".encode(),
        "# coding: cp1252\nx = '€', y\n".encode("cp1252"),
        "# coding: koi8-r\nx = 'Ж', y\n".encode("koi8-r"),
    ],
)
def test_a_node_is_found_in_any_encoding_and_with_any_line_end(data: bytes) -> None:
    source = read(data)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name):
            start, end = source.span(node)
            first, last = source.byte_offset(start), source.byte_offset(end)
            assert first is not None
            assert data[first:last] == node.id.encode(source.encoding)
        elif isinstance(node, ast.Constant):
            assert ast.literal_eval(source.segment(node)) == node.value


@pytest.mark.parametrize(
    "data",
    [
        b"x = (\n",
        b"print 'python 2'\n",
        b"x = '\xff'\n",
        b"# coding: no-such-thing\nx = 1\n",
        b"x = 1\0\n",
        b"(" * 5000 + b")" * 5000,
    ],
)
def test_what_cannot_be_read_is_no_source(data: bytes) -> None:
    assert Source.read("a.py", data) is None


def test_an_encoding_with_shift_states_has_no_byte_places_where_they_would_lie() -> None:
    data = "# coding: iso-2022-jp\nx = '漢字', y\n".encode("iso-2022-jp")
    source = Source.read("a.py", data)
    assert source is not None
    inside_the_string = source.text.index("字")
    assert source.byte_offset(inside_the_string) is None
    assert source.byte_offset(source.text.index("y")) == data.index(b"y")


def test_parse_is_silent_about_invalid_escapes(recwarn: pytest.WarningsRecorder) -> None:
    assert parse("x = '\\d'\n") is not None
    assert not recwarn.list


def test_outer_covers_grouping_parentheses_and_not_those_of_calls() -> None:
    source = read("r = ((a + b)) * f((c), [d]) if (x) else g(y)(z)\n")
    seen = {}
    for node in ast.walk(source.tree):
        if isinstance(node, (ast.Name, ast.BinOp)):
            start, end = source.outer(node)
            seen[source.segment(node)] = source.text[start:end]
    assert seen["a + b"] == "((a + b))"
    assert seen["c"] == "(c)"
    assert seen["x"] == "(x)"
    assert seen["y"] == "y"
    assert seen["z"] == "z"
    assert seen["d"] == "d"


def test_outer_of_a_subject_after_a_keyword_or_on_the_next_line() -> None:
    source = read("def f():\n    return (a)\nif not (b): pass\nx = [\n    c,\n    (d)\n]\n")
    outer = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name):
            start, end = source.outer(node)
            outer[node.id] = source.text[start:end]
    assert (outer["a"], outer["b"], outer["c"], outer["d"]) == ("(a)", "(b)", "c", "(d)")


def test_a_generator_as_the_only_argument_does_not_own_the_call_s_parentheses() -> None:
    source = read("s = sum(x for x in y)\nt = (x for x in y)\n")
    generators = [node for node in ast.walk(source.tree) if isinstance(node, ast.GeneratorExp)]
    assert sorted(source.segment(node) for node in generators) == ["(x for x in y)", "x for x in y"]


def test_tokens_are_none_where_they_cannot_be_told_and_brackets_in_strings_do_not_count() -> None:
    assert [token.text for token in read("x = '(' + f(\n    1)  # )\n").tokens] == [
        "x",
        "=",
        "'('",
        "+",
        "f",
        "(",
        "1",
        ")",
    ]


def test_units_cover_headers_and_whole_simple_statements() -> None:
    source = read("@d\ndef f(\n    a,\n):\n    if a and \\\n       b: return 1\n    x = [\n        1,\n    ]\n")
    kinds = {line: [type(unit).__name__ for unit in units] for line, units in source.units.items()}
    assert kinds[1] == kinds[4] == ["FunctionDef"]
    assert kinds[5] == ["If"]
    assert kinds[6] == ["If", "Return"]
    assert kinds[7] == kinds[8] == kinds[9] == ["Assign"]


def test_units_of_handlers_and_cases() -> None:
    source = read("try:\n    a\nexcept (E,\n        F):\n    b\nmatch x:\n    case 1 if y:\n        c\n")
    kinds = {line: [type(unit).__name__ for unit in units] for line, units in source.units.items()}
    assert kinds[1] == ["Try"]
    assert kinds[3] == kinds[4] == ["ExceptHandler"]
    assert kinds[6] == ["Match"]
    assert kinds[7] == ["match_case"]


def test_inside_leaves_out_the_statements_of_the_body() -> None:
    source = read("for a in b:\n    c = d\n")
    loop = source.tree.body[0]
    assert [node.id for node in inside(loop) if isinstance(node, ast.Name)] == ["a", "b"]
    assert header_lines(loop) == (1, 1)


def test_the_function_of_a_default_is_not_the_one_that_has_it() -> None:
    source = read("def f(a=b):\n    def g():\n        return c\n    return g\n")
    by_name = {node.id: node for node in ast.walk(source.tree) if isinstance(node, ast.Name)}
    assert source.function_of(by_name["b"]) is None
    inner = source.function_of(by_name["c"])
    assert inner is not None
    assert inner.name == "g"


def test_qualified_name() -> None:
    source = read("x = 1\nclass C:\n    @d\n    def f(self):\n        def g():\n            pass\n        return g\n")
    assert [qualified_name(source, line) for line in range(1, 8)] == ["", "C", "C.f", "C.f", "C.f.g", "C.f.g", "C.f"]


def test_line_access_beyond_the_file() -> None:
    source = read("a\r\nb")
    assert [source.line_text(line) for line in (0, 1, 2, 3)] == ["", "a", "b", ""]
    assert source.newline == "\r\n"
    assert read("a").newline == "\n"
    assert source.line_end(2) == 4


@given(st.lists(st.sampled_from(["x", "äx", "'漢😀'", "(y)", "f(z, 'ß')", "b'q'", "1.5"]), min_size=1, max_size=8))
def test_every_segment_means_its_node(parts: list[str]) -> None:
    source = read("value = [" + ", ".join(parts) + "]\n")
    for node in ast.walk(source.tree):
        if isinstance(node, ast.expr) and not isinstance(getattr(node, "ctx", None), ast.Store):
            start, end = source.outer(node)
            again = ast.parse(source.text[start:end], mode="eval").body
            assert ast.dump(again) == ast.dump(node)
