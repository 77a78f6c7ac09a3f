"""Every question to a model goes through here: its limits, its price, and its place in the journal (L2, L4, R21)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from planexec.core import events as e
from planexec.core import wire
from planexec.core.contract import Limits
from planexec.core.errors import LimitReached
from planexec.core.plan import Status
from planexec.core.state import RunState
from planexec.core.usage import ModelLimits, Usage
from planexec.journal.artifacts import ArtifactStore
from planexec.journal.runlog import RunLog
from planexec.llm.answers import json_object
from planexec.llm.interface import Answer, LanguageModel, Question

LEAST_SECONDS = 1.0
"""Below that no question is worth asking."""


class MeteredModel:
    """A model whose questions are counted and kept. ``seconds`` says how long the run may still take, ``clean`` takes
    secrets out of what is kept, ``price`` gives the US dollars of a question, None where it is not known.
    """

    def __init__(
        self,
        model: LanguageModel,
        log: RunLog,
        store: ArtifactStore,
        limits: Limits,
        seconds: Callable[[], float],
        clean: Callable[[str], str],
        price: Callable[[str, Usage], float | None],
        progress: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.model, self.log, self.store, self.limits = model, log, store, limits
        self.seconds, self.clean, self.price, self.progress = seconds, clean, price, progress
        self.name = model.name

    def ask(self, question: Question, seconds: float) -> Answer:
        """Ask within the limits and write down that it was asked. Raises LimitReached, ModelFailure."""
        state = self.log.state
        left = min(seconds, self.seconds())
        if left < LEAST_SECONDS:
            raise LimitReached("time", "the time of the run is used up (limits.seconds)")
        if reached := model_limits(self.limits, state).reached(state.spent()):
            raise LimitReached(*reached)
        self.progress(f"asking {self.name} ({question.purpose})")
        # What the model's server is told holds no secret either, wherever in the repository it was read.
        cleaned = replace(question, system=self.clean(question.system), user=self.clean(question.user))
        answer = self._without_secrets(self.model.ask(cleaned, left))
        self._keep(question, answer)
        return answer

    def _without_secrets(self, answer: Answer) -> Answer:
        """An answer as it may go into plans, actions and findings."""
        text = self.clean(answer.text)
        if text == answer.text:
            return answer
        value, problem = json_object(text)
        return replace(answer, text=text, value=value, problem=answer.problem or problem)

    def _keep(self, question: Question, answer: Answer) -> None:
        running = [step.id for step in self.log.state.steps if step.status is Status.RUNNING]
        asked = {"system": question.system, "user": question.user, "name": question.name, "form": answer.form}
        told = {"text": answer.text, "finish": answer.finish, "warnings": list(answer.warnings)}
        kept, answered = self.store.put_all(self._cleaned(asked), self._cleaned(told))
        self.log.record(
            e.ModelCalled(
                question.purpose,
                self.name,
                running[0] if running else "",
                kept,
                answered,
                answer.usage,
                round(answer.seconds, 3),
                self.price(self.name, answer.usage),
                self.clean(answer.problem),
            )
        )

    def _cleaned(self, value: Mapping[str, object]) -> bytes:
        return wire.encode({key: self.clean(text) if isinstance(text, str) else text for key, text in value.items()})


def model_limits(limits: Limits, state: RunState) -> ModelLimits:
    """The bounds of a run: the contract's, or what a person raised them to."""
    raised = state.settings
    return ModelLimits(
        int(float(raised.get("model_calls", limits.model_calls))),
        int(float(raised.get("model_tokens", limits.model_tokens))),
        float(raised.get("model_cost", limits.model_cost)),
    )
