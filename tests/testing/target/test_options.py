from __future__ import annotations

import argparse

import pytest
from _pytest.config.argparsing import Parser

from planexec.testing.target.options import known_options, missing, settle, tolerate


def test_settling_touches_only_what_is_there() -> None:
    option = argparse.Namespace(maxfail=1, stepwise=True, collectonly=True, untouched=3, numprocesses="auto")
    settle(option)
    assert vars(option) == {"maxfail": 0, "stepwise": False, "collectonly": False, "untouched": 3, "numprocesses": 0}
    settle(option, collect_only=True)
    assert option.collectonly is True


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (["--cov", "--cov=pkg", "--cov-report", "term"], {"--cov": "?", "--cov-report": "1"}),
        (["-n4"], {"-n": "1"}),
        (["-n", "auto", "--dist=loadfile"], {"-n": "1", "--dist": "1"}),
        (["--unknown", "-q", "tests"], {}),
    ],
)
def test_missing_options_of_reporting_plugins(args: list[str], found: dict[str, str]) -> None:
    assert missing(args, set()) == found
    assert missing(args, set(found)) == {}


def test_the_parser_learns_them() -> None:
    parser = Parser(_ispytest=True)
    parser.addoption("--timeout", action="store", dest="own")  # as a conftest.py may
    args = ["--cov", "--cov-branch", "--cov-report", "html", "--timeout=3", "-n", "2", "tests"]
    assert tolerate(parser, args) == ["--cov", "--cov-branch", "--cov-report", "-n"]
    assert {"--cov", "--timeout", "-n"} <= known_options(parser)
    assert tolerate(parser, args) == []
    found = parser.parse(args)
    assert found.own == "3" and found.file_or_dir == ["tests"]
