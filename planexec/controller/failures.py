"""What kind of failure it is: the controller compares what a step expected with what was observed (R16, R20, R26).

Neither planner nor executor has a say in this: a failure's class, cause and recoverability follow from evidence and
tool results.
"""

from __future__ import annotations

from collections.abc import Sequence

from planexec.core.events import Cause, Evidence, Failure, FailureClass, Recoverability
from planexec.core.plan import CheckPassed, FactRecorded, RegressionGreen, RegressionRed, SetupCarries, Step
from planexec.tools.interface import ToolResult

QUESTIONS = {
    "NOT_RED": "The fault does not show on the base. Is it fixed already, or does it need another example?",
    "OTHER_RED": "The test fails for another reason than the contract says. Which values should it show?",
    "NO_TEST": "Which test reproduces the fault?",
    "NOT_FOUND": "What further context would show where the fault is?",
    "NO_PATCH": "Which part of the source should change? A wider scope or a better test could help.",
    "SETUP": "How should the test set-up carry the fields? Give set-up lines in the example that do not need them.",
}


def classify(
    step: Step, attempt: int, evidence: Sequence[Evidence], reason: str, last: ToolResult | None, observation: str
) -> Failure:
    """The failure of a step from the evidence that did not hold, or from the last tool's result where none was asked
    for.
    """
    failing = next((each for each in evidence if each.status != "passed"), None)
    about = tuple(each for each in (failing.id if failing else "", observation) if each)
    if failing is None:
        return _of_tool(step, attempt, reason, last, about)
    if failing.status == "error":
        return _environment(step, attempt, failing.summary, failing.code, about)
    if failing.status == "inconclusive":
        return _failure(
            step, attempt, FailureClass.TOOL, Cause.TRANSIENT, "FLAKY", failing.summary, Recoverability.RETRY, about
        )
    predicate = step.predicates[min(len(evidence), len(step.predicates)) - 1]
    return _of_predicate(step, attempt, predicate, failing, reason, about)


def _of_predicate(
    step: Step, attempt: int, predicate: object, failing: Evidence, reason: str, about: tuple[str, ...]
) -> Failure:
    text = f"{reason}: {failing.summary}" if reason else failing.summary
    match predicate:
        case RegressionRed():
            code = failing.code or "NOT_RED"
            return _failure(step, attempt, FailureClass.GOAL, Cause.FALSE_FACT, code, text, Recoverability.ABORT, about)
        case SetupCarries():
            return _failure(
                step, attempt, FailureClass.TASK, Cause.FALSE_FACT, "SETUP", text, Recoverability.REPLAN, about
            )
        case FactRecorded():
            return _failure(
                step, attempt, FailureClass.TASK, Cause.FALSE_FACT, "NOT_FOUND", text, Recoverability.ABORT, about
            )
        case CheckPassed() | RegressionGreen() if "patch" not in step.artifacts:
            return _failure(
                step, attempt, FailureClass.TASK, Cause.SIDE_EFFECT, "CHECK_FAILED", text, Recoverability.REPLAN, about
            )
    return _failure(step, attempt, FailureClass.TASK, Cause.FALSE_FACT, "NO_PATCH", text, Recoverability.REPLAN, about)


def _of_tool(step: Step, attempt: int, reason: str, last: ToolResult | None, about: tuple[str, ...]) -> Failure:
    if last is not None and not last.ok and last.environment:
        return _environment(step, attempt, last.summary, last.code, about)
    if last is not None and not last.ok and last.code == "NOT_RED":
        return _failure(
            step, attempt, FailureClass.GOAL, Cause.FALSE_FACT, "NOT_RED", last.summary, Recoverability.ABORT, about
        )
    if last is not None and not last.ok and last.code == "TIMEOUT":
        return _failure(
            step, attempt, FailureClass.TOOL, Cause.TRANSIENT, "TIMEOUT", last.summary, Recoverability.RETRY, about
        )
    text = reason or (last.summary if last else "the executor had nothing to do")
    code = "NO_PATCH" if "patch" in step.artifacts else "GAVE_UP"
    return _failure(step, attempt, FailureClass.TASK, Cause.FALSE_FACT, code, text, Recoverability.REPLAN, about)


def _environment(step: Step, attempt: int, message: str, code: str, about: tuple[str, ...]) -> Failure:
    """The machine's fault, not the product's: a time-out may pass, anything else will not."""
    recoverability = Recoverability.RETRY if code == "TIMEOUT" else Recoverability.ABORT
    return Failure(
        step.id,
        attempt,
        FailureClass.TOOL,
        Cause.TRANSIENT,
        code or "ENVIRONMENT",
        message,
        recoverability,
        about,
        True,
    )


def _failure(
    step: Step,
    attempt: int,
    failure_class: FailureClass,
    cause: Cause,
    code: str,
    message: str,
    recoverability: Recoverability,
    about: tuple[str, ...],
) -> Failure:
    question = QUESTIONS.get(code, "")
    return Failure(step.id, attempt, failure_class, cause, code, message, recoverability, about, False, question)
