"""The command line: names, options and help. What a command does is imported only when it is called, so that help
stays quick.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Optional

import typer

from planexec.assembly.choices import ModelChoice
from planexec.cli.options import (
    Apply,
    BaseUrl,
    Branch,
    Budget,
    DryRun,
    Events,
    Executor,
    ExecutorModel,
    IncludeDirty,
    Json,
    Model,
    Planner,
    Python,
    Record,
    Replay,
    Repo,
    RunId,
    Sandbox,
    StateDir,
)
from planexec.core import interrupts
from planexec.core.errors import EnvironmentFailure, PlanexecError
from planexec.workspace.where import Where

app = typer.Typer(
    name="planexec",
    help="Fixes bugs in a local git repository by Plan-and-Execute, and proves each fix.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


_MORE = "More of this limit for a run that ended at it; counted from the run's beginning."


@app.command()
def run(
    contract: Annotated[Path, typer.Argument(help="The task contract, a YAML file.", show_default=False)],
    repo: Repo = Path(),
    fixture: Annotated[
        Path | None,
        typer.Option("--fixture", help="Work on a throwaway repository made of this folder, as a dry-run."),
    ] = None,
    into: Annotated[Optional[Path], typer.Option("--into", help="Where the throwaway repository goes.")] = None,  # noqa: UP045
    dry_run: DryRun = False,
    apply: Apply = True,
    planner: Planner = "auto",
    executor: Executor = "auto",
    branch: Branch = None,
    include_dirty: IncludeDirty = False,
    budget: Budget = "",
    model: Model = "",
    base_url: BaseUrl = "",
    executor_model: ExecutorModel = "",
    record: Record = None,
    replay: Replay = None,
    sandbox: Sandbox = "auto",
    python: Python = None,
    state_dir: StateDir = None,
    as_json: Json = False,
    events: Events = False,
) -> None:
    """Plan, execute and prove a contract."""
    from planexec.cli import running

    options = running.Options(
        Where(repo, state_dir), dry_run, apply, planner, executor, sandbox, python, as_json, events, branch or "",
        include_dirty, budget, ModelChoice(model, base_url, executor_model, record, replay),
    )  # fmt: skip
    _leave(lambda: running.run(contract, options, fixture, into))


@app.command()
def fix(
    tests: Annotated[
        list[str], typer.Argument(help="Failing tests: pytest ids, or files that hold some.", show_default=False)
    ],
    repo: Repo = Path(),
    dry_run: DryRun = False,
    apply: Apply = True,
    planner: Planner = "auto",
    executor: Executor = "auto",
    branch: Branch = None,
    include_dirty: IncludeDirty = False,
    budget: Budget = "",
    model: Model = "",
    base_url: BaseUrl = "",
    executor_model: ExecutorModel = "",
    record: Record = None,
    replay: Replay = None,
    sandbox: Sandbox = "auto",
    python: Python = None,
    state_dir: StateDir = None,
    as_json: Json = False,
    events: Events = False,
) -> None:
    """Fix failing tests without a contract: one is made of them and kept with the run."""
    from planexec.cli import running

    options = running.Options(
        Where(repo, state_dir), dry_run, apply, planner, executor, sandbox, python, as_json, events, branch or "",
        include_dirty, budget, ModelChoice(model, base_url, executor_model, record, replay),
    )  # fmt: skip
    _leave(lambda: running.fix(tests, options))


@app.command()
def resume(
    run_id: RunId = "",
    repo: Repo = Path(),
    max_seconds: Annotated[Optional[float], typer.Option("--max-seconds", min=1, help=_MORE)] = None,  # noqa: UP045
    max_calls: Annotated[Optional[int], typer.Option("--max-calls", min=1, help=_MORE)] = None,  # noqa: UP045
    max_tokens: Annotated[Optional[int], typer.Option("--max-tokens", min=1, help=_MORE)] = None,  # noqa: UP045
    max_cost: Annotated[Optional[float], typer.Option("--max-cost", min=0, help=_MORE)] = None,  # noqa: UP045
    model: Model = "",
    base_url: BaseUrl = "",
    executor_model: ExecutorModel = "",
    record: Record = None,
    replay: Replay = None,
    state_dir: StateDir = None,
    as_json: Json = False,
    events: Events = False,
) -> None:
    """Go on with a run that was interrupted, or that ended at a limit of which it is given more."""
    from planexec.cli import running

    models = ModelChoice(model, base_url, executor_model, record, replay)
    options = running.Options(Where(repo, state_dir), as_json=as_json, events=events, models=models)
    given = {"seconds": max_seconds, "model_calls": max_calls, "model_tokens": max_tokens, "model_cost": max_cost}
    raised = {limit: float(value) for limit, value in given.items() if value is not None}
    _leave(lambda: running.resume(run_id, options, raised))


@app.command()
def status(
    run_id: RunId = "",
    repo: Repo = Path(),
    state_dir: StateDir = None,
    all_runs: Annotated[bool, typer.Option("--all", help="List all runs of this repository.")] = False,
    revision: Annotated[Optional[int], typer.Option("--revision", help="Show one revision of the plan.", min=1)] = None,  # noqa: UP045
    as_json: Json = False,
) -> None:
    """Show the latest run: its steps, its checks, and how and why its plan changed."""
    from planexec.cli import inspecting

    _leave(lambda: inspecting.status(run_id, Where(repo, state_dir), all_runs, revision, as_json))


@app.command()
def show(
    run_id: RunId = "",
    name: Annotated[
        str,
        typer.Argument(metavar="[ID]", help="A step, observation, fact, check, plan-N, or an artifact's digest."),
    ] = "",
    repo: Repo = Path(),
    state_dir: StateDir = None,
    as_json: Json = False,
) -> None:
    """Show everything about one thing of a run; without an ID, what can be shown."""
    from planexec.cli import showing

    _leave(lambda: showing.show(run_id, name, Where(repo, state_dir), as_json))


@app.command()
def clean(
    runs: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Argument(metavar="[RUN...]", help="Forget these runs, interrupted ones too.", show_default=False),
    ] = None,
    ended: Annotated[bool, typer.Option("--runs", help="Forget all runs that have ended.")] = False,
    older_than: Annotated[
        float, typer.Option("--older-than", metavar="DAYS", min=0, help="Only what is older than so many days.")
    ] = 0.0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be freed, and free nothing.")] = False,
    repo: Repo = Path(),
    state_dir: StateDir = None,
    as_json: Json = False,
) -> None:
    """Free what runs left: copies (kept ones too), temporary folders, throwaway repositories, artifacts of no run."""
    from planexec.cli import cleaning

    request = cleaning.Request(tuple(runs or ()), ended, older_than, dry_run)
    _leave(lambda: cleaning.clean(request, Where(repo, state_dir), as_json))


@app.command()
def plan(
    contract: Annotated[Path, typer.Argument(help="The task contract, a YAML file.", show_default=False)],
    repo: Repo = Path(),
    planner: Planner = "auto",
    model: Model = "",
    base_url: BaseUrl = "",
    record: Record = None,
    replay: Replay = None,
    as_json: Json = False,
) -> None:
    """Propose a plan and check it against the rules; run nothing."""
    from planexec.cli import running

    models = ModelChoice(model, base_url, record=record, replay=replay)
    _leave(lambda: running.plan(contract, repo, planner, models, as_json))


@app.command()
def diff(run_id: RunId = "", repo: Repo = Path(), state_dir: StateDir = None) -> None:
    """Print the proven patch of a run."""
    from planexec.cli import inspecting

    _leave(lambda: inspecting.diff(run_id, Where(repo, state_dir)))


@app.command()
def apply(
    run_id: RunId = "",
    repo: Repo = Path(),
    reverse: Annotated[bool, typer.Option("--reverse", help="Take the patch back out of the working tree.")] = False,
    branch: Branch = None,
    state_dir: StateDir = None,
    as_json: Json = False,
) -> None:
    """Apply the proven patch of a run to the working tree, uncommitted; or to a new branch; or take it back."""
    from planexec.cli import inspecting

    _leave(lambda: inspecting.apply(run_id, Where(repo, state_dir), reverse, branch or "", as_json))


@app.command()
def validate(
    contract: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Argument(help="The task contract, a YAML file.", show_default=False),
    ] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of contracts, for editors.")] = False,
    as_json: Json = False,
) -> None:
    """Check a contract: its syntax, its types, and that every check is bound to a verifier."""
    from planexec.cli import inspecting

    _leave(lambda: inspecting.validate(contract, schema, as_json))


@app.command()
def doctor(
    repo: Repo = Path(),
    python: Python = None,
    sandbox: Sandbox = "auto",
    tests: Annotated[bool, typer.Option("--tests/--no-tests", help="Run the whole suite twice in the sandbox.")] = True,
    ask: Annotated[
        bool, typer.Option("--model", help="Ask the model's server what it can do: three questions.")
    ] = False,
    model: Annotated[
        str, typer.Option("--model-name", metavar="NAME", help="The model to ask; without it the configured one.")
    ] = "",
    base_url: BaseUrl = "",
    state_dir: StateDir = None,
    as_json: Json = False,
) -> None:
    """Say whether planexec can work on this repository: sandbox, git, interpreter, tests; and if not, why."""
    from planexec.cli import examining

    models = ModelChoice(model, base_url) if ask or model or base_url else None
    _leave(lambda: examining.doctor(Where(repo, state_dir), python, sandbox, tests, models, as_json))


@app.callback(invoke_without_command=True)
def _global(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    if version:
        from planexec import __version__

        typer.echo(f"planexec {__version__}")
        raise typer.Exit


def main() -> None:
    """The program."""
    _open_streams()
    interrupts.listen()
    try:
        app()
    except SystemExit:
        heard = interrupts.last()
        if heard is None or _told:
            raise
        sys.stderr.write("planexec: interrupted before anything began\n")  # within the imports: Typer says nothing
        raise SystemExit(heard.exit_code) from None


_told: list[bool] = []
"""Whether a command was entered, which says by itself what stopped it."""


def _open_streams() -> None:
    """Standard streams that take any text; a closed one is replaced, or the next file opened would get its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = getattr(sys, name)
        if stream is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))  # noqa: SIM115
        elif number and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a locale without the characters of a path is no fault


def _leave(command: Callable[[], int]) -> None:
    """Run a command and end with its exit code. Each foreseeable error is one line on standard error and a code of
    the table.
    """
    _told.append(True)
    try:
        code = command()
    except PlanexecError as error:
        complain(error)
        code = error.exit_code
    except KeyboardInterrupt as error:
        notes = getattr(error, "__notes__", [])
        sys.stderr.write(f"planexec: {notes[0] if notes else 'interrupted'}\n")
        code = error.exit_code if isinstance(error, interrupts.Interrupted) else 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141
    except OSError as error:  # the machine gave out where nobody foresaw it: a full disk, a folder taken away
        where = f"{error.filename!r}: " if error.filename is not None else ""
        complain(EnvironmentFailure(f"{where}{error.strerror or error}", "check space and permissions"))
        code = EnvironmentFailure.exit_code
    raise typer.Exit(code)


def complain(error: PlanexecError) -> None:
    """One line: what is wrong, where, and what to do."""
    from planexec.cli.text import clean

    sys.stderr.write(f"planexec: {clean(error.told)}\n")


if __name__ == "__main__":
    main()
