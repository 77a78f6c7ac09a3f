"""Programs that run in a process of their own, so that they may be killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import planexec

PROJECT = Path(planexec.__file__).parents[1]


def start(program: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a Python program that can import planexec."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, "PYTHONPATH": f"{PROJECT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(program: str, *arguments: str) -> tuple[int, str, str]:
    """Run it to its end: (exit code, output, errors)."""
    process = start(program, *arguments)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err
