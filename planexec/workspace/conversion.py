"""What git would store for a file of the tree: its own conversions, computed without starting any program.

Line ends, ``ident``, ``working-tree-encoding`` and the pointers of LFS are pure functions of the bytes. Any other
filter is a program of the repository's configuration, which is never started: there the bytes are all that is known.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping

ATTRIBUTES = ("ident", "filter", "working-tree-encoding")
"""The attributes that `stored_forms` asks for; git also names the values ``set``, ``unset`` and ``unspecified``."""

_IDENT = re.compile(rb"\$Id:[^$\n]*\$")
_POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize {}\n"


def stored_forms(data: bytes, attributes: Mapping[str, str]) -> Iterator[bytes]:
    """The bytes that git may hold for a file with ``data`` in the tree, the likeliest first."""
    if attributes.get("filter") == "lfs":
        yield _POINTER.format(hashlib.sha256(data).hexdigest(), len(data)).encode()
    text = _decoded(data, attributes.get("working-tree-encoding", ""))
    for form in (data, text):
        for plain in (form, _IDENT.sub(b"$Id$", form)) if attributes.get("ident") == "set" else (form,):
            yield plain
            if b"\r\n" in plain:
                yield plain.replace(b"\r\n", b"\n")


def _decoded(data: bytes, encoding: str) -> bytes:
    """``data`` as UTF-8, in which git stores what has an encoding of its own in the tree."""
    try:
        return data.decode(encoding).encode() if encoding not in ("", "set", "unset", "unspecified") else data
    except (LookupError, ValueError):
        return data
