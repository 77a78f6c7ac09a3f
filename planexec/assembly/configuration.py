"""The user's own configuration: what no repository may decide. Read strictly, from the user's folder alone."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import platformdirs

from planexec.core.contract_checks import did_you_mean
from planexec.core.errors import ContractError, UsageError
from planexec.core.yamlmarks import Document, read
from planexec.llm.settings import ConfiguredModel

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Configuration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``python``: the interpreter for tests. ``sandbox``: as the option. ``state_dir``: where journals go.
    ``model``: which language models, and the server that has them.

    ``pass_env``: names of environment variables that tests may see, with the values that they have here.
    """

    python: str = ""
    sandbox: str = ""
    state_dir: str = ""
    pass_env: tuple[str, ...] = ()
    model: ConfiguredModel = ConfiguredModel()

    def passed(self, env: Mapping[str, str]) -> dict[str, str]:
        """Those variables of ``env`` that are passed through."""
        return {name: env[name] for name in self.pass_env if name in env}


def configuration_file() -> Path:
    """Where the user's configuration lies; it need not exist."""
    return Path(platformdirs.user_config_path("planexec")) / "config.yaml"


def prices_file() -> Path:
    """Where the user's own prices of models lie; it need not exist."""
    return configuration_file().with_name("prices.yaml")


def user_configuration(file: Path | None = None) -> Configuration:
    """The user's configuration; the defaults where there is none.

    Raises UsageError, with file, line and column, for what is not as described.
    """
    file = file or configuration_file()
    try:
        text = file.read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return Configuration()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the configuration '{file}' cannot be read: {error}", "it is a YAML file in UTF-8") from None
    if not re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE).strip():
        return Configuration()
    return _checked(read(text, str(file)), str(file))


def _checked(document: Document, file: str) -> Configuration:
    data = document.data
    if not isinstance(data, dict):
        raise ContractError("a configuration is a mapping", f"keys: {', '.join(_KEYS)}", path=file, line=1, column=1)
    for key, value in data.items():
        if key not in _KEYS:
            hint = did_you_mean(key, _KEYS) or f"keys: {', '.join(_KEYS)}"
            raise _error(document, key, f"unknown key '{key}'", hint, file)
        if key == "model":
            _check_model(document, value, file)
            continue
        if key == "pass_env" and not _are_names(value):
            raise _error(document, key, "'pass_env' is a list of names of variables", "such as [API_URL]", file)
        if key != "pass_env" and not (isinstance(value, str) and value):
            raise _error(document, key, f"'{key}' is a text", "put it in quotes", file)
    return msgspec.convert(data, Configuration)


def _check_model(document: Document, value: Any, file: str) -> None:
    try:
        msgspec.convert(value, ConfiguredModel)
    except msgspec.ValidationError as error:
        known = ", ".join(ConfiguredModel.__struct_fields__)
        raise _error(document, "model", f"'model' is not as it should be: {error}", f"keys: {known}", file) from None


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) and _NAME.fullmatch(each) for each in value)


def _error(document: Document, key: str, message: str, hint: str, file: str) -> ContractError:
    line, column = document.keys.get((key,), (1, 1))
    return ContractError(message, hint, path=file, line=line, column=column)


def variables(configuration: Configuration) -> dict[str, str]:
    """What tests see beyond their own environment."""
    return configuration.passed(os.environ)


_KEYS = Configuration.__struct_fields__
