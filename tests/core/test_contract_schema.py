"""The schema against the reader: what the reader accepts it accepts, what is refused by shape it refuses too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from planexec.core import contract as c
from planexec.core.contract_reader import read_contract
from planexec.core.contract_schema import DESCRIPTIONS, contract_schema
from planexec.core.errors import ContractError

from .test_contract_reader import SOUND

SCHEMA = msgspec.json.decode(msgspec.json.encode(contract_schema()))
VALIDATOR = Draft7Validator(SCHEMA)
CONTRACTS = sorted((Path(__file__).resolve().parents[2] / "contracts").glob("*.yaml"))
LEAST: dict[str, Any] = {"goal": "g", "success": {"tests": "all pass"}}
RED = {"goal": "g", "success": {"reproduction": {"tests": ["tests/test_x.py::test_y"]}}}


def accepted(contract: dict[str, Any]) -> bool:
    try:
        read_contract(yaml.safe_dump(contract, allow_unicode=True), "c.yaml")
    except ContractError:
        return False
    return True


def fits(contract: object) -> bool:
    return bool(VALIDATOR.is_valid(contract))


def test_it_is_a_json_schema() -> None:
    Draft7Validator.check_schema(SCHEMA)


def test_every_key_of_every_struct_is_described_and_no_other() -> None:
    for struct, described in DESCRIPTIONS.items():
        assert set(described) == set(struct.__struct_fields__), struct.__name__
        assert all(described.values())


@pytest.mark.parametrize("text", [SOUND, *(path.read_text() for path in CONTRACTS)])
def test_sound_contracts_fit(text: str) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(yaml.safe_load(text))] == []


@pytest.mark.parametrize(
    "contract",
    [
        {},
        {"goal": "g"},
        LEAST | {"gaol": "g"},
        LEAST | {"goal": ["g"]},
        LEAST | {"goal": " "},
        LEAST | {"success": {}},
        LEAST | {"success": ["tests"]},
        LEAST | {"success": {"two words": "x"}},
        LEAST | {"success": {"tests": {"tset": []}}},
        LEAST | {"success": {"tests": {"max_files": 3}}},
        LEAST | {"success": {"diff_scope": {"tests": ["tests/test_x.py"]}}},
        LEAST | {"success": {"quick": {"verifier": "verify_command", "tests": ["tests/test_x.py"]}}},
        LEAST | {"success": {"quick": {"verifier": "verify_command", "command": ["make"], "exit_code": 256}}},
        LEAST | {"success": {"reproduction": {"tests": ["tests/test_x.py"], "runs": 0}}},
        LEAST | {"success": {"reproduction": {"example": {"expected": 1}}}},
        LEAST | {"success": {"reproduction": {"example": {"actual": "f()", "expectd": 1}}}},
        LEAST | {"success": {"reproduction": {"example": {"actual": "f()", "expected": 1, "style": "nose"}}}},
        LEAST | {"verifiers": {"verify_own": {"uses": "verify_command", "tests": ["tests/test_x.py"]}}},
        LEAST | {"verifiers": {"verify_own": "make"}},
        LEAST | {"scope": {"allow": {"src": True}}},
        LEAST | {"scope": "src"},
        LEAST | {"limits": {"seconds": "1h"}},
        LEAST | {"limits": {"seconds": 0}},
        LEAST | {"limits": {"replan_budget": -1}},
        LEAST | {"limits": {"replan_budget": True}},
        LEAST | {"environment": {"PATH": "/bin"}},
        LEAST | {"forbidden": "*.lock"},
        LEAST | {"context": None},
    ],
)
def test_what_has_the_wrong_shape_is_refused_by_both(contract: dict[str, Any]) -> None:
    assert not accepted(contract)
    assert not fits(contract)


TEXT = st.sampled_from(
    ["", " ", "g", "1", "current_repository", "src/**", "tests/test_x.py::test_y", "make test", "f()"]
)
# To JSON Schema 1.0 is an integer; the reader tells it from 1, as YAML does. No schema can say so.
FRACTIONS = st.floats(-1, 2).filter(lambda number: not number.is_integer())
PLAIN = st.one_of(TEXT, st.integers(-1, 300), st.booleans(), st.none(), FRACTIONS)
LISTS = st.lists(TEXT, max_size=2)
VERIFIERS = st.sampled_from(["", *c.ARGUMENTS_OF, "verify_own", "verify_other"])


def mappings(struct: type[msgspec.Struct], **own: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Mappings with some keys of ``struct``, now and then one that it does not have, and values of any shape."""
    keys = {key: st.one_of(PLAIN, LISTS) for key in [*struct.__struct_fields__, "other"]} | own
    names = st.lists(st.sampled_from(sorted(keys)), unique=True, max_size=4)
    return names.flatmap(lambda chosen: st.fixed_dictionaries({name: keys[name] for name in chosen}))


EXAMPLES = mappings(
    c.Example,
    actual=st.just("f()"),
    expected=PLAIN,
    style=st.sampled_from(["pytest", "unittest", "nose"]),
    fields=st.dictionaries(TEXT, st.dictionaries(TEXT, PLAIN)),
)
SHOWS = mappings(c.Shows, actual=PLAIN, expected=PLAIN)
CHECKS = mappings(
    c.CheckSpec, verifier=VERIFIERS, example=EXAMPLES, shows=SHOWS, tests=LISTS, runs=st.integers(0, 3), text=TEXT,
    command=st.one_of(TEXT, LISTS), max_files=st.integers(0, 3), exit_code=st.integers(-1, 300), output=TEXT,
)  # fmt: skip
OWN = mappings(c.VerifierSpec, uses=VERIFIERS, tests=LISTS, command=st.one_of(TEXT, LISTS), visible=st.booleans())
NAMES = st.sampled_from([*c.BOUND_BY_NAME, "own", "other", "two words"])
WHOLE = st.fixed_dictionaries(
    {"goal": TEXT, "success": st.dictionaries(NAMES, st.one_of(TEXT, CHECKS), max_size=3)},
    optional={
        "scope": mappings(c.ScopeSpec, allow=st.one_of(TEXT, LISTS), deny=st.one_of(TEXT, LISTS), note=TEXT),
        "limits": mappings(c.Limits, seconds=st.floats(0, 10), replan_budget=st.integers(-1, 3)),
        "verifiers": st.dictionaries(VERIFIERS, OWN, max_size=2),
        "context": PLAIN,
        "environment": mappings(c.EnvironmentSpec, python=TEXT),
        "forbidden": LISTS,
        "other": PLAIN,
    },
)


@given(WHOLE)
def test_what_the_reader_accepts_the_schema_accepts(contract: dict[str, Any]) -> None:
    assert fits(contract) or not accepted(contract)


@given(mappings(c.CheckSpec, verifier=VERIFIERS), st.sampled_from(["own", *c.BOUND_BY_NAME]))
def test_a_check_that_does_not_convert_does_not_fit(check: dict[str, Any], name: str) -> None:
    try:
        msgspec.convert(check, c.CheckSpec)
    except msgspec.ValidationError:
        assert not fits(LEAST | {"success": {name: check}})
    else:
        assume(False)


@given(st.sampled_from([LEAST, RED]), mappings(c.Limits))
def test_limits_that_the_reader_refuses_do_not_fit(contract: dict[str, Any], limits: dict[str, Any]) -> None:
    whole = contract | {"limits": limits}
    assert accepted(whole) == fits(whole)
