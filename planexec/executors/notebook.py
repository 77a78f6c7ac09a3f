"""What an executor remembers of one step: enough for the next turn, and no more as the step goes on.

The prompt of each turn is made of this anew. Only the last observations are shown at length; of older ones a line
stays, and the whole of each can be recalled by its id.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from planexec.core import wire
from planexec.core.roles import Action, Observation, StepVerdict
from planexec.prompts.data import cut, quoted, visible
from planexec.tools.recalling import as_text

NEWEST = (7000, 3600, 1200)
"""Characters of the newest observation, and of those before it."""
HISTORY_LINES, HISTORY_LINE = 20, 170
THOUGHTS = 3
STALE = " (before the last change)"
STUCK = 3
"""So many turns in a row that gave nothing new end the step."""
CHANGING = frozenset({"edit", "undo", "shell", "regression"})


@dataclass
class Notebook:
    """Actions and observations of one attempt at a step. ``difference`` is a unified diff of the tree against the base,
    ``reports`` what earlier steps said.
    """

    difference: str = ""
    reports: Sequence[tuple[str, str]] = ()
    lines: list[str] = field(default_factory=list)
    observations: list[tuple[str, str]] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    """The model's own, of its last turns: notes to itself."""
    actions: int = 0
    fruitful: int = 0
    stale: int = 0
    """Turns in a row that gave nothing new."""
    _seen: set[str] = field(default_factory=set)

    def note(self, action: Action, observation: Observation) -> bool:
        """Keep an action with what it gave. Whether that was new: an action and a result that were seen before are not,
        in whatever order they come again.
        """
        self.actions += 1
        text = as_text(observation.data)
        new = self._is_new(action, observation.ok, observation.summary, text)
        self.fruitful += int(new and observation.ok)
        told = [observation.summary, text, *(f"verified: {each}" for each in observation.verified)]
        told += [f"not confirmed: {each}" for each in observation.rejected]
        line = f"{observation.id}: {brief(action)} -> {visible(observation.summary)}"
        self._write(line, f"{observation.id} {brief(action)}", "\n".join(part for part in told if part))
        self.facts += observation.verified
        return new

    def think(self, thought: str) -> None:
        """Keep a thought, the last few and each once."""
        said = cut(visible(thought), 500).replace("\n", " ")
        if said and said not in self.thoughts:
            self.thoughts.append(said)
            del self.thoughts[:-THOUGHTS]

    def thought(self) -> str:
        """The thoughts that are kept."""
        return "\n".join(f"- {each}" for each in self.thoughts) or "(none yet)"

    def changed_to(self, difference: str) -> None:
        """Keep what the tree is now; what was seen before is marked where that is something else."""
        if difference != self.difference:
            *before, newest = self.observations or [("", "")]
            self.observations = [(title.removesuffix(STALE) + STALE, text) for title, text in before] + [newest]
            self.difference = difference

    def judged(self, verdict: StepVerdict, asked: str = "finish") -> bool:
        """Keep a verdict that did not hold. Whether it says anything new."""
        findings = "; ".join(each.summary for each in verdict.evidence if each.status != "passed")
        line = f"{asked} -> not done: {visible(findings)}"
        self._write(line, "the host's verdict: the step is not done", findings)
        return self._is_new(Action("finish", {}), False, findings, "")

    def history(self) -> str:
        """One line an action, the last ones."""
        return "\n".join(f"- {line[:HISTORY_LINE]}" for line in self.lines) or "(nothing yet)"

    def recent(self) -> str:
        """The last observations, the newest at length."""
        shown = []
        for age, (title, text) in reversed(list(enumerate(reversed(self.observations)))):
            limit = NEWEST[age]
            name = title.split(" ")[0]
            more = f" (cut; recall shows all of {name})" if len(text) > limit and name.startswith("obs-") else ""
            shown.append(quoted(title + more, text, limit))
        return "\n".join(shown) or "(none yet)"

    def changed(self) -> list[str]:
        """The paths that differ from the base."""
        return re.findall(r"^\+\+\+ b/(.*)$", self.difference, re.MULTILINE)

    def _write(self, line: str, title: str, text: str) -> None:
        self.lines.append(line)
        self.observations.append((title, text))
        del self.observations[: -len(NEWEST)], self.lines[:-HISTORY_LINES]

    def _is_new(self, action: Action, ok: bool, summary: str, text: str) -> bool:
        """Numbers of observations are left out: each turn has its own."""
        key = hashlib.sha256(wire.encode([action.tool, dict(action.arguments), ok, summary, text])).hexdigest()
        new = key not in self._seen
        self._seen.add(key)
        self.stale = 0 if new else self.stale + 1
        return new


def brief(action: Action) -> str:
    """An action on one short line."""
    told = ", ".join(f"{name}={_short(value)}" for name, value in action.arguments.items())
    return visible(f"{action.tool}({told})")[:110]


def _short(value: Any) -> str:
    text = wire.encode(value).decode()
    return text if len(text) <= 60 else f"{text[:57]}..."
