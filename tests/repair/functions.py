"""Small programs with faults, run for real: candidates are judged in forked children by calling the function."""

from __future__ import annotations

import ast
import sys
import textwrap
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

from planexec.repair.donors import Donors
from planexec.repair.edits import Candidate, Sieve
from planexec.repair.judging import OracleJudge
from planexec.repair.localise import Suspicion, localise
from planexec.repair.search import SearchRequest, SearchResult, search
from planexec.repair.stream import Reach, places, stream
from planexec.testing.outcomes import Frame, TestOutcome, TestReport, TraceReport

PATH = "app/work.py"
Case = tuple[Sequence[Any], Any]


def call(source: bytes, name: str, arguments: Sequence[Any]) -> Any:
    """Execute the file and call the function; generators are listed."""
    module: dict[str, Any] = {"__name__": "work"}
    exec(compile(source, PATH, "exec"), module)
    result = module[name](*ast.literal_eval(repr(list(arguments))))
    return list(result) if hasattr(result, "__next__") else result


def judge_of(source: bytes, name: str, cases: Sequence[Case]) -> OracleJudge:
    """A judge whose ids are the positions in ``cases``; it stops at the first that fails."""

    def oracle(files: Mapping[str, bytes], ids: Sequence[str]) -> list[str]:
        for test in ids:
            arguments, expected = cases[int(test)]
            try:
                if call(files[PATH], name, arguments) != expected:
                    return [test]
            except Exception:
                return [test]
        return []

    return OracleJudge({PATH: source}, oracle)


def traced(source: bytes, name: str, cases: Sequence[Case]) -> TraceReport:
    """Run each case under a line tracer, as the harness would."""
    lines: dict[str, dict[str, list[int]]] = {}
    frames: dict[str, list[Frame]] = {}
    outcomes: dict[str, TestOutcome] = {}
    for number, (arguments, expected) in enumerate(cases):
        test, seen = str(number), set[int]()
        status, frames[test] = "failed", []

        def tracer(frame: FrameType, event: str, _: object, seen: set[int] = seen) -> Any:
            if frame.f_code.co_filename == PATH:
                if event == "line" and frame.f_code.co_name != "<module>":
                    seen.add(frame.f_lineno)
                return tracer
            return None

        before = sys.gettrace()
        sys.settrace(tracer)
        try:
            status = "passed" if call(source, name, arguments) == expected else "failed"
        except Exception as error:
            walk = error.__traceback__
            while walk is not None:
                if walk.tb_frame.f_code.co_filename == PATH:
                    frames[test].append(Frame(PATH, walk.tb_lineno, walk.tb_frame.f_code.co_name))
                walk = walk.tb_next
        finally:
            sys.settrace(before)
        lines[test] = {PATH: sorted(seen)}
        outcomes[test] = TestOutcome(test, "passed" if status == "passed" else "failed")
    imported = {PATH: [node.lineno for node in ast.parse(source).body]}
    report = TestReport(outcomes, {}, True, "", 1, False, 0.0, "")
    return TraceReport(report, lines, imported, frames, [])


def repair(
    text: str,
    name: str,
    cases: Sequence[Case],
    *,
    reach: Reach = "wide",
    further: int = 1,
    others: int = 0,
    at: str = "",
) -> SearchResult:
    """Localise and search with one judge and ``others``; ``at`` narrows the suspicion to the lines with that text."""
    source = textwrap.dedent(text).lstrip("\n").encode()
    trace = traced(source, name, cases)
    failing = [test for test, outcome in trace.report.outcomes.items() if outcome.status == "failed"]
    passing = [test for test in trace.report.outcomes if test not in failing]
    assert failing, "the program must fail first"
    suspicions = localise(trace, set(failing), {PATH: source})
    lines = source.decode().splitlines()
    suspicions = [each for each in suspicions if at in lines[each.line - 1]]
    request = SearchRequest(
        {PATH: source},
        suspicions,
        failing,
        passing,
        reach=reach,
        seconds=60,
        judgement_seconds=0.6,
        further=further,
    )
    judges = [judge_of(source, name, cases) for _ in range(1 + others)]
    return search(request, *judges)


def everywhere(source: bytes, path: str = PATH, text_lines: Sequence[int] = ()) -> list[Suspicion]:
    """Every line equally suspect."""
    numbers = text_lines or range(1, source.count(b"\n") + source.count(b"\r") + 2)
    return [Suspicion(path, line, 0.5, "") for line in numbers]


def candidates(
    text: str | bytes, *, reach: Reach = "wide", most: int = 100_000, more: Mapping[str, bytes] | None = None
) -> list[Candidate]:
    """All different candidates of a file (with ``more`` files as donors), in order."""
    source = text if isinstance(text, bytes) else textwrap.dedent(text).lstrip("\n").encode()
    donors = Donors({PATH: source, **(more or {})}, [PATH])
    sieve, found = Sieve(), []
    located = places(everywhere(source), donors, lambda path: path == PATH, reach)
    for ranked in stream(located, donors, reach):
        read = donors.source(ranked.edit.path)
        candidate = sieve.admit(read, ranked.edit) if read is not None else None
        if candidate is not None:
            found.append(candidate)
        if len(found) >= most:
            break
    return found


def texts(text: str, *, template: str | None = None, more: Mapping[str, bytes] | None = None) -> list[str]:
    """The contents of the candidates, of one template or of all."""
    found = candidates(text, more=more)
    return [each.content.decode() for each in found if template in {None, each.edit.template}]


def last_lines(text: str, *, template: str | None = None, more: Mapping[str, bytes] | None = None) -> set[str]:
    """What the last line of ``text`` becomes in the candidates that change only it, stripped."""
    base = textwrap.dedent(text).lstrip("\n").rstrip("\n")
    head, _, _ = base.rpartition("\n")
    return {
        each[len(head) :].strip()
        for each in texts(base, template=template, more=more)
        if each.startswith(head + "\n" if head else "")
    }
