from __future__ import annotations

import msgspec

from planexec.core import events as e
from planexec.testing.bench import Bench
from planexec.verifiers.observation import ObservationVerifier, lines_digest

from ..projects import RED, make_contract

BASKET = "shop/basket.py"


def objection(bench: Bench, *supports: e.Support, records: dict[str, str] | None = None) -> str:
    claim = e.Claim("a claim", "subject", "value", supports)
    verifier = ObservationVerifier(make_contract(), bench, bench.workspace.base, records or {}, [claim])
    return verifier.objection(claim)


def content(bench: Bench) -> bytes:
    return bench.store.get(bench.workspace.base.entries[BASKET].digest)


def test_a_claim_needs_supports(shared_bench: Bench) -> None:
    assert "nothing that could be checked" in objection(shared_bench)


def test_lines_are_read_again(shared_bench: Bench) -> None:
    digest = lines_digest(content(shared_bench), 4, 8)
    assert objection(shared_bench, e.LinesSupport(BASKET, 4, 8, digest)) == ""
    assert "are not what was claimed" in objection(shared_bench, e.LinesSupport(BASKET, 4, 7, digest))
    assert "no such file" in objection(shared_bench, e.LinesSupport("shop/nothing.py", 1, 1, digest))


def test_occurrences_are_counted_again(shared_bench: Bench) -> None:
    places = tuple(
        f"{BASKET}:{n}" for n, line in enumerate(content(shared_bench).splitlines(), 1) if b"discount" in line
    )
    assert len(places) == 2
    assert objection(shared_bench, e.OccurrencesSupport("discount", ("shop/**",), places)) == ""
    assert "stands at" in objection(shared_bench, e.OccurrencesSupport("discount", ("shop/**",), places[:1]))
    assert objection(shared_bench, e.OccurrencesSupport("nowhere", ("**",), ())) == ""


def test_outcomes_are_run_again(shared_bench: Bench) -> None:
    assert objection(shared_bench, e.OutcomeSupport(RED, "failed", {}, "450")) == ""
    assert "is failed, not passed" in objection(shared_bench, e.OutcomeSupport(RED, "passed"))
    assert "does not show 999" in objection(shared_bench, e.OutcomeSupport(RED, "failed", {}, "999"))
    probe = {"tests/test_probe.py": "def test_probe(order):\n    assert 'prices' in order\n"}
    assert objection(shared_bench, e.OutcomeSupport("tests/test_probe.py::test_probe", "passed", probe)) == ""
    assert "could not be run again" in objection(
        shared_bench, e.OutcomeSupport("tests/test_basket.py::test_no", "passed")
    )


def test_traces_are_run_again(shared_bench: Bench) -> None:
    line = 1 + content(shared_bench).splitlines().index(b"    return amount + discount")
    assert objection(shared_bench, e.TraceSupport(RED, BASKET, line, "discount", "50")) == ""
    assert "was not 51" in objection(shared_bench, e.TraceSupport(RED, BASKET, line, "discount", "51"))


def test_records_are_looked_up(shared_bench: Bench) -> None:
    digest = shared_bench.store.put(msgspec.json.encode({"data": {"outcome": "no_survivor"}}))
    support = e.RecordSupport("obs-1", "outcome", "no_survivor")
    assert objection(shared_bench, support, records={"obs-1": digest}) == ""
    assert "there is no observation" in objection(shared_bench, support)
    other = e.RecordSupport("obs-1", "outcome", "found")
    assert "the record says" in objection(shared_bench, other, records={"obs-1": digest})


def test_checks_are_judged_again(shared_bench: Bench) -> None:
    assert objection(shared_bench, e.CheckSupport("tests", "passed")) == ""
    assert "check 'reproduction' is failed" in objection(shared_bench, e.CheckSupport("reproduction", "passed"))
    assert "no check 'other'" in objection(shared_bench, e.CheckSupport("other", "passed"))
