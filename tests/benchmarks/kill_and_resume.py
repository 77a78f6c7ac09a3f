"""Kills ``planexec fix --dry-run`` at random moments and resumes it, and compares with an undisturbed run.

    python -m tests.benchmarks.kill_and_resume REPO PYTHON TEST [--kills 50] [--seed 1]

``REPO`` is a clean checkout in which ``TEST`` is red. Each round kills the whole process group once, at a random moment
of what an undisturbed run takes, and resumes the run. The verdict and the patch must be those of the undisturbed run.
Exit code 1 where one is not.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path


class Rounds:
    """Commands on one repository, all with a state folder of their own."""

    def __init__(self, repo: Path, python: str, test: str, state: Path) -> None:
        self.repo, self.python, self.test, self.state = repo, python, test, state

    def command(self, *words: str, state: str) -> list[str]:
        program = [sys.executable, "-m", "planexec.cli.main", *words]
        return [*program, "--repo", str(self.repo), "--state-dir", str(self.state / state)]

    def fix(self, state: str) -> list[str]:
        return self.command("fix", self.test, "--python", self.python, "--dry-run", "--json", state=state)

    def undisturbed(self) -> tuple[str, str, float]:
        """Status, patch, and how long it took."""
        started = time.monotonic()
        done = subprocess.run(self.fix("calm"), capture_output=True, text=True, check=False)
        document = json.loads(done.stdout)
        return document["status"], document["diff"]["patch"], time.monotonic() - started

    def disturbed(self, number: int, moment: float) -> tuple[str, str]:
        """Status and patch of a run that was killed after ``moment`` seconds and resumed."""
        name = f"killed-{number}"
        process = subprocess.Popen(
            self.fix(name), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if not (self.state / name / "journal.db").exists():  # killed before the run had a journal: nothing to resume
            again = self.fix(name)
        else:
            again = self.command("resume", "--json", state=name)
        done = subprocess.run(again, capture_output=True, text=True, check=False)
        if "so nothing is to be resumed" in done.stderr:  # it had ended before the kill
            done = subprocess.run(
                self.command("status", "--json", state=name), capture_output=True, text=True, check=False
            )
        elif "there is no run" in done.stderr:
            done = subprocess.run(self.fix(name), capture_output=True, text=True, check=False)
        if not done.stdout.strip():
            return f"no document: {done.stderr.strip()[-300:]}", ""
        document = json.loads(done.stdout)
        return document["status"], document["diff"]["patch"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repo", type=Path)
    parser.add_argument("python")
    parser.add_argument("test")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--state", type=Path, required=True, help="an empty folder outside of the repository")
    chosen = parser.parse_args()
    rounds = Rounds(chosen.repo.resolve(), chosen.python, chosen.test, chosen.state.resolve())
    status, patch, seconds = rounds.undisturbed()
    print(f"undisturbed: {status} in {seconds:.1f} s, {len(patch.splitlines())} lines of patch", flush=True)
    draw, wrong = random.Random(chosen.seed), 0
    for number in range(1, chosen.kills + 1):
        moment = draw.uniform(0.0, seconds)
        found = rounds.disturbed(number, moment)
        same = found == (status, patch)
        wrong += not same
        print(f"{number}: killed at {moment:.2f} s: {'the same' if same else f'NOT the same: {found[0]}'}", flush=True)
    print(f"{chosen.kills - wrong} of {chosen.kills} ended as the undisturbed run")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
