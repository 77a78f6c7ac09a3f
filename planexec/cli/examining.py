"""``planexec doctor``: what was found, for people or as one document."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from planexec.assembly.choices import ModelChoice
from planexec.assembly.doctor import Questions, examine
from planexec.cli.inspecting import write_json
from planexec.cli.render import Page, page
from planexec.cli.text import clean
from planexec.core.errors import EnvironmentFailure
from planexec.testing.discovery import named_here
from planexec.workspace.where import Where


def doctor(
    where: Where, python: str | None, sandbox: str, tests: bool, models: ModelChoice | None, as_json: bool
) -> int:
    """Exit code 0 when planexec can work here, else that of the environment."""
    questions = Questions(where, dict(os.environ), named_here(python, Path()), sandbox, tests, models)
    document = examine(questions, _tell)
    if as_json:
        write_json(document)
    else:
        _show(page(), document)
    return 0 if document["usable"] else EnvironmentFailure.exit_code


def _tell(text: str) -> None:
    sys.stderr.write(f"planexec: {clean(text)}\n")


def _show(out: Page, document: dict[str, Any]) -> None:
    for name, show in _SECTIONS.items():
        section = document[name]
        if section is None:
            continue
        out.heading(name)
        if section.get("problem"):
            out.line(f"  {section['problem']}", "red")
        else:
            show(out, section)
    out.heading("planexec can work here" if document["usable"] else "planexec cannot work here")
    for line in document["advice"]:
        out.line(f"  {line}", "yellow")


def _sandbox(out: Page, found: dict[str, Any]) -> None:
    out.line(f"  chosen: {found['chosen']}")
    for each in found["mechanisms"]:
        out.line(f"  {each['describes'] or each['reason']}", "" if each["usable"] else "yellow")


def _git(out: Page, found: dict[str, Any]) -> None:
    out.line(f"  {found['program']}, version {found['version']}")


def _repository(out: Page, found: dict[str, Any]) -> None:
    out.line(f"  {found['root']} on {found['head'][:12]}" + "".join(f"; {each}" for each in found["forms"]))
    out.line(f"  project root: {found['project'] or 'the root'}; uncommitted files: {found['dirty']}")


def _state(out: Page, found: dict[str, Any]) -> None:
    out.line(f"  {found['folder']} can hold the journal")


def _configuration(out: Page, found: dict[str, Any]) -> None:
    passed = f"; passed to tests: {', '.join(found['pass_env'])}" if found["pass_env"] else ""
    out.line(f"  {found['file']}" + ("" if found["exists"] else " (not there)") + passed)


def _interpreter(out: Page, found: dict[str, Any]) -> None:
    pytest = found["pytest"]
    out.line(f"  {found['executable']}, Python {found['version']}, found by: {found['source']}")
    out.line(f"  pytest {pytest['version']} ({pytest['whose']})")
    places = [each for each in found["rules"] if each["place"]]
    rows = [[each["rule"], each["place"], "taken" if each["taken"] else each["reason"]] for each in places]
    out.table(["rule", "place", "outcome"], rows)
    out.line(f"  nothing is named by: {', '.join(each['rule'] for each in found['rules'] if not each['place'])}")


def _baseline(out: Page, found: dict[str, Any]) -> None:
    counts = ", ".join(f"{count} {status}" for status, count in found["counts"].items()) or "none ran"
    seconds = " and ".join(f"{each:.1f}" for each in found["seconds"])
    out.line(f"  {found['collected']} tests collected: {counts}; {seconds} s")
    for path, text in list(found["collection_errors"].items())[:_SHOWN]:
        last = next((line for line in reversed(text.splitlines()) if line.strip()), "")
        out.line(f"  not collected: {path}: {last.strip()}", "yellow")
    for name in found["flaky"][:_SHOWN]:
        out.line(f"  flaky: {name}", "yellow")
    for text in found["distrust"]:
        out.line(f"  not believed: {text}", "red")


def _model(out: Page, found: dict[str, Any]) -> None:
    for line in found["words"]:
        out.line(f"  {line}", "" if found["answers"] else "red")


_SHOWN = 10
_SECTIONS = {
    "sandbox": _sandbox, "git": _git, "repository": _repository, "state": _state, "configuration": _configuration,
    "interpreter": _interpreter, "baseline": _baseline, "model": _model,
}  # fmt: skip
