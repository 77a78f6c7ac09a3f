"""What a turn of the executor costs by itself, and how long its requests are: a real run with a model that answers at
once and a tool that does nothing.

    python -m tests.benchmarks.turns [--turns 200]

A turn goes from the model's answer to the next question: reading the answer, recording action and observation in the
journal (with its wait for the disk), writing the next prompt. The time inside the model and the tool is left out.
Prints the median and the size of requests early and late; exit code 1 where the median is 20 ms or more, or where
requests grow.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from planexec.llm.answers import json_object
from planexec.llm.interface import Answer, Question
from planexec.tools.files import Read, ReadArguments
from planexec.tools.interface import ToolResult, Workbench
from planexec.tools.toolbox import Toolbox
from tests.controller.starting import QUICK, start_with_model
from tests.projects import make_bench

MOST_SECONDS = 0.020
GROWTH = 1.05
STEPS = [
    ("reproduce", "", ["reproduction"], {"reproduction": "regression_red"}, "regression-test"),
    ("patch", "reproduce", [], {"reproduction": "regression_green"}, "patch"),
    ("verify", "patch", ["tests", "diff_scope"], {"tests": "check_passed", "diff_scope": "check_passed"}, "verdict"),
]


def plan() -> str:
    """Three steps, of which the second is worked on by the model."""
    steps = [
        {"id": name, "goal": name, "depends_on": [after] if after else [], "covers": covers, "done_when": name,
         "predicates": [{"predicate": kind, "about": about} for about, kind in predicates.items()],
         "artifacts": [artifact], "tools": ["read", "edit"], "writes": ["**"]}
        for name, after, covers, predicates, artifact in STEPS
    ]  # fmt: skip
    return json.dumps({"scope": "current_repository", "steps": steps})


class Idle(Read):
    """Reads nothing, and says something new each time."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def run(self, arguments: ReadArguments, workbench: Workbench) -> ToolResult:
        """Three thousand characters that no other turn has."""
        started = time.perf_counter()
        text = f"{arguments.start} " * 1000
        result = ToolResult(True, f"read {arguments.start}", {"text": text[:3000]})
        self.seconds = time.perf_counter() - started
        return result


class Instant:
    """Answers at once: a plan, then one look after the other. Keeps when it was asked and how much it was shown."""

    name = "instant"

    def __init__(self, turns: int, tool: Idle) -> None:
        self.turns, self.tool = turns, tool
        self.sizes: list[int] = []
        self.own: list[float] = []
        self.left = 0.0

    def ask(self, question: Question, seconds: float) -> Answer:
        """The next answer."""
        now = time.perf_counter()
        text = plan() if question.purpose != "act" else self._action(question, now)
        answer = Answer(text, *json_object(text))
        self.left = time.perf_counter()
        return answer

    def _action(self, question: Question, now: float) -> str:
        if self.sizes:
            self.own.append(now - self.left - self.tool.seconds)
        self.sizes.append(question.size)
        number = len(self.sizes)
        if number > self.turns:
            return json.dumps({"thought": "enough", "tool": "give_up", "arguments": {"reason": "enough"}})
        thought = f"look number {number} " + "and so on " * 20
        return json.dumps({"thought": thought, "tool": "read", "arguments": {"path": "a.py", "start": number}})


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=200)
    chosen = parser.parse_args()
    tool = Idle()
    model = Instant(chosen.turns, tool)
    limits = f"actions_per_step: {chosen.turns + 10}, model_calls: {chosen.turns * 2}, replan_budget: 0"
    with tempfile.TemporaryDirectory() as folder:
        bench = make_bench(Path(folder))
        text = QUICK.replace("repair_seconds: 60", f"repair_seconds: 60, {limits}")
        tools = [tool, *(each for each in Toolbox.standard().tools.values() if each.name != tool.name)]
        start_with_model(bench, Path(folder), model, text, Toolbox(*tools)).run()
    tenth, last = model.sizes[min(25, len(model.sizes) - 1)], max(model.sizes[-10:])
    median = statistics.median(model.own)
    print(
        f"turns {len(model.own)}; own time of a turn: median {median * 1e3:.1f} ms, most {max(model.own) * 1e3:.1f} ms"
    )
    print(f"characters of a request: turn 1 {model.sizes[0]}, turn 26 {tenth}, the last ten at most {last}")
    return int(median >= MOST_SECONDS or last > tenth * GROWTH)


if __name__ == "__main__":
    sys.exit(main())
