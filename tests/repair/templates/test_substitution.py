from __future__ import annotations

import pytest

from tests.repair.functions import candidates, last_lines, repair


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("def f(first, second):\n    return first", {"return second"}),
        ("def f(a):\n    b = a\n    return a", {"return b"}),
        ("LIMIT = 3\ndef f(a):\n    return a", {"return LIMIT"}),
        ("def g(x): return x\ndef f(a):\n    return f(a)", {"return g(a)"}),
        ("def f(a):\n    return any(a)", {"return all(a)"}),
        ("def f(a):\n    a.x\n    return a.y", {"return a.x"}),
        ("def f(a):\n    return a.append(1)", {"return a.extend(1)"}),
        ("def f(a):\n    a.size\n    return a", {"return a.size"}),
        ("def f(a):\n    a.size()\n    return a", {"return a.size()"}),
        ("def f(a, b):\n    return a.b", {"return b"}),
        ("def f(a, i):\n    a[i]\n    return a", {"return a[i]"}),
        ("def f(a, i):\n    a.x\n    b = a[i]", {"b = a.x"}),
        ("def f(a, b):\n    a.x = 1\n    a.y = 2\n    b[0]\n    a.x = a.y", {"a.y = a.y", "b[0] = a.y"}),
        ("def f(a):\n    a = 7\n    return a + 3", {"return a + 7"}),
        ("def f(a):\n    'x' + a\n    return 'y' + a", {"return 'x' + a"}),
        ('def f(a):\n    "x" + a\n    return "y" + a', {'return "x" + a'}),
        ("def g(size=1): pass\ndef f():\n    return g(siz=2)", {"return g(size=2)"}),
        ("g(colour=1)\ndef f():\n    return g(color=2)", {"return g(colour=2)"}),
        ("def f(a):\n    return size(a)", {"return a.size()"}),
    ],
)
def test_wrong_words(text: str, wanted: set[str]) -> None:
    assert wanted <= last_lines(text, template="substitute")


def test_a_local_becomes_an_attribute_of_self_and_back() -> None:
    text = "class A:\n    def __init__(self, size):\n        self.size = size\n    def f(self):\n        return {}"
    assert "return self.size" in last_lines(text.format("size"), template="substitute")
    assert "return size" in last_lines(text.replace("f(self)", "f(self, size)").format("self.size"))


def test_unused_names_come_first() -> None:
    found = [
        each.edit.after
        for each in candidates("def f(used, other, spare):\n    other = used\n    return other + used\n")
        if each.edit.template == "substitute" and each.edit.before == "return other + used"
    ]
    assert found.index("return spare + used") < found.index("return used + used")


FLOW = {
    "app/entry.py": b"def enter(session, path):\n    session['return_to'] = path\n    session['seen'] = 1\n"
    b"def last(session):\n    return session['seen']\n",
}
CALLBACK = """
    def callback(session, fallback):
        return session.get('next_path', '/') if session else fallback
"""


def test_the_two_halves_of_a_slip_in_a_key_come_before_all_else() -> None:
    found = candidates(CALLBACK, more=FLOW)
    assert found[0].edit.after.startswith("return session.get('return_to', '/')")
    assert found[0].edit.donor == "app/entry.py:2"


def test_tests_are_no_donors() -> None:
    more = {"tests/test_a.py": b"def test_a(session):\n    session['other'] = 1\n    assert f() == 'pasted'\n"}
    found = "\n".join(each.content.decode() for each in candidates(CALLBACK, more=more))
    assert "other" not in found
    assert "pasted" not in found


@pytest.mark.parametrize(
    "shape", ["session['{}'] = 1", "'{}' in session", "session.setdefault('{}', 2)", "x = {{'{}': 1}}"]
)
def test_keys_are_known_in_each_of_their_places(shape: str) -> None:
    text = f"def g(session):\n    return session['right']\ndef f(session):\n    {shape.format('wrong')}"
    assert shape.format("right") in last_lines(text, template="substitute")


def test_a_name_is_repaired() -> None:
    result = repair(
        """
        def moves(height, start=1, end=3):
            steps = []
            if height > 0:
                helper = 6 - start - end
                steps.extend(moves(height - 1, start, helper))
                steps.append((start, helper))
                steps.extend(moves(height - 1, helper, end))
            return steps
        """,
        "moves",
        [((0,), []), ((1,), [(1, 3)]), ((2,), [(1, 2), (1, 3), (2, 3)])],
    )
    assert result.survivors[0].after == "steps.append((start, end))"
    assert result.survivors[0].donor == "app/work.py:1"


def test_a_method_is_repaired() -> None:
    result = repair(
        """
        def order(words):
            found = []
            for word in words:
                found.append(word.split())
            return found
        """,
        "order",
        [((["a b", "c"],), ["a", "b", "c"]), (([],), [])],
    )
    assert result.survivors[0].after == "found.extend(word.split())"
