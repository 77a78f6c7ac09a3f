"""What is shown of a run to whoever plans and acts with a model, besides the state: the survey of the base, the change
so far, and what earlier steps reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from planexec.core import events as e
from planexec.core import wire
from planexec.journal.artifacts import ArtifactStore
from planexec.journal.chain import Stored
from planexec.llm.answers import json_object
from planexec.llm.interface import ACT
from planexec.tools.survey import Survey

Reports = Sequence[tuple[str, str]]


@dataclass
class Sight:
    """``survey`` is asked once. ``changes`` gives a unified diff of the tree against the base, ``reports`` the last
    words of each step that a model carried out, by step id; both are asked anew each time.
    """

    survey: Callable[[], Survey] = lambda: Survey(problem="nothing has been run")
    changes: Callable[[], str] = str
    reports: Callable[[], Reports] = tuple
    _seen: Survey | None = field(default=None, init=False)

    def look(self) -> Survey:
        """The survey of the base."""
        if self._seen is None:
            self._seen = self.survey()
        return self._seen


def last_words(history: Iterable[tuple[Stored, e.AnyEvent]], store: ArtifactStore) -> Reports:
    """What a model thought when it took the last turn of each step: its own words, which prove nothing."""
    answers = {
        event.step: event.answer
        for _, event in history
        if isinstance(event, e.ModelCalled) and event.purpose == ACT and event.step
    }
    found = []
    for step, digest in answers.items():
        value, _ = json_object(str(wire.decode(store.get(digest)).get("text", "")))
        arguments = value.get("arguments") if value else None
        reason = arguments.get("reason") if isinstance(arguments, dict) else None
        said = [str(part) for part in (value.get("thought") if value else "", reason) if part]
        if said:
            found.append((step, " ".join(said)))
    return found
