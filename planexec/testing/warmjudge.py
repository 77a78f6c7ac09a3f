"""The host's side of the warm process: judges many candidates in one sandboxed process that forks for each."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from planexec.core.errors import EnvironmentFailure
from planexec.sandbox.interface import FileTree
from planexec.testing.judgedtree import JudgedTree, judged
from planexec.testing.layout import Layout, private_folder
from planexec.testing.outcomes import Judgement
from planexec.testing.testids import IdTranslator
from planexec.testing.warmprocess import Question, WarmProcess

START_SECONDS = 60.0


class WarmJudge:
    """Judges candidates in ``tree``, which is rewritten and put back for each: it must be a private copy.

    To be used as a context manager, from one thread. The first judgement is preceded by one run of its ids on the
    unchanged tree, which tells which third-party modules to load in advance.
    """

    def __init__(self, layout: Layout, tree: FileTree) -> None:
        self.layout = layout
        self.judged: JudgedTree
        self.ids = IdTranslator(layout.project)
        self._tree = tree
        self.restarts = 0
        self._stack = ExitStack()
        self._process: WarmProcess | None = None
        self._running = False
        self._preload = True

    def __enter__(self) -> WarmJudge:
        try:
            private = self._stack.enter_context(private_folder())
            self.judged = judged(self.layout, self._tree, private / "backup")
            self._process = WarmProcess(self.layout, self.judged, private)
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.end()
        self._process = None
        self._stack.close()

    def judge(self, changes: Mapping[str, bytes], ids: Sequence[str], *, seconds: float) -> Judgement:
        """Run ``ids`` in their order on the tree with ``changes`` (relative posix path to content), until one is red.

        ``seconds`` is the limit for this candidate; when it passes, everything that the candidate started is killed.
        Raises EnvironmentFailure when the process cannot be started, or started again after a crash.
        """
        question = Question(changes, ids, seconds, self.ids, "test_" + secrets.token_hex(8))
        answer = self._ask(question)
        if answer is not None and answer.get("restart"):
            self._preload = False
            self._restart()
            answer = self._ask(question)
        if answer is None or "exit" not in answer:
            self._restart()
            return Judgement("crashed", detail="the candidate ended the judging process", seconds=seconds)
        return question.judgement(answer)

    def _ask(self, question: Question) -> dict[str, Any] | None:
        process = self._started()
        # The first request runs the unchanged tree before; then there are seconds for the clean-up.
        return process.ask(question.request(), question.seconds + max(30.0, 3 * question.seconds) + 60.0)

    def _started(self) -> WarmProcess:
        """The process, which is started when it is first asked."""
        if self._process is None:
            raise EnvironmentFailure("the warm test process is not running", "use it as a context manager")
        if not self._running:
            reason = self._process.start(["warm"] if self._preload else ["warm", "--cold"], START_SECONDS)
            if reason:
                raise EnvironmentFailure(f"the warm test process does not start: {reason}", "see `planexec doctor`")
            self._running = True
        return self._process

    def _restart(self) -> None:
        self.restarts += 1
        if self._process is not None:
            self._process.end()
        self._running = False
        self.judged.put_back()
        self._started()
