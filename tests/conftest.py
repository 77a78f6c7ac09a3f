"""One bench for all tests that only read it, and a fresh one where the scratch tree is changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from planexec.testing.bench import Bench

from .projects import make_bench


@pytest.fixture(scope="session")
def shared_bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A bench whose scratch tree no test may change."""
    return make_bench(tmp_path_factory.mktemp("shared"))


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A bench of the test's own."""
    yield make_bench(tmp_path)
