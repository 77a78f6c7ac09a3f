"""Limits on one process and its children, laid on the command and not on the mechanism around it."""

from __future__ import annotations

import resource

from planexec.sandbox.interface import Limits


def rlimits(limits: Limits) -> dict[int, int]:
    """Resource number to bytes. Never above the hard limit of this process, which could not be raised."""
    wanted = {resource.RLIMIT_CORE: 0}
    if limits.memory_bytes is not None:
        wanted[resource.RLIMIT_AS] = limits.memory_bytes
    if limits.file_bytes is not None:
        wanted[resource.RLIMIT_FSIZE] = limits.file_bytes
    return {number: _capped(value, resource.getrlimit(number)[1]) for number, value in wanted.items()}


def ulimit_launcher(limits: Limits) -> tuple[str, ...]:
    """The beginning of a command line that lays the limits and becomes the command behind it.

    The shell is the one launcher that is there in every root. POSIX ``ulimit -f`` counts 512 bytes; ``-v`` counts KiB
    in every shell that has it.
    """
    units = {
        resource.RLIMIT_CORE: ("-c", 512),
        resource.RLIMIT_AS: ("-v", 1024),
        resource.RLIMIT_FSIZE: ("-f", 512),
    }
    parts = []
    for number, value in rlimits(limits).items():
        flag, unit = units[number]
        parts.append(f"ulimit {flag} {value // unit}")
    return ("/bin/sh", "-c", " && ".join([*parts, 'exec "$@"']), "sh")


def _capped(value: int, hard: int) -> int:
    return value if hard == resource.RLIM_INFINITY else min(value, hard)
