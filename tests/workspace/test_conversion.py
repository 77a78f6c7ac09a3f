from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planexec.workspace.conversion import stored_forms

from .building import git, make


@given(st.binary())
def test_without_attributes_it_is_the_bytes_or_their_line_ends(data: bytes) -> None:
    assert set(stored_forms(data, {"ident": "unspecified"})) == {data, data.replace(b"\r\n", b"\n")}


@pytest.mark.parametrize(
    ("attribute", "stored"),
    [
        ("ident", b"$Id$ caf\xc3\xa9\r\n"),
        ("working-tree-encoding=latin-1", b"caf\xc3\xa9 $Id: x $\n"),
        ("working-tree-encoding=utf-16le eol=crlf", b"two\nlines\n"),
        ("text eol=crlf", b"two\nlines\n"),
    ],
)
def test_what_git_makes_of_a_file_is_one_of_its_forms(tmp_path: Path, attribute: str, stored: bytes) -> None:
    root = make(tmp_path / "r", {"x": stored})
    (root / ".git/info/attributes").write_text(f"x {attribute}\n")
    (root / "x").unlink()
    git(root, "checkout", "-q", "--", "x")
    data = (root / "x").read_bytes()
    assert data != stored
    names = (pair.partition("=") for pair in attribute.split())
    assert stored in stored_forms(data, {name: value or "set" for name, _, value in names})


def test_the_pointer_of_a_large_file() -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{hashlib.sha256(b'x').hexdigest()}\nsize 1\n"
    assert pointer.encode() in stored_forms(b"x", {"filter": "lfs"})
    assert pointer.encode() not in stored_forms(b"x", {"filter": "other"})


def test_an_encoding_that_does_not_fit_is_no_error() -> None:
    assert set(stored_forms(b"\xff", {"working-tree-encoding": "ascii"})) == {b"\xff"}
    assert set(stored_forms(b"\xff", {"working-tree-encoding": "no-such-code"})) == {b"\xff"}
