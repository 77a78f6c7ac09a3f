from __future__ import annotations

from tests.repair.functions import texts


def test_statements_are_removed_exchanged_and_jumps_turned() -> None:
    text = "def f(a):\n    while a:\n        a = 1\n        g(a)\n        break\n"
    found = texts(text, template="statement")
    assert text.replace("a = 1", "pass") in found
    assert text.replace("a = 1\n        g(a)", "g(a)\n        a = 1") in found
    assert text.replace("break", "continue") in found


def test_documentation_is_not_removed_and_shared_lines_get_nothing() -> None:
    found = texts('def f(a):\n    """Text."""\n    b = a; c = b\n    if a: return b\n', template="statement")
    assert all('"""Text."""' in each for each in found)
    line = "    b = a; c = b\n"
    assert all(each.count("\n") == 4 for each in found if "b = a" in each and line not in each)


def test_what_is_raised_comes_from_the_module() -> None:
    text = (
        "def g(a):\n    raise KeyError(a)\n\n\ndef f(a):\n    try:\n        g(a)\n    except OSError:\n        raise\n"
    )
    assert text.replace("        raise\n", "        raise KeyError(a)\n") in texts(text, template="statement")
