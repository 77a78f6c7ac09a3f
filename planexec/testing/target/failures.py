"""What a failure says: the exception's name, pytest's text for it, and the project's frames."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

DETAIL_CHARACTERS = 12000
MESSAGE_CHARACTERS = 1000
CAPTURED_CHARACTERS = 3000


def shortened(text: str, most: int) -> str:
    """``text`` with its middle left out when it has more than ``most`` characters."""
    if len(text) <= most:
        return text
    half = most // 2
    return text[:half] + "\n[... %d characters left out ...]\n" % (len(text) - 2 * half) + text[-half:]


def exception_name(kind: type) -> str:
    """``AssertionError`` for a builtin, ``package.module.Name`` for any other."""
    return kind.__name__ if kind.__module__ == "builtins" else kind.__module__ + "." + kind.__qualname__


def message_of(report: Any) -> str:
    """The first lines of what went wrong: the crash message, a skip's reason, or the last line of the text."""
    longrepr = report.longrepr
    if isinstance(longrepr, tuple) and len(longrepr) == 3:
        return str(longrepr[2])[:MESSAGE_CHARACTERS]
    crash = getattr(longrepr, "reprcrash", None)
    text = str(crash.message) if crash is not None else ""
    if not text and longrepr is not None:
        lines = str(longrepr).strip().splitlines()
        text = lines[-1] if lines else ""
    return text[:MESSAGE_CHARACTERS]


def detail_of(report: Any) -> str:
    """What the test printed, then pytest's whole text for its failure, each bounded; empty for anything else."""
    if report.outcome != "failed" or report.longrepr is None:
        return ""
    captured = [
        "%s:\n%s" % (title, shortened(text.rstrip("\n"), CAPTURED_CHARACTERS))
        for title, text in getattr(report, "sections", ())
        if text.strip()
    ]
    return "\n".join([*captured, shortened(str(report.longrepr), DETAIL_CHARACTERS)])


def frames_of(excinfo: Any, project: Any) -> List[Dict[str, Any]]:
    """The project's frames of a traceback, outermost first, lines counting from 1."""
    error = excinfo.value
    found: List[Dict[str, Any]] = []
    while error is not None and not found:  # a failed import is wrapped by an error of pytest's
        for path, line, function in _walk(error.__traceback__):
            inner = project.relative(path)
            if inner is not None:
                found.append({"path": inner, "line": line, "function": function})
        error = error.__cause__
    return found[-60:]


def _walk(trace: Any) -> List[Tuple[str, int, str]]:
    found: List[Tuple[str, int, str]] = []
    while trace is not None and len(found) < 3000:
        code = trace.tb_frame.f_code
        found.append((code.co_filename, trace.tb_lineno, code.co_name))
        trace = trace.tb_next
    return found


def missing_module(error: Any) -> str:
    """The top-level name of the module whose absence caused ``error``; empty when it has another cause."""
    seen = 0
    while error is not None and seen < 20:
        if isinstance(error, ModuleNotFoundError) and error.name:
            return str(error.name).split(".")[0]
        error, seen = error.__cause__ or error.__context__, seen + 1
    return ""
