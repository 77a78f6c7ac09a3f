from __future__ import annotations

import pytest

from tests.repair.functions import last_lines, repair


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x = f(a, b)", {"x = a", "x = b", "x = f(a)", "x = f(a, b, None)"}),
        ("x = a.strip()", {"x = a", "x = a.strip"}),
        ("x = a.strip", {"x = a.strip()"}),
        ("x = g()", {"x = g(None)", "x = g"}),
        ("x = f(a)", {"x = f(str(a))", "x = f(a.strip())", "x = len(f(a))"}),
        ("def half(n): return n / 2\nx = f(a)", {"x = half(f(a))", "x = f(half(a))"}),
        ("def f(a, b):\n    return g(a)", {"return g(a, b)"}),
        ("g(1, deep=True)\nx = g(a)", {"x = g(a, deep=True)"}),
        ("def g(n, deep=False): pass\nx = g(a)", {"x = g(a, deep=True)"}),
        ("x = f(a, k=b)", {"x = f(a)"}),
        ("def f(a):\n    return g(x for x in a)", set()),
    ],
)
def test_wrong_calls(text: str, wanted: set[str]) -> None:
    assert wanted <= last_lines(text, template="call")


def test_exceptions_are_added_and_exchanged() -> None:
    found = last_lines("try: f()\nexcept ValueError: pass", template="call")
    assert {"except (ValueError, KeyError): pass", "except KeyError: pass"} <= found
    found = last_lines("try: f()\nexcept (A, B): pass", template="call")
    assert "except (A, B, KeyError): pass" in found
    assert last_lines("try: f()\nexcept: pass", template="call") == set()


def test_a_call_too_many_is_repaired() -> None:
    result = repair(
        """
        def flat(items):
            for each in items:
                if isinstance(each, list):
                    yield from flat(each)
                else:
                    yield flat(each)
        """,
        "flat",
        [(([1, [2, [3]]],), [1, 2, 3]), (([[], []],), [])],
    )
    assert result.survivors[0].after == "yield each"


def test_an_exception_that_is_not_caught_is_repaired() -> None:
    result = repair(
        """
        def number(values, key):
            try:
                return int(values[key])
            except ValueError:
                return None
        """,
        "number",
        [(({"a": "1"}, "a"), 1), (({"a": "x"}, "a"), None), (({}, "a"), None)],
    )
    assert result.survivors[0].after.startswith("except (ValueError, ")


def test_calls_in_calls_are_unwrapped() -> None:
    assert "return path" in last_lines("def f(path):\n    return Path(path).resolve()", template="call")
    assert "return Path(path)" in last_lines("def f(path):\n    return Path(path).resolve()", template="call")
