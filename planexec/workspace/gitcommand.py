"""One door to git on the host: plumbing commands through GitPython, in an environment that is all our own.

A repository may be hostile: its configuration names programs that git would start (fsmonitor, hooks, filters,
textconv, signature programs, transports). Nothing of the caller's environment reaches git, system and global
configuration are off, and `GitDir` (see `gitdir.py`) keeps the repository's own configuration away as well.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planexec.core.errors import EnvironmentFailure

SECONDS = 300.0  # no single plumbing command on a sane repository takes that long

_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "nothing",  # older gits fetch missing objects all the same: let no transport start
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}
_OPTIONS = (
    ("core.hooksPath", os.devnull),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.attributesFile", os.devnull),
    ("safe.bareRepository", "explicit"),
    ("gc.auto", "0"),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What git printed and how it ended (negative: by a signal)."""

    exit_code: int
    stdout: bytes
    stderr: str


def git(
    arguments: Sequence[str],
    folder: Path,
    *,
    variables: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
    allowed: Sequence[int] = (0,),
) -> Answer:
    """Run ``git ARGUMENTS`` in ``folder``; an exit code that is not ``allowed`` is an EnvironmentFailure."""
    options = [part for key, value in _OPTIONS for part in ("-c", f"{key}={value}")]
    options += ["-c", f"safe.directory={folder}"]
    answer = _execute([program(), *options, *arguments], folder, {**_ENVIRONMENT, **(variables or {})}, stdin)
    if answer.exit_code not in allowed:
        raise EnvironmentFailure(
            f"git {arguments[0]} failed in {folder}: {_last_line(answer)}", "Check the repository with: git fsck."
        )
    return answer


def global_excludes() -> str | None:
    """The user's own ``core.excludesFile``: the one global setting that says which files are not untracked work."""
    return _global("--type=path", "--get", "core.excludesFile")


def user_setting(name: str) -> str | None:
    """A setting of the user's own configuration, the files that it includes among it."""
    return _global("--includes", "--get", name)


def _global(*arguments: str) -> str | None:
    answer = _execute([program(), "config", "--global", *arguments], Path("/"), {"LC_ALL": "C"}, None)
    value = answer.stdout.removesuffix(b"\n")
    return os.fsdecode(value) if answer.exit_code == 0 and value else None


def _execute(command: Sequence[str], folder: Path, variables: Mapping[str, str], stdin: bytes | None) -> Answer:
    """GitPython can add to the environment but not take away: ``env -i`` does, so no GIT_DIR of a hook leaks in."""
    from git.cmd import Git  # noqa: PLC0415 - importing GitPython starts git: only where git is really wanted

    home = {name: os.environ[name] for name in ("HOME", "XDG_CONFIG_HOME") if name in os.environ}
    scrubbed = {"PATH": _search_path(), **home, **variables}
    clean = [_tool("env"), "-i", *(f"{name}={value}" for name, value in scrubbed.items())]
    with tempfile.TemporaryFile() as stream:
        stream.write(stdin or b"")
        stream.seek(0)
        code, out, err = Git(str(folder)).execute(
            [*clean, *command],
            istream=stream,
            with_extended_output=True,
            with_exceptions=False,
            stdout_as_string=False,
            strip_newline_in_stdout=False,
            kill_after_timeout=SECONDS,
        )
    return Answer(code, out if isinstance(out, bytes) else out.encode("utf-8", "surrogateescape"), err)


def program() -> str:
    """The git that is used. Raises EnvironmentFailure when there is none."""
    return _tool("git")


def _tool(name: str) -> str:
    found = shutil.which(name, path=_search_path())
    if found is None:
        raise EnvironmentFailure(f"the program {name} was not found", f"Install {name} and put it on PATH.")
    return found


def _search_path() -> str:
    """PATH without relative entries: a repository must not bring its own git."""
    parts = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(part for part in parts if Path(part).is_absolute())


def _last_line(answer: Answer) -> str:
    lines = [line for line in answer.stderr.splitlines() if line.strip()]
    return lines[-1] if lines else f"exit code {answer.exit_code}"
