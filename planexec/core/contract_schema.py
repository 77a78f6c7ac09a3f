"""The contract's language as a JSON Schema, for editors that complete, explain and check while a person types.

It is made from the structs that ``contract_reader`` reads into, so the two cannot drift apart. What the reader accepts,
the schema accepts; what a schema cannot say (that a glob stays in the repository, that lines are Python) only the
reader refuses. Draft 7, since every editor knows it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from planexec.core import contract as c

DRAFT = "http://json-schema.org/draft-07/schema#"

_CHECK = {
    "verifier": "who judges; without it the check's name says so (reproduction, tests, diff_scope, else verify_NAME)",
    "text": "what the check is about, for people",
    "step": "the step of the plan that carries the check; patch: the fix has to reach it",
    "options": "what an installed plug-in is told",
}
_ARGUMENTS = {
    "tests": "ids of existing tests, such as tests/test_x.py::test_y or tests/test_x.py::TestCase::test_y",
    "example": "an executable example, from which the host writes the regression test",
    "runs": "how often the test has to be red on the base, and green on the candidate",
    "shows": "what the failure on the base has to show, where 'tests' name existing tests",
    "acceptance": "test modules beside the contract, never in the tree in which the fix is made",
    "at": "where the one acceptance file is laid, below the repository's root",
    "visible": "whether whoever makes the fix may run the acceptance tests",
    "command": "a program with its arguments: a list of words, or a line that is split into words; no shell reads it",
    "exit_code": "how the command has to end",
    "output": "a regular expression that what the command prints has to match",
    "max_files": "how many files the patch may change; 20 by default",
    "max_lines": "how many lines the patch may change; 1000 by default",
}

DESCRIPTIONS: Mapping[type[msgspec.Struct], Mapping[str, str]] = {
    c.ContractFile: {
        "goal": "what shall be true afterwards, in one line",
        "success": "the required checks: each has a name, and a text or a mapping with its verifier",
        "scope": "what the patch may touch",
        "limits": "bounds of the run",
        "verifiers": "verifiers of the project's own; each must be used by a check",
        "context": "anything that a planner should know",
        "environment": "the interpreter that runs the project's tests",
        "forbidden": "globs of files that may not change at any moment",
    },
    c.CheckSpec: {**_ARGUMENTS, **_CHECK},
    c.VerifierSpec: {**_ARGUMENTS, "options": _CHECK["options"], "uses": "the installed or built-in verifier to use"},
    c.Example: {
        "actual": "an expression after the set-up",
        "expected": "the value that it should have; {raises: ValueError} for an exception",
        "expected_code": "instead of 'expected': an expression",
        "shows": "the value that the base gives today; the red test has to show it",
        "raises": "the exception that the base raises today",
        "setup": "lines of Python before 'actual'",
        "imports": "lines of Python at the top of the test module",
        "fixtures": "pytest fixtures of the project that the lines use",
        "fields": "for each fixture that is a mapping, the fields that it must carry",
        "also": "further values that the same fields must be able to carry",
        "file": "where the test goes; beside the project's tests by default",
        "name": "what the test is called",
        "style": "pytest: a function; unittest: a method of a TestCase, which needs no pytest in the project",
    },
    c.Shows: {
        "actual": "the value that the failure shows",
        "expected": "the value that it asks for",
        "raises": "the exception that it shows",
    },
    c.ScopeSpec: {
        "allow": "globs, as git writes them, or current_repository",
        "deny": "globs that win over 'allow'",
        "note": "prose about the scope",
    },
    c.Limits: {
        "replan_budget": "how often the plan may be replaced",
        "corrections": "how many proposals in a row may break the rules",
        "actions_per_step": "how many actions one attempt at a step may take",
        "seconds": "wall clock of the whole run",
        "repair_seconds": "seconds of all searches for a patch together",
        "repair_candidates": "candidates of one search for a patch",
        "suite_seconds": "seconds of one run of the test suite",
        "model_calls": "how many questions the models may be asked, where models are used",
        "model_tokens": "tokens that all questions to models may take, sent and received",
        "model_cost": "US dollars that all questions to models may cost, where their price is known; 0 is no bound",
    },
    c.EnvironmentSpec: {"python": "the interpreter that runs the project's tests"},
}
"""What each key means, by the struct that holds it. A key without a description makes ``contract_schema`` fail."""

_NUMBERS: Mapping[str, Mapping[str, float]] = {
    "replan_budget": {"minimum": 0},
    "corrections": {"minimum": 0},
    "actions_per_step": {"minimum": 1},
    "repair_candidates": {"minimum": 1},
    "seconds": {"exclusiveMinimum": 0},
    "repair_seconds": {"exclusiveMinimum": 0},
    "suite_seconds": {"exclusiveMinimum": 0},
    "model_calls": {"minimum": 1},
    "model_tokens": {"minimum": 1},
    "model_cost": {"minimum": 0},
    "runs": {"minimum": 1},
    "exit_code": {"minimum": 0, "maximum": 255},
    "max_files": {"minimum": 1},
    "max_lines": {"minimum": 1},
}
_ID = "^[A-Za-z][A-Za-z0-9_-]*$"


def contract_schema() -> dict[str, Any]:
    """The JSON Schema (draft 7) of a contract file, as plain values. Raises KeyError for a key without a
    description.
    """
    made = msgspec.json.schema(c.ContractFile)
    shapes = {shape.__name__: _described(made["$defs"][shape.__name__], shape) for shape in DESCRIPTIONS}
    _bind_checks(shapes)
    whole = shapes.pop("ContractFile")
    whole["properties"]["goal"]["pattern"] = r"\S"
    return {"$schema": DRAFT, "title": "A task contract of planexec", **whole, "$defs": shapes}


def _described(shape: dict[str, Any], struct: type[msgspec.Struct]) -> dict[str, Any]:
    """The shape of one struct, each key with its description, bounds, and a default that says something."""
    described = DESCRIPTIONS[struct]
    properties = {}
    for key, value in shape["properties"].items():
        plain = {name: held for name, held in value.items() if name != "default"}
        if "$ref" in plain:
            plain = {"allOf": [plain]}  # beside a reference, draft 7 reads nothing else
        default = value.get("default")
        shown = {"default": default} if default not in (None, "", [], {}) and not isinstance(default, dict) else {}
        if key.startswith("max_"):
            shown = {}  # 0 stands for the verifier's own limit, and cannot be written
        properties[key] = {"description": described[key], **plain, **shown, **_NUMBERS.get(key, {})}
    required = {"required": shape["required"]} if shape["required"] else {}
    return {"type": "object", "additionalProperties": False, **required, "properties": properties}


def _bind_checks(shapes: dict[str, dict[str, Any]]) -> None:
    """Say which arguments go with which verifier, and which names are bound without one."""
    own = ["verifier", "text", "step"]
    check, verifier = shapes["CheckSpec"], shapes["VerifierSpec"]
    check["properties"]["verifier"]["anyOf"] = [{"enum": sorted(c.ARGUMENTS_OF)}, {"type": "string"}]
    check["allOf"] = [_where("verifier", kind, own) for kind in c.ARGUMENTS_OF]
    verifier["allOf"] = [_where("uses", kind, ["uses"]) for kind in c.ARGUMENTS_OF]
    success = shapes["ContractFile"]["properties"]["success"]
    success |= {"minProperties": 1, "propertyNames": {"pattern": _ID}}
    either = success["additionalProperties"]
    success["properties"] = {
        name: {
            "allOf": [either],
            "if": {"type": "object", "not": {"required": ["verifier"]}},
            "then": _only(c.ARGUMENTS_OF[kind], own),
        }
        for name, kind in c.BOUND_BY_NAME.items()
    }
    entries = shapes["ContractFile"]["properties"]["verifiers"]
    entry = entries["additionalProperties"]
    entries["properties"] = {
        kind: {"allOf": [entry, _only(arguments, ["uses"])]} for kind, arguments in c.ARGUMENTS_OF.items()
    }


def _where(key: str, kind: str, own: Collection[str]) -> dict[str, Any]:
    """Where ``key`` names the verifier ``kind``, only its arguments may stand."""
    return {"if": {"required": [key], "properties": {key: {"const": kind}}}, "then": _only(c.ARGUMENTS_OF[kind], own)}


def _only(arguments: Collection[str], own: Collection[str]) -> dict[str, Any]:
    return {"propertyNames": {"enum": [*own, *sorted(arguments)]}}
