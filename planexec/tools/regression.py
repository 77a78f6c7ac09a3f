"""``regression``: writes the test set-up or the regression test of the contract's example; the text is the host's
(R24).
"""

from __future__ import annotations

from typing import Literal

import msgspec

from planexec.core.example import default_file, regression_id, regression_source, setup_source
from planexec.tools.files import syntax_error, write_inside, write_objection
from planexec.tools.interface import ToolResult, Workbench


class RegressionArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``setup`` writes only the extended set-up, ``extended`` the test on top of it, ``plain`` the test alone."""

    part: Literal["setup", "extended", "plain"]


class Regression:
    """Writes a part of the regression test's module."""

    name = "regression"
    description = (
        "Write the regression test that the contract's example describes: 'plain' where the test set-up carries what "
        "it needs; else 'setup' for the set-up first, and then 'extended' for the test."
    )
    arguments: type[msgspec.Struct] = RegressionArguments
    idempotent = True

    def run(self, arguments: RegressionArguments, workbench: Workbench) -> ToolResult:
        """The file and the test's id. The file must be a new one: tests are only added."""
        check = workbench.contract.reproduction
        if check is None or check.arguments.example is None:
            return ToolResult(False, "the contract has no example to write a test from", code="NO_EXAMPLE")
        path = default_file(check, workbench.bench.workspace.base.entries, workbench.bench.project)
        if objection := write_objection(path, workbench):
            return ToolResult(False, objection, code="REFUSED")
        if arguments.part == "setup":
            source = setup_source(check)
        else:
            source = regression_source(check, extended=arguments.part == "extended")
        if broken := syntax_error(path, source.encode()):
            return ToolResult(False, f"the example does not make Python: {broken}", code="SYNTAX")
        write_inside(workbench.scratch, path, source.encode())
        test = regression_id(check, path)
        what = "the extended test set-up" if arguments.part == "setup" else f"the regression test '{test}'"
        return ToolResult(True, f"wrote {what} in '{path}'", {"path": path, "test": test, "source": source})
