"""The project's pytest options: what would disturb a judged run is settled, what is missing is tolerated."""

from __future__ import annotations

from typing import Any, Dict, List, Sequence, Set

# Option destinations and the value that makes a run complete, in one process, in the written order.
SETTLED: Dict[str, Any] = {
    "maxfail": 0,
    "continue_on_collection_errors": True,
    "stepwise": False,
    "stepwise_skip": False,
    "lf": False,
    "failedfirst": False,
    "newfirst": False,
    "usepdb": False,
    "trace": False,
    "pastebin": None,
    "color": "no",
    "tbstyle": "auto",
    "fulltrace": False,
    "verbose": 2,  # whole comparisons in the assertion texts
    "collectonly": False,
    "setupplan": False,
    "setuponly": False,
    # pytest-xdist, pytest-forked, pytest-cov, pytest-randomly, pytest-random-order
    "numprocesses": 0,
    "dist": "no",
    "tx": [],
    "looponfail": False,
    "forked": False,
    "no_cov": True,
    "cov_source": [],
    "randomly_reorganize": False,
    "randomly_seed": 1,
    "random_order_bucket": None,
}

# Options of reporting plug-ins that change no outcome, with their number of values: a project that names
# them in its addopts can be tested where the plug-in is not installed or not loaded.
REPORTING: Dict[str, Dict[str, str]] = {
    "pytest_cov": {
        "--cov": "?",
        "--cov-report": "1",
        "--cov-config": "1",
        "--cov-fail-under": "1",
        "--cov-context": "1",
        "--cov-precision": "1",
        "--cov-append": "0",
        "--cov-branch": "0",
        "--cov-reset": "0",
        "--no-cov": "0",
        "--no-cov-on-fail": "0",
    },
    "xdist": {"-n": "1", "--numprocesses": "1", "--maxprocesses": "1", "--dist": "1", "--max-worker-restart": "1"},
    "pytest_timeout": {"--timeout": "1", "--timeout-method": "1", "--timeout_method": "1", "--session-timeout": "1"},
    "pytest_html": {"--html": "1", "--self-contained-html": "0", "--css": "1"},
    "pytest_randomly": {"--randomly-seed": "1", "--randomly-dont-reorganize": "0", "--randomly-dont-reset-seed": "0"},
    "pytest_rerunfailures": {"--reruns": "1", "--reruns-delay": "1"},
    "pytest_benchmark": {"--benchmark-disable": "0", "--benchmark-skip": "0", "--benchmark-only": "0"},
    "pytest_instafail": {"--instafail": "0"},
}


def settle(option: Any, collect_only: bool = False) -> None:
    """Set every option of ``SETTLED`` that this pytest knows."""
    for name, value in SETTLED.items():
        if hasattr(option, name):
            setattr(option, name, value)
    if collect_only and hasattr(option, "collectonly"):
        option.collectonly = True


def known_options(parser: Any) -> Set[str]:
    """Every option name that pytest, a loaded plug-in or a ``conftest.py`` has defined."""
    groups = [*parser._groups, parser._anonymous]
    return {name for group in groups for option in group.options for name in option.names()}


def missing(args: Sequence[str], known: Set[str]) -> Dict[str, str]:
    """Options in ``args`` of reporting plug-ins that are not loaded, with their number of values."""
    named = {_name(arg) for arg in args} - known
    options = {name: values for group in REPORTING.values() for name, values in group.items()}
    return {name: options[name] for name in sorted(named & set(options))}


def _name(arg: str) -> str:
    arg = str(arg)
    if arg.startswith("-n") and not arg.startswith("--"):
        return "-n"  # -n4, -nauto
    return arg.split("=", 1)[0]


def tolerate(parser: Any, args: Sequence[str]) -> List[str]:
    """Teach ``parser`` the options of ``missing(args)``; they are parsed and ignored. Returns their names."""
    found = missing(args, known_options(parser))
    for name, values in found.items():
        attributes: Dict[str, Any] = {"dest": "planexec_ignored_" + name.strip("-").replace("-", "_")}
        if values == "0":
            attributes["action"] = "store_true"
        else:
            attributes["action"] = "append"
            if values == "?":
                attributes.update(nargs="?", const="")
        # Not addoption: that refuses short names.
        parser.getgroup("planexec: ignored")._addoption(name, **attributes)
    return list(found)
