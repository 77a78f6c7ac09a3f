from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from planexec.core import contract as c
from planexec.core import example as x


def check(name: str = "reproduction", **fields: Any) -> c.Check:
    values: dict[str, Any] = {"actual": "f(1)", "expected": 2}
    example = c.Example(**(values | fields))
    return c.Check(name, name, c.REGRESSION_RED, c.REGRESSION_RED, c.Arguments(example=example))


def with_name(one: c.Check, name: str) -> c.Check:
    assert one.arguments.example is not None
    example = msgspec.structs.replace(one.arguments.example, name=name)
    return msgspec.structs.replace(one, arguments=c.Arguments(example=example))


def shown(**fields: Any) -> c.Check:
    arguments = c.Arguments(tests=("t",), shows=c.Shows(**fields))
    return c.Check("r", "r", c.REGRESSION_RED, c.REGRESSION_RED, arguments)


FULL: dict[str, Any] = {
    "actual": "look(query)",
    "expected": "/settings",
    "shows": "/",
    "imports": ("from __future__ import annotations", "from app import look"),
    "setup": "limit = 3\n",
    "fixtures": ("client", "query"),
    "fields": {"query": {"returnTo": "/settings", 'odd"key': None}},
    "also": ({"query": {"returnTo": "https://evil.example"}},),
}


@pytest.mark.parametrize("extended", [False, True])
@pytest.mark.parametrize(
    "fields",
    [
        {}, FULL, {"expected": {"raises": "ValueError"}}, {"expected": [1, {"a": None, "b": [True, 2.5]}]},
        {"expected": {}}, {"expected_code": "a if b else c", "expected": msgspec.UNSET},
        {"actual": "not a and b"}, {"actual": "(f(\n  1)\n)"}, {"actual": "'''a\nb'''"}, {"actual": "lambda: 1"},
        {"actual": "a < b"}, {"actual": "x, y"},
    ],
)  # fmt: skip
def test_every_module_compiles(fields: dict[str, Any], extended: bool) -> None:
    one = check(**fields)
    for source in (x.regression_source(one, extended=extended), x.setup_source(one), x.expression_probe(one).source):
        compile(source, "generated", "exec")
        assert "Written by planexec" in source.splitlines()[0]
        assert all(line == line.rstrip() for line in source.splitlines())


def test_the_regression_test_as_a_person_reads_it() -> None:
    source = x.regression_source(check(setup="value = 1\n\nother = value", actual="f(other)"), extended=False)
    assert source == (
        '# Written by planexec from the example of check "reproduction".\n\n\n'
        "def test_reproduction():\n"
        "    value = 1\n\n"
        "    other = value\n"
        "    assert f(other) == 2\n"
    )


def test_future_imports_stand_first() -> None:
    for extended in (True, False):
        lines = x.regression_source(check(**FULL), extended=extended).splitlines()
        imports = [line for line in lines if " import " in line or line.startswith("import ")]
        assert imports[0] == "from __future__ import annotations"
        assert "from app import look" in imports


def test_a_text_over_several_lines_keeps_its_value() -> None:
    setup = "text = '''one\n  two  \n\n'''\nif text:\n    text = f'''{text}\n  {len(text)}'''"
    source = x.regression_source(check(setup=setup, actual="text", expected=""), extended=False)
    function = next(node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef))
    function.body.pop()
    names: dict[str, Any] = {}
    exec(compile(ast.Module(function.body, []), "body", "exec"), names)
    assert names["text"] == "one\n  two  \n\n\n  13"


@pytest.mark.parametrize(
    ("actual", "written"),
    [
        ("response.location", "assert response.location == 2"),
        ("a - b", "assert a - b == 2"),
        ("rows[0]['name']", "assert rows[0]['name'] == 2"),
        ("a == b", "assert (a == b) == 2"),
        ("not a", "assert (not a) == 2"),
        ("x in y", "assert (x in y) == 2"),
        ("a, b", "assert (a, b) == 2"),
        ("a if b else 3", "assert (a if b else 3) == 2"),
        ("f(1)  # see above", "assert (f(1)  # see above\n    ) == 2"),
        ("f('#')", "assert (f('#')\n    ) == 2"),
        ("(f(\n  1))", "assert ((f(\n  1))) == 2"),
        ("-a", "assert -a == 2"),
    ],
)
def test_an_operand_that_binds_loosely_is_put_in_brackets(actual: str, written: str) -> None:
    assert written in x.regression_source(check(actual=actual), extended=False)


def test_the_exception_forms() -> None:
    one = check(expected={"raises": "errors.Refused"}, imports="from app import errors", raises="KeyError")
    source = x.regression_source(one, extended=False)
    assert "    with pytest.raises(errors.Refused):\n        f(1)\n" in source
    assert source.index("import pytest") < source.index("def test_")
    assert x.expected_values(one) == ("KeyError",)
    assert x.expected_values(check(raises="KeyError")) == ("KeyError", "2")
    assert "== {'raises': 'a', 'b': 1}" in x.regression_source(check(expected={"raises": "a", "b": 1}), extended=False)


def test_the_values_that_a_failure_has_to_show() -> None:
    assert x.expected_values(check(shows="/", expected="/settings")) == ("'/'", "'/settings'")
    assert x.expected_values(check(shows=None, expected=None)) == ("None", "None")
    assert x.expected_values(check(expected=msgspec.UNSET, expected_code="g()")) == ()
    assert x.expected_values(shown(actual="/", expected="/settings")) == ("'/'", "'/settings'")
    assert x.expected_values(shown(raises="ValueError")) == ("ValueError",)
    assert x.expected_values(shown()) == ()
    assert x.expected_values(c.Check("t", "t", c.RELATED_TESTS, c.RELATED_TESTS, c.Arguments())) == ()


def test_fixtures_with_fields_by_hand_or_by_an_override() -> None:
    by_hand = x.regression_source(check(**FULL), extended=False)
    assert "def test_reproduction(client, query):" in by_hand
    assert "    query = {**query, \"returnTo\": '/settings', 'odd\"key': None}" in by_hand.replace("**{", "").replace(
        "}}", "}"
    )
    extended = x.regression_source(check(**FULL), extended=True)
    assert extended.startswith(x.setup_source(check(**FULL)))
    assert "@pytest.fixture\ndef query(request, query):" in extended
    assert "    query = {" not in extended


def test_names_and_places() -> None:
    assert x.regression_name(check("return-to")) == "test_return_to"
    named = check(actual="f(1)")
    assert x.regression_name(with_name(named, "test_it")) == "test_it"


@pytest.mark.parametrize(
    ("paths", "place"),
    [
        ([], "test_return_to.py"),
        (["tests/test_a.py"], "tests/test_return_to.py"),
        (["test/test_a.py", "src/a.py"], "test/test_return_to.py"),
        (["tests/test_return_to.py", "tests/test_return_to_2.py"], "tests/test_return_to_3.py"),
        (["testsuite/a.py"], "test_return_to.py"),
    ],
)
def test_where_the_regression_test_goes(paths: list[str], place: str) -> None:
    assert x.default_file(check("Return-To"), paths) == place
    assert x.default_file(check("Return-To", file="checks/test_x.py"), paths) == "checks/test_x.py"


def test_a_check_without_an_example_has_no_test() -> None:
    bare = c.Check("r", "r", c.REGRESSION_RED, c.REGRESSION_RED, c.Arguments(tests=("t",)))
    with pytest.raises(ValueError, match="check 'r' has no example"):
        x.regression_source(bare, extended=False)


def test_the_setup_probe_asks_for_each_field() -> None:
    example = check(**FULL).arguments.example
    assert example is not None
    probe = x.setup_probe(example)
    assert probe.questions == {
        "test_query_carries_0": ("query", "returnTo"),
        "test_query_carries_1": ("query", 'odd"key'),
    }
    compile(probe.source, "probe", "exec")
    assert x.setup_probe(example, "import pytest\n").source.startswith("import pytest\n")
    assert x.setup_probe(c.Example(actual="x")).questions == {}


CONFTEST = """\
import pytest

@pytest.fixture
def query():
    return {"user": "ada"}

@pytest.fixture
def client():
    return None
"""


def run(folder: Path, name: str, source: str) -> dict[str, str]:
    """The outcome of each test of the module, under pytest in a process of its own."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "app.py").write_text("def look(query):\n    return '/'\n")
    (folder / name).write_text(source)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", "-q", "--no-header", name],
        cwd=folder, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    words = [line.split() for line in done.stdout.splitlines() if line.startswith(("PASSED ", "FAILED ", "ERROR "))]
    return {word[1].split("::")[-1]: word[0] for word in words} | {"output": done.stdout}


def test_probes_and_tests_really_run(tmp_path: Path) -> None:
    one = check(**FULL)
    example = one.arguments.example
    assert example is not None
    missing = x.setup_probe(example)
    parts = [x.expression_probe(one).source, missing.source.replace("def test_", "def test_with_")]
    extended = "\n".join([*parts, x.regression_source(one, extended=True).split("    return")[1].split("\n\n", 1)[1]])
    found = run(tmp_path, "test_all.py", extended)
    passed = [name for name, outcome in found.items() if outcome == "PASSED"]
    assert len([name for name in passed if name.startswith("test_query_expresses[")]) == 2, found["output"]
    assert {"test_with_query_carries_0", "test_with_query_carries_1"} <= set(passed)
    assert found["test_reproduction"] == "FAILED"
    assert "'/' == '/settings'" in found["output"]
    plain = run(tmp_path, "test_plain.py", missing.source)
    assert plain["test_query_carries_0"] == "FAILED" and plain["test_query_carries_1"] == "FAILED"


@pytest.mark.parametrize(
    "fields",
    [
        {}, {"setup": "text = '''a\nb'''\nlimit = 3", "imports": "import os"}, {"expected": {"raises": "ValueError"}},
        {"actual": "x, y"}, {"actual": "f(1)  # a comment"}, {"shows": "a" * 100},
    ],
)  # fmt: skip
def test_every_test_case_compiles(fields: dict[str, Any]) -> None:
    one = check("return-to", style="unittest", **fields)
    for extended in (False, True):
        compile(x.regression_source(one, extended=extended), "generated", "exec")
    assert x.regression_id(one, "tests/test_x.py") == "tests/test_x.py::ReturnToTest::test_return_to"


@pytest.mark.parametrize(("length", "code"), [(3, 0), (300, 0), (3, 1), (300, 1)])
def test_a_test_case_runs_without_pytest_and_shows_whole_values(tmp_path: Path, length: int, code: int) -> None:
    right = "a" * length
    setup = f"n = {length}\ntail = '{'b' * code}'"
    one = check(style="unittest", actual="'a' * n + tail", setup=setup, shows=right + "b", expected=right)
    (tmp_path / "test_it.py").write_text(x.regression_source(one, extended=False))
    command = [sys.executable, "-S", "-m", "unittest", "test_it"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    if code:
        assert all(value in done.stderr for value in x.expected_values(one))
