"""What a person may choose about models on the command line. Imports nothing, so that help stays quick."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ModelChoice:
    """What a person may say of models on the command line; empty is what environment and configuration say.

    ``record`` keeps every question and answer in a file, ``replay`` takes the answers from one, without network.
    """

    model: str = ""
    base_url: str = ""
    executor_model: str = ""
    record: Path | None = None
    replay: Path | None = None


UNSAID = ModelChoice()
"""Nothing is said of models."""
