"""A survey of the base in words: files, what fails, where the fault may be. Each part is bounded by its reader."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from planexec.prompts.data import cut, listed
from planexec.tools.files import numbered
from planexec.tools.survey import Survey

_PASSING = re.compile(r"0x[0-9a-f]+|\[[^\]\n]*\]")
"""What differs between the outputs of a test's parameters."""


def files(survey: Survey) -> str:
    """Folders, then the sources with the suspected ones first, then the tests."""
    near = dict.fromkeys(each.path for each in survey.suspects)
    folders = {path.rsplit("/", 1)[0] for path in near}
    sources = [*near, *_nearest(survey.files, near, folders)]
    failing = "\n".join(survey.failing)
    tests = [*(path for path in survey.tests if path in failing), *survey.tests]
    return "\n".join(
        (listed(survey.folders(), 1200), "", "sources:", listed(sources, 1300), "", "tests:",
         listed(list(dict.fromkeys(tests)), 800))
    )  # fmt: skip


def _nearest(paths: Sequence[str], shown: Collection[str], folders: Collection[str]) -> list[str]:
    rest = [path for path in paths if path not in shown]
    return sorted(rest, key=lambda path: path.rsplit("/", 1)[0] not in folders)


def failing(survey: Survey, limit: int) -> str:
    """What the failing tests print; the same once."""
    if survey.problem:
        return survey.problem
    alike: dict[str, list[str]] = {}
    for name, text in survey.failing.items():
        alike.setdefault(_PASSING.sub("", text), []).append(name)
    each = max(limit // max(len(alike), 1) - 100, 600)
    # The assertion and what was compared stand at the end.
    shown = ["\n".join([*names, cut(survey.failing[names[0]], each, 1 / 3)]) for names in alike.values()]
    return cut("\n\n".join(shown), limit)


def suspects(survey: Survey, limit: int, *, source: bool) -> str:
    """The ranked lines, with the source around them where that is asked for."""
    if not survey.suspects:
        return "(nothing is suspected)"
    lines = [
        f"{each.path}:{each.line} in {each.function or 'the module'} ({each.reason}): {each.text}"
        for each in survey.suspects
    ]
    excerpts = [f"{place}\n{_numbered(place, text)}" for place, text in survey.excerpts.items()] if source else []
    return cut("\n".join((*lines, "", *excerpts)), limit) if excerpts else listed(lines, limit)


def _numbered(place: str, text: str) -> str:
    first = int(place.rsplit(":", 1)[1].split("-", maxsplit=1)[0])
    return "\n".join(numbered(text.split("\n"), first))
