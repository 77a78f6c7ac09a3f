from __future__ import annotations

import sys
from pathlib import Path

import pytest

from planexec.core.errors import EnvironmentFailure
from planexec.testing.ownpytest import places

NOW = (sys.version_info[0], sys.version_info[1], sys.version_info[2])


def test_it_is_pytest_with_what_it_needs() -> None:
    found = places(NOW, ())
    assert {"pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments"} <= set(found)
    assert found["pytest"] == Path(pytest.__file__).parent
    assert all(place.exists() for place in found.values())
    assert any(name.startswith("pytest-") and name.endswith(".dist-info") for name in found)
    assert "hypothesis" not in found


def test_what_the_target_has_is_left_to_it(tmp_path: Path) -> None:
    (tmp_path / "packaging-20.0.dist-info").mkdir()
    found = places(NOW, (tmp_path,))
    assert "packaging" not in found and "pluggy" in found


def test_a_python_that_it_does_not_support_is_refused() -> None:
    with pytest.raises(EnvironmentFailure, match=r"Python 3\.6\.1 has no pytest") as caught:
        places((3, 6, 1), ())
    assert "install pytest" in caught.value.hint
