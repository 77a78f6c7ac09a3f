"""The registry of tools. A step names its tools; an action on any other is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from planexec.core.errors import EnvironmentFailure, PlanexecError, SafetyViolation
from planexec.tools.files import Edit, ListFiles, Read, Search, Undo
from planexec.tools.interface import Tool, ToolResult, Workbench
from planexec.tools.investigate import Investigate
from planexec.tools.locate import Locate
from planexec.tools.noting import Note
from planexec.tools.recalling import Recall
from planexec.tools.regression import Regression
from planexec.tools.repairing import Repair
from planexec.tools.running import RunTests, Shell


class Toolbox:
    """Tools by name."""

    def __init__(self, *tools: Tool) -> None:
        self.tools: Mapping[str, Tool] = {tool.name: tool for tool in tools}

    @classmethod
    def standard(cls) -> Toolbox:
        """Every tool that planexec ships."""
        return cls(
            Search(), ListFiles(), Read(), Edit(), Undo(), RunTests(), Shell(), Regression(), Investigate(), Repair(),
            Locate(), Note(), Recall(),
        )  # fmt: skip

    @property
    def names(self) -> frozenset[str]:
        """The names that a plan may use."""
        return frozenset(self.tools)

    def idempotent(self, name: str) -> bool:
        """Whether the tool may be run again after its outcome was lost; unknown tools may not."""
        return name in self.tools and self.tools[name].idempotent

    def run(self, name: str, arguments: Mapping[str, Any], workbench: Workbench) -> ToolResult:
        """Run a tool. What goes wrong in a foreseeable way is a result with ``ok`` false, not an exception."""
        tool = self.tools.get(name)
        if tool is None or name not in workbench.step.tools:
            allowed = ", ".join(workbench.step.tools)
            return ToolResult(
                False, f"step '{workbench.step.id}' may not use '{name}'; it may use {allowed}", code="UNKNOWN_TOOL"
            )
        try:
            read = msgspec.convert(dict(arguments), tool.arguments)
        except msgspec.ValidationError as error:
            return ToolResult(False, f"'{name}' does not take this: {error}", code="BAD_ARGUMENTS")
        try:
            return tool.run(read, workbench)
        except (EnvironmentFailure, OSError) as error:
            return ToolResult(False, str(error), code="ENVIRONMENT", environment=True)
        except SafetyViolation as error:
            return ToolResult(False, error.message, code="SAFETY")
        except PlanexecError as error:
            return ToolResult(False, error.message, code="REFUSED")
