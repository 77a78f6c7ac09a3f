"""What an interpreter is, found without running anything of the repository.

The interpreter is started with ``-I -S``: no site module, so no ``.pth`` file and no ``sitecustomize`` runs on the
host. A virtual environment is read from its ``pyvenv.cfg`` and its folders; only the interpreter that it was made from
is started.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from planexec.core.errors import EnvironmentFailure

SECONDS = 30.0

# Runs under any Python from 3.8: prints facts as one line of JSON. The imports map the shared libraries.
SCRIPT = """
import json, os, site, sys, sysconfig
for name in ("ssl", "sqlite3", "ctypes", "zlib", "lzma", "bz2", "readline", "curses"):
    try:
        __import__(name)
    except ImportError:
        pass
libraries = set()
try:
    with open("/proc/self/maps") as stream:
        for line in stream:
            path = line.rstrip().split(None, 5)[-1]
            if path.startswith("/") and ".so" in path:
                libraries.add(path)
except OSError:
    pass
prefix = sys.argv[1] or sys.base_prefix
base = site.getsitepackages([sys.base_prefix])
print(json.dumps({
    "executable": sys.executable, "version": list(sys.version_info[:3]), "prefix": sys.base_prefix,
    "path": [entry for entry in sys.path if entry], "libraries": sorted(libraries),
    "base_site": base, "site": site.getsitepackages([prefix]), "user_site": site.getusersitepackages(),
    "user_base": site.getuserbase(),
}))
"""


@dataclass(frozen=True)
class Facts:
    """What the started interpreter said about itself. ``site`` are the package folders of the asked prefix."""

    executable: Path
    version: tuple[int, int, int]
    prefix: Path
    path: tuple[Path, ...]
    libraries: tuple[Path, ...]
    site: tuple[Path, ...]
    base_site: tuple[Path, ...]
    user_site: Path
    user_base: Path


def ask(executable: Path, *, prefix: Path | None = None, cwd: Path, env: Mapping[str, str]) -> Facts:
    """Start ``executable`` isolated. Raises EnvironmentFailure when it does not answer as a Python 3 does."""
    command = [str(executable), "-I", "-S", "-c", SCRIPT, str(prefix or "")]
    try:
        done = subprocess.run(
            command, cwd=cwd, env=dict(env), stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=True
        )
        found = json.loads(done.stdout.decode("utf-8", "surrogateescape").strip().splitlines()[-1])
        return Facts(
            executable=Path(found["executable"]),
            version=(found["version"][0], found["version"][1], found["version"][2]),
            prefix=Path(found["prefix"]),
            path=_paths(found["path"]),
            libraries=_paths(found["libraries"]),
            site=_paths(found["site"]),
            base_site=_paths(found["base_site"]),
            user_site=Path(found["user_site"]),
            user_base=Path(found["user_base"]),
        )
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, IndexError, TypeError) as error:
        reason = _reason(error)
        hint = "name a working Python 3.8 or newer with --python"
        raise EnvironmentFailure(f"{executable} cannot be used as an interpreter: {reason}", hint) from error


def _paths(texts: Iterable[str]) -> tuple[Path, ...]:
    return tuple(Path(text) for text in texts)


def _reason(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        lines = (error.stderr or b"").decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else f"it exits with {error.returncode}"
    if isinstance(error, subprocess.TimeoutExpired):
        return f"it does not answer within {SECONDS:.0f} s"
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return "it does not answer as a Python interpreter does"


@dataclass(frozen=True)
class VirtualEnvironment:
    """A virtual environment as its files describe it. ``base`` is the interpreter that it was made from."""

    prefix: Path
    executable: Path
    base: Path
    system_site: bool


def virtual_environment(folder: Path) -> VirtualEnvironment | None:
    """The environment in ``folder``; None when there is none."""
    executable = next(
        (folder / "bin" / name for name in ("python", "python3") if (folder / "bin" / name).exists()), None
    )
    try:
        text = (folder / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    if executable is None:
        return None
    pairs = (line.partition("=") for line in text.splitlines())
    settings = {key.strip().lower(): value.strip() for key, _, value in pairs}
    base = _base_interpreter(Path(settings.get("home", "")), settings, executable)
    system = settings.get("include-system-site-packages", "").lower() == "true"
    return VirtualEnvironment(folder, executable, base, system)


def _base_interpreter(home: Path, settings: Mapping[str, str], executable: Path) -> Path:
    numbers = re.match(r"(\d+)\.(\d+)", settings.get("version", settings.get("version_info", "")))
    names = [f"python{numbers[1]}.{numbers[2]}"] if numbers else []
    for name in (*names, "python3", "python"):
        if home.is_absolute() and (home / name).exists():
            return home / name
    return executable.resolve()


def added_paths(site: Path) -> list[Path]:
    """Folders and files that the ``.pth`` files of a package folder add: path lines, egg links, editable finders.

    Read, never run: of a finder module the absolute path constants are taken.
    """
    found: list[Path] = []
    for file in sorted([*site.glob("*.pth"), *site.glob("*.egg-link")]):
        for line in _lines(file):
            if line.startswith(("import ", "import\t")):
                found.extend(path for name in _imported(line) for path in _constants(site / f"{name}.py"))
            elif line and not line.startswith("#") and line != ".":
                path = site / line  # an absolute line replaces the folder
                if path.exists():
                    found.append(path)
    return list(dict.fromkeys(found))


def _lines(file: Path) -> list[str]:
    try:
        return [line.strip() for line in file.read_text(encoding="utf-8", errors="surrogateescape").splitlines()]
    except OSError:
        return []


def _imported(line: str) -> list[str]:
    return re.findall(r"[A-Za-z_]\w*", line.partition(";")[0].removeprefix("import"))


def _constants(module: Path) -> Iterator[Path]:
    try:
        tree = ast.parse(module.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("/"):
            path = Path(node.value)
            if len(path.parts) > 1 and path.exists():
                yield path


def distribution_version(name: str, folders: Iterable[Path]) -> str | None:
    """The version of an installed distribution, from the names of the metadata folders; None when it is absent."""
    pattern = re.compile(rf"{re.escape(name)}-([^-]+)\.(dist-info|egg-info)$", re.IGNORECASE)
    for folder in folders:
        if not folder.is_dir():
            continue
        for entry in sorted(folder.iterdir()):
            match = pattern.match(entry.name)
            if match:
                return match[1]
    return None
