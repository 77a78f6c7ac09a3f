from __future__ import annotations

from pathlib import Path

import pytest

from planexec.assembly.configuration import Configuration, user_configuration
from planexec.core.errors import UsageError


def test_what_a_user_may_set(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    assert user_configuration(file) == Configuration()
    file.write_text("# nothing yet\n\n")
    assert user_configuration(file) == Configuration()
    file.write_text("python: ~/envs/work\nsandbox: landlock\nstate_dir: /var/state\npass_env: [API_URL, TOKEN]\n")
    found = user_configuration(file)
    assert (found.python, found.sandbox, found.state_dir) == ("~/envs/work", "landlock", "/var/state")
    assert found.passed({"API_URL": "x", "OTHER": "y"}) == {"API_URL": "x"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("pythn: x\n", r":1:1: unknown key 'pythn'"),
        ("python: x\nmounts: [/]\n", r":2:1: unknown key 'mounts'"),
        ("python: 3\n", "'python' is a text"),
        ("python:\n", "'python' is a text"),
        ("pass_env: API\n", "'pass_env' is a list of names"),
        ("pass_env: [A=B]\n", "'pass_env' is a list of names"),
        ("python: x\npython: y\n", "stands twice"),
        ("- a\n", "a configuration is a mapping"),
        ("a: [\n", ":2:1:"),
    ],
)
def test_what_is_not_as_described_is_one_error_with_its_place(text: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(text)
    with pytest.raises(UsageError, match=told) as caught:
        user_configuration(file)
    assert str(file) in caught.value.message and caught.value.hint


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="cannot be read"):
        user_configuration(tmp_path / "config.yaml")
    with pytest.raises(UsageError, match="cannot be read"):
        user_configuration(tmp_path)
