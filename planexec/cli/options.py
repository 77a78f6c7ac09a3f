"""The options and arguments that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

Repo = Annotated[Path, typer.Option("--repo", help="The repository, or a folder in it.", show_default="here")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output, and nothing else there.")]
Events = Annotated[bool, typer.Option("--events", help="One JSON event a line on standard output, as it happens.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Prove, but never apply: not now, not later.")]
Apply = Annotated[
    bool, typer.Option("--apply/--no-apply", help="Apply a proven patch to the working tree, uncommitted.")
]
Planner = Annotated[str, typer.Option("--planner", help="Who plans: auto, workflow, search or model.")]
Executor = Annotated[str, typer.Option("--executor", help="Who acts: auto, workflow or model.")]
Model = Annotated[
    str,
    typer.Option(
        "--model", metavar="NAME", show_default="PLANEXEC_MODEL, or the user's configuration; without it none is asked",
        help="The language model, of any server that speaks OpenAI's chat completions.",
    ),
]  # fmt: skip
BaseUrl = Annotated[
    str, typer.Option("--base-url", metavar="URL", help="The model's server, such as http://127.0.0.1:8080/v1.")
]
ExecutorModel = Annotated[
    str, typer.Option("--executor-model", metavar="NAME", help="Another, cheaper model for the steps of the plan.")
]
Record = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option("--record", metavar="FILE", help="Keep each question to a model and its answer in a file, redacted."),
]
Replay = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option("--replay", metavar="FILE", help="Take the models' answers from a recording, without network."),
]
Sandbox = Annotated[
    str, typer.Option("--sandbox", help="auto, bubblewrap, landlock, or none (runs the project's code unconfined).")
]
StateDir = Annotated[
    Path | None,
    typer.Option(
        "--state-dir", envvar="PLANEXEC_STATE_DIR", show_default="in the git folder",
        help="Where the journal and the artifacts live; outside of the work tree, or ignored.",
    ),
]  # fmt: skip
Branch = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--branch", help="Commit a proven patch to this new branch; the work tree stays as it is."),
]
IncludeDirty = Annotated[
    bool, typer.Option("--include-dirty", help="Start from the uncommitted state; the patch is made on top of it.")
]
Budget = Annotated[
    str,
    typer.Option(
        "--budget", metavar="SECONDS", show_default="the contract's limits.repair_seconds, which is 10m if not given",
        help="Time for the search for a patch, all searches of the run together: seconds, or like 10m, 1h.",
    ),
]  # fmt: skip
Python = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--python", show_default="found by rules, which doctor shows",
        help="The interpreter that runs the project's tests: a path, a name on the PATH, or an environment's folder.",
    ),
]  # fmt: skip
RunId = Annotated[
    str, typer.Argument(help="A run, or the beginning of its id; without one the latest.", show_default=False)
]
