"""Test ids where the project root lies below the repository's root: pytest's are relative to the one, ours to the
other.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import Any

from planexec.testing.records import Records


class IdTranslator:
    """``project`` is the project root relative to the repository's root (posix); empty when they are the same."""

    def __init__(self, project: str = "") -> None:
        self.project = "" if project == "." else project

    def inward(self, ids: Sequence[str]) -> list[str]:
        """From the repository's root to the project root, where pytest counts from."""
        if not self.project:
            return list(ids)
        return [_replaced(each, posixpath.relpath(each.split("::", 1)[0], self.project)) for each in ids]

    def outward(self, name: str, canary: str = "") -> str:
        """From the project root to the repository's root. The planted test has no place and stays as it is."""
        if not self.project or (canary and name.startswith(f"{canary}.py")) or name.startswith("/"):
            return name
        return _replaced(name, posixpath.normpath(posixpath.join(self.project, name.split("::", 1)[0])))

    def translated(self, records: Records, canary: str) -> Records:
        """The records with all their test ids outward."""
        if not self.project:
            return records
        return Records([self._entry(entry, canary) for entry in records.entries], records.sealed)

    def _entry(self, entry: Mapping[str, Any], canary: str) -> Mapping[str, Any]:
        if "id" in entry:
            return {**entry, "id": self.outward(str(entry["id"]), canary)}
        if entry["kind"] == "collected":
            return {**entry, "ids": [self.outward(str(each), canary) for each in entry["ids"]]}
        if entry["kind"] == "trace":
            data = dict(entry["data"])
            for part in ("lines", "frames"):
                data[part] = {self.outward(test): found for test, found in data.get(part, {}).items()}
            data["sightings"] = [{**each, "test": self.outward(each["test"])} for each in data.get("sightings", [])]
            return {**entry, "data": data}
        return entry


def _replaced(name: str, path: str) -> str:
    _, sign, rest = name.partition("::")
    return path + sign + rest


def stands_for(name: str, test: str) -> bool:
    """Whether ``name`` is the id of ``test``, or of something that holds it: its parameters, class, file or folder."""
    return test == name or test.startswith((f"{name}[", f"{name}::", f"{name}/"))


_DEFAULT = re.compile(r"test_.*|.*_test")
_BEHIND = re.compile(r".*_((?:unit|func|functional|integration)?tests?|specs?|check)")
_BEFORE = re.compile(r"((?:unit|func|functional|integration)?tests?|specs?|check)_.*")


def file_patterns(ids: Sequence[str]) -> list[str]:
    """Globs of test files that pytest would not look into by itself, from the names of some: ``page_tests.py`` tells of
    ``*_tests.py``, and a file whose name tells nothing stands for itself.
    """
    found: dict[str, None] = {}
    for name in ids:
        path = name.split("::", 1)[0]
        stem = posixpath.basename(path).removesuffix(".py")
        if not path.endswith(".py") or _DEFAULT.fullmatch(stem):
            continue
        behind, before = _BEHIND.fullmatch(stem), _BEFORE.fullmatch(stem)
        found[f"*_{behind[1]}.py" if behind else f"{before[1]}_*.py" if before else path] = None
    return list(found)
