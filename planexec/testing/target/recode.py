"""Putting a candidate's code into functions that are loaded already, where that comes to the same as loading it.

It does where the change is inside of functions that did not run while the project was imported and collected, and
where neither defaults nor free variables change (those belong to the function object, not to its code). Everything
else is declined. A fork and an exchange take a small part of the time that importing the project anew takes.
"""

from __future__ import annotations

import gc
import os
import types
import warnings
from types import CodeType, FunctionType
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from .places import Project
from .snippets import SourceFile

OPTIMIZED = 0x1  # inspect.CO_OPTIMIZED: set for functions, not for the bodies of modules and classes
Key = Tuple[str, int, str]
Exchange = Tuple[FunctionType, CodeType]
_PARTS = (
    "co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_flags", "co_argcount",
    "co_posonlyargcount", "co_kwonlyargcount", "co_name", "co_exceptiontable",
)  # fmt: skip


class Functions:
    """The loaded functions of the project by file, first line and name. ``ran`` holds lines that ran at import."""

    def __init__(self, project: Project, ran: Mapping[str, Sequence[int]]) -> None:
        self._project = project
        self._ran: Dict[str, Set[int]] = {path: set(lines) for path, lines in ran.items()}
        self._live: Dict[Key, List[FunctionType]] = {}
        self._sources: Dict[str, SourceFile] = {}
        for each in gc.get_objects():
            if type(each) is FunctionType:
                path = project.relative(each.__code__.co_filename)
                if path is not None:
                    self._live.setdefault(_key(path, each.__code__), []).append(each)

    def exchanges(self, path: str, content: bytes) -> Optional[List[Exchange]]:
        """What to put where so that the loaded project is that of ``content``; None where that cannot be done.

        An empty list says that the file is not loaded yet: then the file alone decides.
        """
        if not self._is_loaded(path):
            return []
        if path not in self._sources:
            self._sources[path] = SourceFile(self._before(path))
        source = self._sources[path]
        texts = source.around(content)
        if texts is None:
            return None
        old, new = (_compiled(self._place(path), each, source.flags) for each in texts)
        if old is None or new is None:
            return None
        found: List[Exchange] = []
        return found if self._compare(path, old, new, found, reachable=False) and found else None

    def _place(self, path: str) -> str:
        return os.path.join(self._project.root, *path.split("/"))

    def _before(self, path: str) -> bytes:
        try:
            with open(self._place(path), "rb") as stream:
                return stream.read()
        except OSError:
            return b""

    def _is_loaded(self, path: str) -> bool:
        return path in self._ran or any(key[0] == path for key in self._live)

    def _compare(self, path: str, old: CodeType, new: CodeType, found: List[Exchange], reachable: bool) -> bool:
        """Collect exchanges for ``old`` and what is in it; False where one is not possible."""
        same = _same(old, new)
        if not old.co_flags & OPTIMIZED:
            pairs = _pairs(old, new)
            return same and pairs is not None and all(self._compare(path, *pair, found, reachable) for pair in pairs)
        if same and _equal(old, new):
            return True
        if old.co_freevars != new.co_freevars or (not same and self._has_run(path, old)):
            return False
        live = self._live.get(_key(path, old), [])
        found.extend((each, new) for each in live)
        reachable = reachable or bool(live)
        pairs = _pairs(old, new)
        if pairs is None:  # a nested function came or went: fine unless one of them is alive by itself
            return reachable and not any(self._live.get(_key(path, each)) for each in _nested(old))
        return reachable and all(self._compare(path, *pair, found, reachable) for pair in pairs)

    def _has_run(self, path: str, code: CodeType) -> bool:
        """Whether the body ran at import. Its first line is that of the definition, which did."""
        ran = self._ran.get(path, ())
        return any(line in ran for line in _lines(code) if line != code.co_firstlineno) or (
            all(line == code.co_firstlineno for line in _lines(code)) and code.co_firstlineno in ran
        )


def exchange(exchanges: Sequence[Exchange]) -> None:
    """Make them."""
    for function, code in exchanges:
        function.__code__ = code


def _key(path: str, code: CodeType) -> Key:
    return path, code.co_firstlineno, code.co_name


def _compiled(place: str, content: bytes, flags: int) -> Optional[CodeType]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found: CodeType = compile(content, place, "exec", flags=flags, dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
            return None
        return found


def _lines(code: CodeType) -> Iterator[int]:
    """The lines of the instructions of ``code`` itself."""
    import dis

    return (line for _, line in dis.findlinestarts(code) if line is not None)


def _nested(code: CodeType) -> List[CodeType]:
    return [each for each in code.co_consts if isinstance(each, CodeType)]


def _pairs(old: CodeType, new: CodeType) -> Optional[List[Tuple[CodeType, CodeType]]]:
    """The code objects in the two, side by side; None where they do not correspond."""
    before, after = _nested(old), _nested(new)
    if [each.co_name for each in before] != [each.co_name for each in after]:
        return None
    return list(zip(before, after))  # noqa: B905 - Python 3.8 has no strict


def _same(old: CodeType, new: CodeType) -> bool:
    """Whether two code objects are equal but for lines and for the code objects in them."""
    return all(getattr(old, part, None) == getattr(new, part, None) for part in _PARTS) and _constants(
        old
    ) == _constants(new)


def _constants(code: CodeType) -> List[Any]:
    """Constants that tell 1 from True and 0.0 from -0.0."""
    return [types.CodeType if isinstance(each, CodeType) else (type(each), repr(each)) for each in code.co_consts]


def _equal(old: CodeType, new: CodeType) -> bool:
    """Whether two code objects are equal with all that is in them, but for lines."""
    pairs = _pairs(old, new)
    return _same(old, new) and pairs is not None and all(_equal(*pair) for pair in pairs)
