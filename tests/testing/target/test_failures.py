from __future__ import annotations

import types
from pathlib import Path

import pytest

from planexec.testing.target import failures
from planexec.testing.target.places import Project


class Odd(Exception):
    pass


def test_names_of_exceptions() -> None:
    assert failures.exception_name(ValueError) == "ValueError"
    assert failures.exception_name(Odd) == f"{__name__}.Odd"


def test_long_texts_lose_their_middle() -> None:
    assert failures.shortened("x" * 10, 10) == "x" * 10
    short = failures.shortened("a" * 50 + "b" * 50, 20)
    assert short.startswith("a" * 10 + "\n[... 80") and short.endswith("b" * 10)


def report(longrepr: object, outcome: str = "failed") -> object:
    return types.SimpleNamespace(longrepr=longrepr, outcome=outcome)


def test_messages() -> None:
    crash = types.SimpleNamespace(reprcrash=types.SimpleNamespace(message="assert 1 == 2"))
    assert failures.message_of(report(crash)) == "assert 1 == 2"
    assert failures.message_of(report(("a.py", 3, "Skipped: no"), "skipped")) == "Skipped: no"
    assert failures.message_of(report("first\nlast\n")) == "last"
    assert failures.message_of(report(None)) == "" == failures.message_of(report(""))


def test_what_a_test_printed_comes_before_its_failure() -> None:
    told = report("whole")
    told.sections = [
        ("Captured stdout call", "a diff\n"),
        ("Captured stderr call", " \n"),
        ("Captured log call", "x" * 9999),
    ]
    lines = failures.detail_of(told).split("\n")
    assert lines[:3] == ["Captured stdout call:", "a diff", "Captured log call:"] and lines[-1] == "whole"
    assert len(failures.detail_of(told)) < 4000


def test_details_are_for_failures() -> None:
    assert failures.detail_of(report("whole")) == "whole"
    assert failures.detail_of(report("whole", "skipped")) == "" == failures.detail_of(report(None))


def test_frames_are_those_of_the_project() -> None:
    project = Project(str(Path(__file__).parent))

    def inner() -> None:
        types.SimpleNamespace().missing  # noqa: B018

    with pytest.raises(AttributeError) as caught:
        inner()
    names = [each["function"] for each in failures.frames_of(caught, project)]
    assert names == ["test_frames_are_those_of_the_project", "inner"]
    with pytest.raises(RuntimeError) as wrapped:
        exec(compile("def wrap(e): raise RuntimeError from e", "/elsewhere.py", "exec"), globals())
        globals().pop("wrap")(caught.value)
    assert failures.frames_of(wrapped, Project("/nowhere")) == []


def test_the_module_that_is_missing() -> None:
    try:
        try:
            __import__("no_such_package.inner")
        except ImportError as error:
            raise RuntimeError("wrapped") from error
    except RuntimeError as wrapped:
        assert failures.missing_module(wrapped) == "no_such_package"
    assert failures.missing_module(ValueError()) == "" == failures.missing_module(None)
