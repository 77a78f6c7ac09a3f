"""Makes the recordings in ``recordings/`` anew, for instance after a prompt has changed.

    python -m tests.benchmarks.record [NAME...]

The answers are those of the present recording, given by the scripted server whatever it is asked; the questions are
those that planexec asks now. A run that is not proved any more leaves the recording as it was, and the exit code is 1:
then somebody, or a model, has to answer anew.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from planexec.llm.scripted import ScriptedServer, load

PROJECT = Path(__file__).resolve().parents[2]
FOLDER = PROJECT / "recordings"
MODEL = "recorded"


def main() -> int:
    """Record all, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    chosen = parser.parse_args()
    names = chosen.names or sorted(path.stem for path in FOLDER.glob("*.jsonl"))
    return max(record(name) for name in names)


def record(name: str) -> int:
    """One fixture with its contract; 0 when it is proved and recorded."""
    target = FOLDER / f"{name}.jsonl"
    with tempfile.TemporaryDirectory() as folder, ScriptedServer(load(target)) as server:
        fresh = Path(folder) / "recording.jsonl"
        command = [sys.executable, "-m", "planexec.cli.main", "run", str(PROJECT / "contracts" / f"{name}.yaml")]
        command += ["--fixture", str(PROJECT / "fixtures" / name.replace("-", "_")), "--into", f"{folder}/tree"]
        command += ["--planner", "model", "--executor", "model", "--model", MODEL, "--base-url", server.url]
        done = subprocess.run([*command, "--record", str(fresh)], check=False)
        if done.returncode == 0:
            target.write_bytes(fresh.read_bytes())
    print(f"{name}: {'recorded' if done.returncode == 0 else 'not proved, and not recorded'}", flush=True)
    return int(done.returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
