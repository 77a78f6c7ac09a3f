"""``planexec show``: everything about one thing of a run, as it lies in the journal and the artifacts."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from planexec.assembly.opened import Opened
from planexec.cli.inspecting import write_json
from planexec.cli.opened import opened
from planexec.cli.text import clean
from planexec.core import wire
from planexec.core.errors import JournalError, UsageError
from planexec.workspace.where import Where

KINDS = ("step", "observation", "fact", "evidence", "check", "revision", "artifact")
_DIGEST = re.compile(r"[0-9a-f]{4,64}")
_NEAREST = 3
_LONGEST = 65536
"""Characters of a text on a page; ``--json`` and the artifact's file have all of it."""


@dataclass(frozen=True)
class Thing:
    """Something of a run that can be shown: what it is called, what kind it is, one line, and all of it."""

    id: str
    kind: str
    line: str
    whole: dict[str, Any]


def show(run_id: str, name: str, where: Where, as_json: bool) -> int:
    """One thing of a run, or what there is to be shown."""
    with opened(where) as found:
        document = found.document(found.log(run_id).state)
        things = things_of(document)
        if not name:
            _list(document["run_id"], things, as_json)
            return 0
        chosen = _find(document, things, name, found)
        whole = {"run_id": document["run_id"], "id": chosen.id, "kind": chosen.kind, **_filled(chosen.whole, found)}
    if as_json:
        write_json(whole)
        return 0
    _show(whole)
    return 0


def things_of(document: dict[str, Any]) -> list[Thing]:
    """All that a run's document names."""
    found = [
        Thing(f"plan-{each['number']}", "revision", each["reason"], each | {"steps": _plan(document, each["number"])})
        for each in document["revisions"]
    ]
    found += [Thing(each["id"], "step", f"{each['status']}: {each['goal']}", each) for each in document["steps"]]
    found += [Thing(each["id"], "observation", each["summary"], each) for each in document["observations"]]
    found += [Thing(each["id"], "fact", each["claim"], each) for each in document["facts"]]
    evidence = [each for step in document["steps"] for each in step["evidence"]]
    evidence += [check["evidence"] for check in document["checks"].values() if check["evidence"]]
    found += [Thing(each["id"], "evidence", f"{each['status']}: {each['summary']}", each) for each in evidence]
    found += [Thing(name, "check", f"{each['status']} by {each['verifier']}", each) for name, each in _checks(document)]
    return found


def _checks(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return list(document["checks"].items())


def _plan(document: dict[str, Any], number: int) -> list[dict[str, Any]]:
    past: list[list[dict[str, Any]]] = document["plan_history"]
    return past[number - 1] if number <= len(past) else document["steps"]


def _find(document: dict[str, Any], things: list[Thing], name: str, found: Opened) -> Thing:
    """The thing of this name; a check comes after a step of the same name, an artifact last."""
    for thing in things:
        if name == thing.id or (thing.kind == "revision" and name in {thing.id[5:], f"revision-{thing.id[5:]}"}):
            return thing
    if _DIGEST.fullmatch(name):
        known = sorted(path.name for path in found.store.folder.glob(f"{name}*"))
        if len(known) == 1:
            return Thing(known[0], "artifact", "", {"artifact": known[0]})
        if known:
            raise UsageError(f"'{name}' is the beginning of {len(known)} artifacts", "give more of its digits")
    near = difflib.get_close_matches(name, [thing.id for thing in things], n=_NEAREST, cutoff=0.4)
    hint = f"did you mean {' or '.join(repr(each) for each in near)}?" if near else "planexec show RUN lists what is"
    raise UsageError(f"run {document['run_id']} has nothing called '{name}'", hint)


def _filled(whole: dict[str, Any], found: Opened) -> dict[str, Any]:
    """With the content of its artifact; of a check with that of its evidence."""
    digest = whole.get("artifact") or (whole.get("evidence") or {}).get("artifact", "") if _single(whole) else ""
    if not digest:
        return whole
    try:
        data = found.store.get(digest)
    except JournalError as error:
        return {**whole, "content": None, "missing": error.message}
    try:
        return {**whole, "content": wire.decode(data)}
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {**whole, "content": data.decode("utf-8", "backslashreplace"), "size": len(data)}


def _single(whole: dict[str, Any]) -> bool:
    """A step has many pieces of evidence, which are shown by their own ids."""
    return not isinstance(whole.get("evidence"), list | tuple)


def _list(run_id: str, things: list[Thing], as_json: bool) -> None:
    if as_json:
        rows = [{"id": thing.id, "kind": thing.kind, "summary": thing.line} for thing in things]
        write_json({"run_id": run_id, "things": rows})
        return
    from planexec.cli.render import page

    out = page()
    out.line(f"run {run_id}: planexec show RUN ID shows one of these, or an artifact by the beginning of its digest")
    out.table(["id", "kind", "what"], [[thing.id, thing.kind, thing.line] for thing in things])


def _show(whole: dict[str, Any]) -> None:
    lines: list[str] = [f"{whole['kind']} {whole['id']} of run {whole['run_id']}"]
    rest = {key: value for key, value in whole.items() if key not in {"id", "kind", "run_id"}}
    _lines(rest, "  ", lines.append)
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def _lines(value: Any, indent: str, out: Callable[[str], None]) -> None:
    """Values as indented text; every piece of it is cleaned, for it may come from executed code."""
    pairs = value.items() if isinstance(value, dict) else ((f"{n}", each) for n, each in enumerate(value, 1))
    for key, each in pairs:
        label = clean(str(key))
        if isinstance(each, dict | list | tuple) and each:
            out(f"{indent}{label}:")
            _lines(each, f"{indent}  ", out)
        elif isinstance(each, str) and "\n" in each:
            out(f"{indent}{label}:")
            text = each if len(each) <= _LONGEST else f"{each[:_LONGEST]}\n[{len(each) - _LONGEST} characters more]"
            for line in text.rstrip("\n").split("\n"):
                out(f"{indent}  {clean(line)}")
        elif each not in ("", None, [], {}, ()):
            out(f"{indent}{label}: {clean(str(each))}")
