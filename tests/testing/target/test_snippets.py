from __future__ import annotations

import ast
import textwrap
from types import CodeType

import pytest

from planexec.testing.target.snippets import SourceFile

TEXT = textwrap.dedent(
    '''\
    """Documentation."""
    import os

    LIMIT = 1


    @property
    def first(self):
        return self.a


    class Outer:
        size = 2

        class Inner:
            def method(self, x=LIMIT):
                def nested():
                    return super().method(x)

                return nested()


    try:
        import fast
    except ImportError:
        def slow(x):
            return x
    else:
        async def quick(x):
            return x
    '''
)


def functions(code: CodeType) -> list[tuple[str, int]]:
    """Names and first lines of all code objects in one."""
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return [(code.co_qualname, code.co_firstlineno), *(pair for each in inner for pair in functions(each))]


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("self.a", "self.b", "first"),
        ("x=LIMIT", "x=2", "Outer.Inner.method"),
        ("return super().method(x)", "x = 1\n                return x", "Outer.Inner.method"),
        ("            return nested()\n", "            return nested()\n            # end\n", "Outer.Inner.method"),
        (
            "    async def quick(x):\n        return x",
            "    async def quick(x):\n        return x\n        y = 1",
            "quick",
        ),
    ],
)
def test_the_outermost_function_stands_on_its_own_lines(old: str, new: str, name: str) -> None:
    for newline in ("\n", "\r\n"):
        before, after = (each.replace("\n", newline).encode() for each in (TEXT, TEXT.replace(old, new)))
        found = SourceFile(before).around(after)
        assert found is not None
        whole = functions(compile(before, "f", "exec"))
        part = [pair for pair in functions(compile(found[0], "f", "exec")) if pair[0].startswith(name)]
        assert part and part == [pair for pair in whole if pair[0].startswith(name)]
        assert ast.dump(ast.parse(found[0])) != ast.dump(ast.parse(found[1])) or "# end" in new


@pytest.mark.parametrize(
    ("old", "new"),
    [("LIMIT = 1", "LIMIT = 2"), ("size = 2", "size = 3"), ("import fast", "import faster"), ('"""Doc', '"""Dok')],
)
def test_other_parts_are_left(old: str, new: str) -> None:
    assert SourceFile(TEXT.encode()).around(TEXT.replace(old, new).encode()) is None


def test_what_cannot_be_read_is_left() -> None:
    text = "# coding: latin-1\ndef f():\n    return 1\n"
    for content in (
        text.encode(),
        b"def f(:\n    return 1\n",
        b"def f():\r    return 1\n",
        b"\xff\ndef f():\n    return 1\n",
    ):
        assert SourceFile(content).around(content.replace(b"1", b"2")) is None


def test_features_of_the_future_are_kept() -> None:
    source = SourceFile(b"from __future__ import annotations\n\n\ndef f(x: y):\n    return 1\n")
    found = source.around(b"from __future__ import annotations\n\n\ndef f(x: y):\n    return 2\n")
    assert found is not None
    code = compile(found[1], "f", "exec", flags=source.flags, dont_inherit=True)
    space: dict[str, object] = {}
    exec(code, space)  # y is not looked up
    assert space["f"].__annotations__ == {"x": "y"}  # type: ignore[attr-defined]
