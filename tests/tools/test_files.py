from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planexec.core.errors import SafetyViolation
from planexec.core.state import Frozen, RunState, StepRecord
from planexec.testing.bench import Bench
from planexec.tools.files import (
    Edit,
    EditArguments,
    ListArguments,
    ListFiles,
    Read,
    ReadArguments,
    Search,
    SearchArguments,
    Undo,
    _replace_once,
    as_in_file,
    read_inside,
    write_inside,
)
from planexec.tools.interface import NoArguments, ToolResult
from planexec.workspace.manifest import scan

from ..projects import BY_TESTS, FAULT, FIX, make_contract, step, workbench

BASKET = "shop/basket.py"


def apply(bench: Bench, **arguments: str) -> ToolResult:
    return Edit().run(EditArguments(**arguments), workbench(bench, make_contract(), step("edit")))


def test_search_list_and_read(shared_bench: Bench) -> None:
    desk = workbench(shared_bench, make_contract(), step("search"))
    found = Search().run(SearchArguments("def (total|cheapest)", "shop/**"), desk)
    assert found.summary == "2 lines match"
    assert found.data["matches"][0]["path"] == BASKET
    assert Search().run(SearchArguments("("), desk).code == "BAD_PATTERN"
    assert ListFiles().run(ListArguments("tests/**"), desk).data["paths"] == [
        "tests/conftest.py",
        "tests/test_basket.py",
    ]
    read = Read().run(ReadArguments(BASKET, 1, 1), desk)
    assert read.data["text"] == '    1 """Prices of a basket, in cents."""'
    missing = Read().run(ReadArguments("shop/baskets.py"), desk)
    assert (missing.ok, missing.code) == (False, "NO_FILE")
    assert "did you mean 'shop/basket.py'" in missing.summary


def test_an_edit_changes_one_place(bench: Bench) -> None:
    before = (bench.workspace.scratch / BASKET).read_text()
    edited = apply(bench, path=BASKET, old=FAULT, new=FIX)
    assert edited.data["changed"] and f"-    {FAULT}\n+    {FIX}" in edited.data["diff"]
    assert (bench.workspace.scratch / BASKET).read_text() == before.replace(FAULT, FIX)
    again = apply(bench, path=BASKET, old=FAULT, new=FIX)
    assert again.ok and again.data == {"changed": False}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ({"path": BASKET, "old": "amount", "new": "sum"}, "NO_MATCH", "stands 3 times, in lines 5, 7, 8"),
        (
            {"path": BASKET, "old": "return amount + discounts", "new": "x"},
            "NO_MATCH",
            "did you mean: return amount + discount",
        ),
        ({"path": BASKET, "old": FAULT, "new": "return amount -"}, "SYNTAX", "breaks"),
        ({"path": BASKET, "new": "x = 1\n"}, "NO_MATCH", "exists"),
        ({"path": "shop/none.py", "old": "a", "new": "b"}, "NO_MATCH", "there is no file"),
        ({"path": "tests/test_basket.py", "old": "450", "new": "550"}, "REFUSED", "tests are only added"),
        ({"path": "../outside.py", "new": "x"}, "REFUSED", "outside"),
        ({"path": "/etc/passwd", "new": "x"}, "REFUSED", "outside"),
        ({"path": ".git/config", "new": "x"}, "REFUSED", "protected"),
        ({"path": ".github/workflows/ci.yml", "new": "x"}, "REFUSED", "protected"),
        ({"path": BASKET, "content": "0" * 64}, "NO_MATCH", "no such stored content"),
    ],
)
def test_edits_that_are_refused_change_nothing(
    shared_bench: Bench, arguments: dict[str, str], code: str, words: str
) -> None:
    result = apply(shared_bench, **arguments)
    assert (result.ok, result.code) == (False, code)
    assert words in result.summary
    assert scan(shared_bench.workspace.scratch, shared_bench.store).entries == shared_bench.workspace.base.entries


def test_scope_and_frozen_tests_hold(bench: Bench) -> None:
    contract = make_contract(BY_TESTS + "scope: {allow: [lib/**]}\n")
    desk = workbench(bench, contract, step("edit"))
    assert "scope" in Edit().run(EditArguments(BASKET, FAULT, FIX), desk).summary
    frozen = RunState(frozen=Frozen({"tests/test_new.py": "0"}))
    desk = workbench(bench, make_contract(), step("edit"), frozen)
    assert "frozen" in Edit().run(EditArguments("tests/test_new.py", new="x = 1\n"), desk).summary
    desk = workbench(bench, make_contract(), step("edit"))
    assert Edit().run(EditArguments("tests/test_new.py", new="x = 1\n"), desk).ok


def test_a_stored_content_and_the_way_back(bench: Bench) -> None:
    store = bench.store
    checkpoint = store.put(bench.workspace.base.encode())
    state = RunState(records={"x": StepRecord(checkpoint=checkpoint)})
    desk = workbench(bench, make_contract(), step("edit", "undo"), state)
    content = store.put(b"def total(prices, discount=0):\n    return 0\n")
    assert Edit().run(EditArguments(BASKET, content=content), desk).ok
    assert Undo().run(NoArguments(), desk).ok
    assert scan(bench.workspace.scratch, store).entries == bench.workspace.base.entries


def test_links_are_not_followed(bench: Bench, tmp_path: Path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text("KEY = 1\n")
    tree = bench.workspace.scratch
    (tree / "shop/link.py").symlink_to(secret)
    (tree / "way").symlink_to(tmp_path)
    for path in ("shop/link.py", "way/secret.py"):
        with pytest.raises(SafetyViolation):
            read_inside(tree, path)
        with pytest.raises(SafetyViolation):
            write_inside(tree, path, b"x")
    assert secret.read_text() == "KEY = 1\n"


def test_a_file_with_two_names_keeps_the_other(bench: Bench, tmp_path: Path) -> None:
    other = tmp_path / "other.py"
    other.write_text("old\n")
    os.link(other, bench.workspace.scratch / "shop/two.py")
    write_inside(bench.workspace.scratch, "shop/two.py", b"new\n")
    assert other.read_text() == "old\n"


def test_modes_are_kept_and_folders_made(bench: Bench) -> None:
    script = bench.workspace.scratch / "run.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    write_inside(bench.workspace.scratch, "run.sh", b"#!/bin/sh\ntrue\n")
    assert script.stat().st_mode & 0o777 == 0o755
    write_inside(bench.workspace.scratch, "a/b/c.txt", b"deep")
    assert read_inside(bench.workspace.scratch, "a/b/c.txt") == b"deep"
    assert read_inside(bench.workspace.scratch, "a/none.txt") is None


@given(st.binary(max_size=60), st.binary(min_size=1, max_size=8), st.binary(max_size=8), st.binary(max_size=60))
def test_bytes_outside_the_edited_span_are_identical(head: bytes, old: bytes, new: bytes, tail: bytes) -> None:
    before = head + old + tail
    after, objection = _replace_once(before, old, new)
    if before.count(old) == 1:
        assert (after, objection) == (head + new + tail, "")
    else:
        assert objection


@pytest.mark.parametrize(
    ("path", "before", "old", "new", "after"),
    [
        ("a.py", "# coding: latin-1\nx = 'é'\n".encode("latin-1"), "'é'", "'è'", "# coding: latin-1\nx = 'è'\n"),
        (
            "a.py",
            "# coding: shift_jis\nx = '日'\n".encode("shift_jis"),
            "'日'",
            "'本'",
            "# coding: shift_jis\nx = '本'\n",
        ),
        ("a.py", b"x = 1\r\ny = 2\r\n", "x = 1\ny", "x = 2\nz = 3\ny", "x = 2\r\nz = 3\r\ny = 2\r\n"),
        ("a.py", b"\xef\xbb\xbfx = 1\n", "x = 1", "x = 'é'", "\ufeffx = 'é'\n"),
        ("a.txt", b"x\r\ny\nz", "y", "q\nr", "x\r\nq\nr\nz"),
    ],
)
def test_an_edit_has_the_encoding_and_the_line_ends_of_its_file(
    bench: Bench, path: str, before: bytes, old: str, new: str, after: str
) -> None:
    write_inside(bench.workspace.scratch, path, before)
    found = apply(bench, path=path, old=old, new=new)
    assert found.ok, found.summary
    coding = after.split("\n", maxsplit=1)[0].partition("coding: ")[2] or "utf-8"
    assert (bench.workspace.scratch / path).read_bytes() == after.encode(coding)


@pytest.mark.parametrize(
    ("path", "before", "new"),
    [("a.py", b"# coding: latin-1\nx = '\xe9'\n", "x = '漢'"), ("a.txt", b"x = \xe9\n", "x = 'é'")],
)
def test_a_text_that_the_file_cannot_hold_is_refused(bench: Bench, path: str, before: bytes, new: str) -> None:
    write_inside(bench.workspace.scratch, path, before)
    found = apply(bench, path=path, old="x = ", new=new)
    assert (found.ok, "cannot hold" in found.summary) == (False, True)
    assert (bench.workspace.scratch / path).read_bytes() == before


@given(st.text(alphabet="aé漢\n\r\t\f ", max_size=30), st.text(alphabet="aé漢\n ", max_size=9), st.booleans())
def test_what_stands_in_a_file_is_found_in_it(text: str, new: str, bom: bool) -> None:
    content = (b"\xef\xbb\xbf" if bom else b"") + text.encode()
    converted = as_in_file("a.py", content, [text, new])
    assert isinstance(converted, list)
    assert converted[0] in content
    assert converted[1].replace(b"\r\n", b"\n") == new.encode()
