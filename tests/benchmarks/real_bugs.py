"""Runs ``planexec fix --dry-run`` on prepared bugs and prints a table: outcome, seconds, candidates, survivors.

    python -m tests.benchmarks.real_bugs CASES.json OUT [NAME...]

``CASES.json`` is a list of ``{"name", "repo", "python", "tests": [...]}``: a clean checkout in which the tests are
red, and the interpreter of its environment. For each case ``OUT`` gets the run's document and what was printed.
Whether a proved patch is the right one is for a person to say: the patches are in the documents.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

LIMIT_SECONDS = 3600


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*")
    chosen = parser.parse_args()
    cases = {case["name"]: case for case in json.loads(chosen.cases.read_text())}
    chosen.out.mkdir(parents=True, exist_ok=True)
    print("case  exit  seconds  searches (reach tried/surviving/disagreeing how it ended)  changed files", flush=True)
    for name in chosen.names or cases:
        print(row(cases[name], chosen.out), flush=True)


def row(case: dict[str, Any], out: Path) -> str:
    """One case, run to its end."""
    started = time.monotonic()
    command = [sys.executable, "-m", "planexec.cli.main", "fix", *case["tests"], "--repo", case["repo"]]
    command += ["--python", case["python"], "--dry-run", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    seconds = time.monotonic() - started
    (out / f"{case['name']}.json").write_text(done.stdout)
    (out / f"{case['name']}.err").write_text(done.stderr)
    if not done.stdout.strip():
        return f"{case['name']}  {done.returncode}  {seconds:.0f}  {done.stderr.strip().splitlines()[-1:]}"
    document = json.loads(done.stdout)
    report = document["report"]
    searches = report.get("searches") or ([report["search"]] if report.get("search") else [])
    keys = ("tried", "surviving", "disagreeing")
    told = "; ".join(
        f"{each.get('reach', '')} {'/'.join(str(each.get(key)) for key in keys)} {each.get('ended', '')}"
        for each in searches
    )
    return f"{case['name']}  {done.returncode}  {seconds:.0f}  {told}  {', '.join(document['diff']['files'])}"


if __name__ == "__main__":
    main()
