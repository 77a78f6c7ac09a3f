"""JSON for the journal and for artifacts, in which a path that is no UTF-8 survives.

Such a path is text with surrogates (as ``os.fsdecode`` gives it), which UTF-8 cannot hold. Where there is one, the
document is written in ASCII with escapes; all other documents are written by msgspec, which refuses both.
"""

from __future__ import annotations

import json
from functools import cache
from types import UnionType
from typing import Any, TypeVar, overload

import msgspec

_T = TypeVar("_T")
_ESCAPE = b"\\ud"  # as `encode` writes it


def encode(value: object) -> bytes:
    """``value`` (structs, builtins) as JSON on one line."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value, str_keys=True), separators=(",", ":")).encode("ascii")


@overload
def decode(data: bytes, kind: type[_T]) -> _T: ...
@overload
def decode(data: bytes, kind: UnionType) -> Any: ...
@overload
def decode(data: bytes) -> Any: ...
def decode(data: bytes, kind: Any = Any) -> Any:
    """What ``encode`` wrote, as ``kind``. Raises msgspec.DecodeError: no JSON, or not of this kind."""
    if _ESCAPE not in data:
        return _decoder(kind).decode(data)
    try:
        return msgspec.convert(json.loads(data), kind, str_keys=True)
    except (ValueError, RecursionError) as error:
        if isinstance(error, msgspec.DecodeError):
            raise
        raise msgspec.DecodeError(str(error)) from None


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    """Made once a type: for a large union that takes longer than to decode an event."""
    return msgspec.json.Decoder(kind)


def indented(value: object) -> bytes:
    """``value`` as JSON for people, two spaces a level."""
    data = encode(value)
    if _ESCAPE in data:
        return json.dumps(json.loads(data), indent=2).encode("ascii")
    return msgspec.json.format(data, indent=2)
