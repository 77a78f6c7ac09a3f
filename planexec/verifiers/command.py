"""``verify_command``: a program on a clean tree of the candidate ends with this exit code and prints this (R24)."""

from __future__ import annotations

import re
import shlex

from planexec.verifiers.interface import ERROR, FAILED, PASSED, Request, Verdict

SHOWN = 4000


def verify_command(request: Request) -> Verdict:
    """Run the contract's command in the sandbox; ``output`` is searched for as a regular expression."""
    arguments = request.check.arguments
    argv = shlex.split(arguments.command) if isinstance(arguments.command, str) else list(arguments.command)
    result = request.bench.command(request.candidate.changes, argv, request.bench.suite_seconds)
    printed = (result.stdout + result.stderr).decode("utf-8", "replace")
    detail = {
        "argv": argv,
        "exit_code": result.exit_code,
        "seconds": round(result.seconds, 3),
        "output": printed[-SHOWN:],
    }
    line = shlex.join(argv)
    if result.timed_out:
        return Verdict(ERROR, f"'{line}' took too long", detail, "TIMEOUT")
    if result.exit_code == 127 and arguments.exit_code != 127:
        return Verdict(ERROR, f"'{line}' cannot be started", detail, "NO_PROGRAM")
    if result.exit_code != arguments.exit_code:
        return Verdict(FAILED, f"'{line}' ended with {result.exit_code}, not {arguments.exit_code}", detail)
    if arguments.output and not re.search(arguments.output, printed):
        return Verdict(FAILED, f"'{line}' did not print '{arguments.output}'", detail)
    return Verdict(PASSED, f"'{line}' ended with {result.exit_code}", detail)
