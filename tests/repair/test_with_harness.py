"""The whole way in the real sandbox: trace, localise, search with the warm judge."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest

from planexec.repair.donors import is_test
from planexec.repair.localise import localise
from planexec.repair.search import SearchRequest, SearchResult, search
from planexec.sandbox.choose import choose
from planexec.testing.harness import Harness
from planexec.testing.interpreter import discover

ROOT = Path("/home/somebody/project")
FLOW = {
    "site_app/__init__.py": "",
    "site_app/entry.py": """
        def require_login(session, path):
            session["return_to"] = path
            session["attempts"] = session.get("attempts", 0) + 1
            return "/login"
    """,
    "site_app/callback.py": """
        SAFE = "/"


        def is_local(path):
            return path.startswith("/") and not path.startswith("//")


        def after_login(session):
            target = session.get("next_path", SAFE)
            if not is_local(target):
                return SAFE
            return target
    """,
    "tests/test_login.py": """
        from site_app.callback import after_login
        from site_app.entry import require_login


        def test_return_to_settings():
            session = {}
            require_login(session, "/settings")
            assert after_login(session) == "/settings"


        def test_default():
            assert after_login({}) == "/"


        def test_external_is_refused():
            session = {}
            require_login(session, "https://example.org/")
            assert after_login(session) == "/"
    """,
}
RAISES = {
    "shop.py": """
        def price(item, rates):
            rate = rates[item["kind"]]
            return item["net"] * (1 + rate)


        def total(items, rates):
            return sum(price(rates, item) for item in items)
    """,
    "test_shop.py": """
        from shop import price, total


        def test_price():
            assert price({"kind": "book", "net": 100}, {"book": 0.5}) == 150


        def test_total():
            assert total([{"kind": "book", "net": 100}], {"book": 0.5}) == 150
    """,
}


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Harness:
    interpreter = discover(tmp_path_factory.mktemp("nowhere"), flag=sys.executable)
    return Harness(choose("bubblewrap"), interpreter, ROOT, env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})


def fix(harness: Harness, tree: Path, files: Mapping[str, str], failing: str, watch: list[str]) -> SearchResult:
    for path, text in files.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(textwrap.dedent(text).lstrip("\n"))
    sources = {path: (tree / path).read_bytes() for path in files}
    ids = harness.collect(tree)
    trace = harness.trace(tree, ids, watch=watch, seconds=60)
    request = SearchRequest(
        sources,
        localise(trace, {failing}, sources),
        [failing],
        [test for test in ids if test != failing],
        seconds=90,
        further=5,
        editable=lambda path: not is_test(path),
        expected=watch,
    )
    with harness.warm(tree) as judge:
        return search(request, judge)


def test_the_key_that_is_written_replaces_the_one_that_is_read(harness: Harness, tmp_path: Path) -> None:
    result = fix(harness, tmp_path, FLOW, "tests/test_login.py::test_return_to_settings", ["'/'", "'/settings'"])
    best = result.survivors[0]
    assert (best.path, best.before, best.after) == (
        "site_app/callback.py",
        'target = session.get("next_path", SAFE)',
        'target = session.get("return_to", SAFE)',
    )
    assert best.donor == "site_app/entry.py:2"
    assert result.first_found <= 5


def test_swapped_arguments_behind_an_exception_are_repaired(harness: Harness, tmp_path: Path) -> None:
    result = fix(harness, tmp_path, RAISES, "test_shop.py::test_total", [])
    assert b"price(item, rates) for item" in result.survivors[0].content
