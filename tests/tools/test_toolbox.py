from __future__ import annotations

from typing import Any

import msgspec
import pytest

from planexec.core.errors import ConflictError, EnvironmentFailure, SafetyViolation
from planexec.testing.bench import Bench
from planexec.tools.interface import NoArguments, ToolResult, Workbench
from planexec.tools.toolbox import Toolbox

from ..projects import make_contract, step, workbench


class Failing:
    """A tool that raises what it is given."""

    name = "failing"
    description = "Raises."
    arguments: type[msgspec.Struct] = NoArguments
    idempotent = False

    def __init__(self, error: Exception) -> None:
        self.error = error

    def run(self, arguments: Any, workbench: Workbench) -> ToolResult:
        raise self.error


def test_only_the_tools_of_the_step(shared_bench: Bench) -> None:
    toolbox = Toolbox.standard()
    desk = workbench(shared_bench, make_contract(), step("read"))
    for name in ("edit", "no_such_tool"):
        result = toolbox.run(name, {}, desk)
        assert (result.ok, result.code) == (False, "UNKNOWN_TOOL")
        assert "it may use read" in result.summary


def test_arguments_are_checked(shared_bench: Bench) -> None:
    toolbox = Toolbox.standard()
    desk = workbench(shared_bench, make_contract(), step("read"))
    assert toolbox.run("read", {"path": 7}, desk).code == "BAD_ARGUMENTS"
    assert toolbox.run("read", {"path": "README.md", "lines": 3}, desk).code == "BAD_ARGUMENTS"
    assert toolbox.run("read", {"path": "README.md"}, desk).data["text"] == "    1 A shop."


def test_names_and_idempotence() -> None:
    toolbox = Toolbox.standard()
    assert {
        "search",
        "list",
        "read",
        "edit",
        "undo",
        "run_tests",
        "shell",
        "regression",
        "investigate",
        "repair",
        "locate",
        "note",
        "recall",
    } == toolbox.names
    assert toolbox.idempotent("edit") and not toolbox.idempotent("shell") and not toolbox.idempotent("unknown")
    for tool in toolbox.tools.values():
        assert tool.description
        assert msgspec.json.schema(tool.arguments)


@pytest.mark.parametrize(
    ("error", "code", "environment"),
    [
        (EnvironmentFailure("no disk"), "ENVIRONMENT", True),
        (OSError(28, "No space left on device"), "ENVIRONMENT", True),
        (SafetyViolation("a link"), "SAFETY", False),
        (ConflictError("taken"), "REFUSED", False),
    ],
)
def test_foreseeable_errors_are_results(shared_bench: Bench, error: Exception, code: str, environment: bool) -> None:
    result = Toolbox(Failing(error)).run("failing", {}, workbench(shared_bench, make_contract(), step("failing")))
    assert (result.ok, result.code, result.environment) == (False, code, environment)
