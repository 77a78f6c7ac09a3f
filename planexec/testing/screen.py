"""A quick look at candidates before the warm judge: the project is loaded once, and only code is exchanged.

What the held process calls red is taken as red, where it was seen to be right about the unchanged tree; what it calls
passed, and what it declines, is judged by the warm process, which loads the candidate as any test run does.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType

from planexec.testing.judgedtree import JudgedTree
from planexec.testing.layout import private_folder
from planexec.testing.outcomes import Judgement
from planexec.testing.warmjudge import WarmJudge
from planexec.testing.warmprocess import Question, WarmProcess

HANG_SECONDS = 2.0
"""After this and ten times what the failing tests take on the unchanged tree a look counts as hanging."""

MOST_CRASHES = 3
"""So often the held process is started again after a candidate that ended it."""


@dataclass(frozen=True)
class Screening:
    """What the held process collects and knows.

    ``failing`` tests are red on the tree as it is and ``covering`` ones pass there, which take at most
    ``covering_seconds``; ``ran`` holds the lines by path that ran while the tests were imported and collected.
    """

    failing: Sequence[str]
    covering: Sequence[str]
    covering_seconds: float
    ran: Mapping[str, Sequence[int]]
    start_seconds: float = 120.0


class ScreenedJudge:
    """A warm judge that is only asked about candidates that pass a quick look. A context manager, for one thread."""

    def __init__(self, warm: WarmJudge, screening: Screening) -> None:
        self.screened = 0
        self.declined = 0
        self._warm = warm
        self._screening = screening
        self._covering = list(screening.covering)
        self._canary = "test_" + secrets.token_hex(8)
        self._stack = ExitStack()
        self._process: WarmProcess | None = None
        self._judged: JudgedTree
        self._usable: bool | None = None
        self._crashes = 0
        self._limit = math.inf

    def __enter__(self) -> ScreenedJudge:
        self._stack.enter_context(self._warm)
        private = self._stack.enter_context(private_folder())
        self._judged = self._warm.judged.second()
        self._process = WarmProcess(self._warm.layout, self._judged, private)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.end()
        self._stack.close()

    def judge(self, changes: Mapping[str, bytes], ids: Sequence[str], *, seconds: float) -> Judgement:
        """As the warm judge does. Asked about the failing tests, the quick look takes in the covering ones as well."""
        if list(ids) == list(self._screening.failing) and self._is_usable(seconds):
            found = self._look(changes, ids, min(seconds, self._limit))
            if found is not None and found.outcome == "passed" and self._covering:
                found = self._look(changes, self._covering, self._screening.covering_seconds)
            if found is not None and found.outcome != "passed":
                self.screened += 1
                return found
        return self._warm.judge(changes, ids, seconds=seconds)

    def _is_usable(self, seconds: float) -> bool:
        """Start the process when it is first wanted, and see whether it is right about the unchanged tree."""
        if self._usable is None:
            self._usable = self._start() and self._is_right(seconds)
        return self._usable

    def _start(self) -> bool:
        assert self._process is not None
        screening = self._screening
        ids = self._warm.ids.inward([*screening.failing, *self._covering])
        ran = {path: list(lines) for path, lines in screening.ran.items()}
        return not self._process.start(["held"], screening.start_seconds, ids=ids, canary=self._canary, ran=ran)

    def _is_right(self, seconds: float) -> bool:
        """Failing tests are red there; covering ones that are not green there are left out."""
        found = self._look({}, self._screening.failing, seconds)
        if found is None or found.outcome == "passed":
            return False
        # Nothing is loaded for a look, so that a candidate that hangs need not cost what a whole run may take.
        self._limit = HANG_SECONDS + 10 * found.seconds
        while self._covering:
            found = self._look({}, self._covering, self._screening.covering_seconds)
            if found is None:
                return False
            if found.outcome == "passed":
                break
            left = [test for test in self._covering if test not in found.failing]
            if len(left) == len(self._covering) or len(self._screening.covering) - len(left) > MOST_CRASHES:
                left = []  # not one odd test but many: the warm judge sees to them
            self._covering = left
        return True

    def _look(self, changes: Mapping[str, bytes], ids: Sequence[str], seconds: float) -> Judgement | None:
        """What the held process says; None where it declines or is gone."""
        assert self._process is not None
        question = Question(changes, ids, seconds, self._warm.ids, self._canary)
        answer = self._process.ask(question.request(), seconds + 60.0)
        if answer is not None and answer.get("declined"):
            self.declined += 1
            return None
        if answer is None or "exit" not in answer:
            self._crashes += 1
            self._process.end()
            self._judged.put_back()
            self._usable = self._crashes < MOST_CRASHES and self._start()
            return None
        return question.judgement(answer)
