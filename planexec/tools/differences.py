"""What changed, as unified diffs for reading: of one edit, or of the whole tree against the base."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from planexec.journal.artifacts import ArtifactStore
from planexec.workspace.entries import Change, Entry


def unified(path: str, before: bytes | None, after: bytes | None) -> str:
    """A unified diff of one file with three lines of context; None stands for no file. It is to be read, not applied:
    the git patch of a run is made elsewhere.
    """
    old, new = ((each or b"").decode("utf-8", "replace").splitlines() for each in (before, after))
    names = (f"a/{path}" if before is not None else "/dev/null", f"b/{path}" if after is not None else "/dev/null")
    return "\n".join(difflib.unified_diff(old, new, *names, lineterm=""))


def difference(changes: Iterable[Change], store: ArtifactStore) -> str:
    """All of ``changes`` one below the other."""

    def content(entry: Entry | None) -> bytes | None:
        return store.get(entry.digest) if entry is not None else None

    parts = [unified(each.path, content(each.before), content(each.after)) for each in changes]
    return "\n".join(part for part in parts if part)
