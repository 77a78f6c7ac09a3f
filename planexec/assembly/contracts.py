"""Where a contract comes from: a file with the tests beside it, the tests that ``fix`` is given, or the journal."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from planexec.core.contract import REGRESSION_RED, Contract
from planexec.core.contract_checks import TEST_ID_HINT, is_test_id
from planexec.core.contract_reader import read_contract
from planexec.core.errors import JournalError, UsageError
from planexec.core.state import RunState
from planexec.journal.artifacts import ArtifactStore
from planexec.testing.bench import Bench
from planexec.testing.testids import stands_for
from planexec.tools.failing import target_ids
from planexec.verifiers.registry import plugins
from planexec.workspace.projectroot import project_root, root_for_tests
from planexec.workspace.state import locate


def load_contract(path: Path) -> tuple[Contract, str]:
    """Read a contract and the files beside it: bound, and its text. Raises ContractError, UsageError."""
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        near = (
            difflib.get_close_matches(path.name, [p.name for p in path.parent.glob("*.y*ml")], n=1)
            if path.parent.is_dir()
            else []
        )
        raise UsageError(
            f"there is no contract '{path}'",
            f"did you mean '{path.parent / near[0]}'?" if near else "give the path of a YAML file",
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the contract '{path}' cannot be read: {error}", "it is a YAML file in UTF-8") from None
    return read_contract(text, str(path), lambda name: (path.parent / name).read_bytes(), plugins()), text


def contract_for_tests(tests: Sequence[str]) -> tuple[Contract, str]:
    """The contract that ``fix`` makes of failing tests, bound and as the text that is kept with the run."""
    for name in tests:
        if any("\ud800" <= character <= "\udfff" for character in name):
            raise UsageError(
                f"the test id {name!r} is not UTF-8, which a contract has to be", "name the folder above it"
            )
        if not is_test_id(name):
            raise UsageError(f"'{name}' is not a test id", TEST_ID_HINT)
    many = "tests pass" if len(tests) > 1 else "test passes"
    body = {
        "goal": f"{len(tests)} failing {many}: {', '.join(tests)}"[:300],
        "success": {
            "reproduction": {
                "text": "the tests fail on the base and pass afterwards",
                "verifier": REGRESSION_RED,
                "tests": list(tests),
            },
            "tests": "everything that passed before still passes",
            "diff_scope": "nothing else is changed",
        },
    }  # fmt: skip
    text = msgspec.yaml.encode(body).decode()
    return read_contract(text, "contract.yaml"), text


def repository_ids(tests: Sequence[str], start: Path) -> list[str]:
    """Test ids as a person gives them in ``start``, a folder of the repository, relative to the repository's root.

    The file of an id is looked for from ``start``, the root and the project root, in this order; one that is nowhere
    counts from the root. Raises UsageError for an id that leaves the repository.
    """
    root = locate(start).root
    start = start.resolve()
    bases = dict.fromkeys((start, root, root / project_root(start, root)))
    found = []
    for test in tests:
        file, sign, rest = test.partition("::")
        if not file:
            found.append(test)  # the contract says what is wrong with it
            continue
        places = [_normal(base / file, root) for base in bases]
        place = next((each for each in places if each.exists()), places[0] if ".." in Path(file).parts else root / file)
        if not place.is_relative_to(root):
            raise UsageError(
                f"the test '{test}' lies outside of the repository {root}", "name a test of the repository"
            )
        found.append(place.relative_to(root).as_posix() + sign + rest)
    return found


def _normal(path: Path, root: Path) -> Path:
    """Without ``..``; a path that reaches the repository through a link counts as inside."""
    place = Path(os.path.normpath(path))
    return place if place.is_relative_to(root) else place.parent.resolve() / place.name


def kept_contract(state: RunState, store: ArtifactStore) -> Contract:
    """The contract of a run as it was when the run began, whatever became of its files since. Raises JournalError."""
    text = store.get(state.contract).decode()
    contract = read_contract(text, "contract.yaml", lambda name: _kept(state.contract_files, name, store), plugins())
    if contract.digest != state.contract_digest:
        raise JournalError(
            f"the contract of run {state.run_id} reads differently in this version", "start the task again"
        )
    return contract


def _kept(files: Mapping[str, str], name: str, store: ArtifactStore) -> bytes:
    if name not in files:
        raise FileNotFoundError(name)
    return store.get(files[name])


def contract_files(contract: Contract, root: Path) -> list[str]:
    """The contract and the tests beside it, where they lie in the repository: nothing that is executed may see them
    (L2).
    """
    source = Path(contract.source).absolute()
    places = [source, *((source.parent / name).absolute() for name in contract.files)]
    return [
        str(place.resolve().relative_to(root))
        for place in places
        if place.is_file() and place.resolve().is_relative_to(root)
    ]


def named_tests(contract: Contract) -> list[str]:
    """Every test id that the contract names."""
    named = [*target_ids(contract), *(test for check in contract.checks.values() for test in check.arguments.tests)]
    return list(dict.fromkeys(named))


def root_for(contract: Contract, start: Path, root: Path) -> str:
    """The project root for a run that was started in ``start``: it holds every test that the contract names."""
    examples = [check.arguments.example for check in contract.checks.values() if check.arguments.example]
    return root_for_tests(start, root, [*named_tests(contract), *(each.file for each in examples if each.file)])


def preflight(bench: Bench, contract: Contract) -> list[str]:
    """Tests that the contract names must exist, and the suite must be collectable. Returns the ids of all tests.

    Raises UsageError, EnvironmentFailure.
    """
    with bench.tree() as tree:
        known = bench.harness.collect(tree)
    laid = {name.rsplit("/", 1)[-1] for name in contract.files}
    laid |= {check.arguments.at.rsplit("/", 1)[-1] for check in contract.checks.values()}
    for name in named_tests(contract):
        file = name.split("::")[0]
        if any(stands_for(name, each) for each in known):
            continue
        if file.rsplit("/", 1)[-1] in laid or (
            file in bench.workspace.base.entries and file.endswith(".py") and not _collected(file, known)
        ):
            continue
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        raise UsageError(
            f"there is no test '{name}'",
            f"did you mean '{near[0]}'?" if near else "ids look like tests/test_x.py::test_y",
        )
    return known


def _collected(file: str, known: Sequence[str]) -> bool:
    return any(each.startswith(f"{file}::") for each in known)
