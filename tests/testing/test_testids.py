from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planexec.testing.records import Records
from planexec.testing.testids import IdTranslator, file_patterns

NAMES = st.text(st.characters(blacklist_characters="/\0:", blacklist_categories=("Cs",)), min_size=1).filter(
    lambda text: text not in (".", "..")
)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)


@pytest.mark.parametrize(
    ("ours", "pytests"),
    [
        ("backend/tests/test_a.py::T::test_b[x/../y::z]", "tests/test_a.py::T::test_b[x/../y::z]"),
        ("backend/test_a.py", "test_a.py"),
        ("backend", "."),
        ("tests/test_a.py::test_b", "../tests/test_a.py::test_b"),
        ("backend2/test_a.py", "../backend2/test_a.py"),
    ],
)
def test_both_ways(ours: str, pytests: str) -> None:
    translator = IdTranslator("backend")
    assert translator.inward([ours]) == [pytests]
    assert translator.outward(pytests) == ours


@given(PATHS, PATHS, st.sampled_from(["", "::test_a", "::T::test_a[../x::y]"]))
def test_what_goes_in_comes_out(project: str, path: str, rest: str) -> None:
    translator = IdTranslator(project)
    assert translator.outward(translator.inward([path + rest])[0]) == path + rest


def test_without_a_project_nothing_changes() -> None:
    records = Records([{"kind": "start", "id": "a.py::b"}], sealed=True)
    for project in ("", "."):
        assert IdTranslator(project).translated(records, "c") is records
        assert IdTranslator(project).inward(["./a.py"]) == ["./a.py"]


def test_all_records_are_translated_but_the_planted_test() -> None:
    trace = {"lines": {"a.py::t": {"backend/a.py": [1]}}, "import_lines": {"backend/a.py": [1]}}
    trace |= {"frames": {"a.py::t": []}, "sightings": [{"test": "a.py::t", "path": "backend/a.py"}]}
    records = Records(
        [
            {"kind": "collected", "ids": ["a.py::t", "canary.py::canary"]},
            {"kind": "report", "id": "a.py::t", "when": "call"},
            {"kind": "start", "id": "canary.py::canary"},
            {"kind": "collection_error", "id": "sub/a.py", "text": "x"},
            {"kind": "trace", "data": trace},
            {"kind": "closing", "exit": 1},
        ],
        sealed=True,
    )
    found = IdTranslator("backend").translated(records, "canary")
    assert found.sealed
    assert found.of("collected")[0]["ids"] == ["backend/a.py::t", "canary.py::canary"]
    assert found.of("report")[0] == {"kind": "report", "id": "backend/a.py::t", "when": "call"}
    assert found.of("start")[0]["id"] == "canary.py::canary"
    assert found.of("collection_error")[0]["id"] == "backend/sub/a.py"
    data = found.of("trace")[0]["data"]
    assert data["lines"] == {"backend/a.py::t": {"backend/a.py": [1]}} and data["frames"] == {"backend/a.py::t": []}
    assert data["import_lines"] == {"backend/a.py": [1]}
    assert data["sightings"] == [{"test": "backend/a.py::t", "path": "backend/a.py"}]
    assert found.of("closing") == [{"kind": "closing", "exit": 1}]


def test_the_name_of_a_test_file_tells_of_the_others() -> None:
    ids = ["a/tests/page_tests.py::T::test_a", "a/test_b.py::test_b", "c_test.py", "tests", "spec_d.py::test_x[a/b.py]"]
    assert file_patterns([*ids, "a/odd.py::test_o", "a/b/nav_tests.py"]) == ["*_tests.py", "spec_*.py", "a/odd.py"]
