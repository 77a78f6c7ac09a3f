"""The models of a run: chosen by flags, environment and the user's configuration, never by the repository."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from planexec.assembly.choices import ModelChoice
from planexec.assembly.configuration import Configuration, prices_file
from planexec.core.errors import UsageError
from planexec.llm.client import ServedModel
from planexec.llm.interface import LanguageModel
from planexec.llm.prices import Prices
from planexec.llm.recording import Recorder, Replay
from planexec.llm.redaction import SHORTEST, Redactor
from planexec.llm.settings import Secret, resolve
from planexec.workspace.holding import holding
from planexec.workspace.repository import Repository


@dataclass(frozen=True)
class Models:
    """Models that are ready to be asked, and what goes with them. None of them where no model is configured."""

    redactor: Redactor
    prices: Prices
    planning: LanguageModel | None = None
    acting: LanguageModel | None = None
    base_url: str = ""
    key: Secret | None = None


def models_of(choice: ModelChoice, configuration: Configuration) -> Models:
    """The planner's and the executor's model. Raises UsageError for what is not as it should be; asks and records
    nothing.
    """
    served = resolve(choice.model, choice.base_url, os.environ, configuration.model)
    redactor = Redactor([served.key.reveal()] if served else [])
    prices = Prices.load(prices_file())
    if choice.replay is not None:
        replay = Replay(choice.replay)
        name = choice.model or (served.name if served else "")
        planning = replay.of(name)
        acting = replay.of(choice.executor_model or configuration.model.executor or planning.name)
        return Models(redactor, prices, planning, acting)
    if served is None:
        return Models(redactor, prices)
    cheaper = choice.executor_model or configuration.model.executor
    planning = ServedModel(served)
    acting = ServedModel(served.called(cheaper)) if cheaper else planning
    return Models(redactor, prices, planning, acting, served.base_url, served.key)


def hold_back(models: Models, repository: Repository, contract_text: str) -> list[str]:
    """The files that no copy may hold because the model's key stands in them: nothing that is executed may see it.

    Raises UsageError where it stands in a tracked file or in the contract: those are needed, and kept.
    """
    key = models.key.reveal() if models.key is not None else ""
    if len(key) < SHORTEST:
        return []
    tracked, others = holding(repository, key.encode("utf-8", "surrogateescape"))
    if tracked or key in contract_text:
        where = f"'{tracked[0]}', which git tracks," if tracked else "the contract"
        raise UsageError(
            f"the model's key stands in {where} and would be seen by the tests",
            "take it out, and have a new key made: this one is in the repository's history",
        )
    return others


def recorded(models: Models, choice: ModelChoice) -> Models:
    """``models`` with their questions kept in the file that ``choice`` names; a replay is not recorded again. A file
    that is there is replaced: only once the run is this process's own. Raises UsageError.
    """
    if choice.record is None or choice.replay is not None or models.planning is None or models.acting is None:
        return models
    recorder = Recorder.file(choice.record, models.redactor)
    return replace(models, planning=recorder.of(models.planning), acting=recorder.of(models.acting))
