"""Every template, on files of every kind of bytes: what is outside the edited statement stays as it was (A5)."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from planexec.repair.edits import Candidate
from planexec.repair.source import Source
from tests.repair.functions import candidates

LETTERS = {
    "utf-8": "aé漢😀", "latin-1": "aéß", "shift_jis": "a日本ソ", "cp1251": "aЖ", "koi8-r": "aЖ", "euc_jp": "a日本",
    "gb18030": "a漢😀é", "big5": "a功許", "iso2022_jp": "a日本", "mac-roman": "aé∞", "cp1252": "aé€",
}  # fmt: skip
STATEMENTS = (
    "if a < len(b) and not c:",
    "\tb[0] = b[a - 1] + {letter!r}",
    "c = f(a, b, key={letter!r}) or None",
    "for i in range(a + 1):",
    "\ta += i * 2  # {letter}",
    "d = {{'{letter}': a, 'b': b.get('{letter}')}}",
    "return [x for x in b if x is not None]",
)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


@dataclass(frozen=True)
class File:
    """Bytes and the encoding in which they are text."""

    data: bytes
    encoding: str
    bom: bytes


@st.composite
def files(draw: st.DrawFn) -> File:
    """A module with one function: mixed line ends, tabs or spaces, form feeds, a cookie or a byte order mark."""
    encoding = draw(st.sampled_from(sorted(LETTERS)))
    bom = encoding == "utf-8" and draw(st.booleans())
    letter = draw(st.text(alphabet=LETTERS[encoding], min_size=1, max_size=3))
    indent = draw(st.sampled_from(["\t", "  ", "    "]))
    rows = [f"# -*- coding: {encoding} -*-"] if encoding != "utf-8" or draw(st.booleans()) else []
    rows += [f"'''{letter} \t '''", draw(st.sampled_from(["", "\f", f"# {letter} \f"])), "def f(a, b, c):"]
    rows += [indent + line.format(letter=letter).replace("\t", indent) for line in STATEMENTS]
    rows += [draw(st.sampled_from(["", "\f", f"# {letter}  "])), f"last = {letter!r}"]
    # Python itself looks for a cookie in lines that end in a line feed only.
    ends = [draw(st.sampled_from(["\n", "\r\n"])), *(draw(ENDS) for _ in rows[2:])]
    text = (
        "".join(row + end for row, end in zip(rows, ends, strict=False))
        + rows[-1]
        + draw(st.sampled_from(["", "\n", "\r\n"]))
    )
    mark = b"\xef\xbb\xbf" if bom else b""
    return File(mark + text.encode(encoding), encoding, mark)


def check_candidate(file: File, source: Source, each: Candidate) -> None:
    """The bytes around the span are those of the file, and the span begins and ends between characters."""
    change = each.edit
    head, tail = file.data[: change.start], file.data[change.end :]
    assert each.content == head + change.replacement + tail
    texts = [part.decode(file.encoding) for part in (head.removeprefix(file.bom), change.replacement, tail)]
    assert source.text.startswith(texts[0])
    assert source.text.endswith(texts[2])
    after = Source.read("a.py", each.content)
    assert after is not None
    assert after.text == "".join(texts)


@settings(max_examples=10, deadline=None)
@given(files())
def test_outside_of_the_edited_statement_every_byte_stays(file: File) -> None:
    source = Source.read("a.py", file.data)
    assert source is not None
    found = candidates(file.data, most=40)
    assert found or file.encoding == "iso2022_jp"  # whose places are not trusted once it shifts
    for each in found:
        check_candidate(file, source, each)


def test_each_template_keeps_mixed_line_ends_and_the_missing_last_one() -> None:
    rows = zip(STATEMENTS, ["\n", "\r\n"] * 4, strict=False)
    text = "# coding: latin-1\r\n\f\ndef f(a, b, c):\r\n"
    text += "".join(f"\t{line.format(letter='é')}{end}" for line, end in rows)
    file = File((text + "last = 'é'").encode("latin-1"), "latin-1", b"")
    source = Source.read("a.py", file.data)
    assert source is not None
    found = candidates(file.data)
    assert len({each.edit.template for each in found}) > 5
    for each in found[::7]:
        check_candidate(file, source, each)
