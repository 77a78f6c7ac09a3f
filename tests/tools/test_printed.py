from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from planexec.tools.printed import folded, readable


def test_colours_and_paths_of_the_machine_go() -> None:
    text = "\x1b[31mE   assert\x1b[0m 1 == 2\n/home/a/shop/cart.py:3: AssertionError\n/home/a/shopping"
    assert readable(text, "/home/a/shop") == "E   assert 1 == 2\ncart.py:3: AssertionError\n/home/a/shopping"


def test_a_recursion_is_told_once() -> None:
    frames = ["a.py:1: in f", "    g()", "a.py:2: in g", "    f()"]
    lines = ["first", *frames * 50, "RecursionError"]
    assert folded(lines) == ["first", *frames, "[... the last 4 lines 49 more times ...]", "RecursionError"]
    assert folded(frames * 2) == frames * 2


@given(st.lists(st.sampled_from("abc"), max_size=60))
def test_nothing_else_is_lost(lines: list[str]) -> None:
    unfolded: list[str] = []
    for line in folded(lines):
        if line.startswith("[... the last "):
            words = line.split()
            unfolded += unfolded[-int(words[3]) :] * int(words[5])
        else:
            unfolded.append(line)
    assert unfolded == lines
