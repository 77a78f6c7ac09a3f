"""Whose copy of the project the tests import: that of the tree, or one that is installed from elsewhere."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
from typing import Dict, Iterator, List, Optional

from .places import Project

# Top-level names that many trees hold and that are not what the project is about.
SCAFFOLDING = frozenset(
    ["tests", "test", "testing", "conftest", "setup", "docs", "doc", "noxfile", "examples", "tasks"]
)
_SUFFIXES = tuple(importlib.machinery.EXTENSION_SUFFIXES)


def source_folder(project: Project) -> Optional[str]:
    """The folder ``src`` of the project root, where that is a folder of packages and no package itself."""
    folder = os.path.join(project.folder, "src")
    is_package = os.path.exists(os.path.join(folder, "__init__.py"))
    return folder if os.path.isdir(folder) and not is_package else None


def prefer_tree(project: Project) -> None:
    """With ``src`` not on the path, and its packages not installed from this tree: put it there.

    A package whose installed copy holds compiled modules that the tree lacks is left as it is: see `foreign`.
    """
    folder = source_folder(project)
    if folder is None or folder in sys.path:
        return
    names = [name for name in top_level(folder) if not _from_tree(name, project)]
    if names and not any(_compiled_only_installed(name, folder) for name in names):
        sys.path.insert(1, folder)


def top_level(folder: str) -> Dict[str, str]:
    """The packages and modules directly in ``folder``: name to path. Folders without Python files are none."""
    found = {}
    for name in sorted(_listed(folder)):
        path = os.path.join(folder, name)
        stem = name[:-3] if name.endswith(".py") else name
        holds = name.endswith(".py") or (os.path.isdir(path) and any(_python_files(path)))
        if holds and stem.isidentifier() and stem not in SCAFFOLDING:
            found[stem] = path
    return found


def foreign(project: Project) -> List[str]:
    """Loaded packages that the tree holds but that came from elsewhere: one line each, with the place."""
    folders = [each for each in (project.folder, source_folder(project)) if each]
    found = []
    for name in sorted({name for folder in folders for name in _regular(folder)}):
        place = str(getattr(sys.modules.get(name), "__file__", None) or "")
        if place and project.relative(place) is None and not _standard(name, place):
            found.append("tests import %r from %s, not from the repository" % (name, place))
    return found


def _regular(folder: str) -> Iterator[str]:
    """The modules in ``folder`` and the packages with an ``__init__.py``."""
    for name in _listed(folder):
        stem = name[:-3] if name.endswith(".py") else name
        is_module = name.endswith(".py") or os.path.exists(os.path.join(folder, name, "__init__.py"))
        if is_module and stem not in SCAFFOLDING:
            yield stem


def _standard(name: str, place: str) -> bool:
    return name in getattr(sys, "stdlib_module_names", ()) or os.path.dirname(place) == os.path.dirname(os.__file__)


def _from_tree(name: str, project: Project) -> bool:
    """Whether importing ``name`` would take it, or a part of a namespace package, from the tree."""
    if name in sys.modules:
        return True  # too late; if it is another copy, that is told at the end
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return False
    if spec is None:
        return False
    places = [spec.origin or "", *(spec.submodule_search_locations or [])]
    return any(_inside(place, project) for place in places)


def _inside(place: str, project: Project) -> bool:
    return place.startswith((project.root + os.sep, project.real + os.sep)) and project.relative(place) is not None


def _compiled_only_installed(name: str, folder: str) -> bool:
    spec = importlib.util.find_spec(name) if name not in sys.modules else None
    for place in (spec.submodule_search_locations or []) if spec else []:
        own = {each for each in _below(os.path.join(folder, name)) if each.endswith(_SUFFIXES)}
        if any(each.endswith(_SUFFIXES) and each not in own for each in _below(place)):
            return True
    return False


def _below(folder: str) -> Iterator[str]:
    """The files below ``folder``, relative."""
    for place, _, files in os.walk(folder):
        for file in files:
            yield os.path.relpath(os.path.join(place, file), folder)


def _python_files(folder: str) -> Iterator[str]:
    return (each for each in _below(folder) if each.endswith((".py", *_SUFFIXES)))


def _listed(folder: str) -> List[str]:
    try:
        return [each for each in os.listdir(folder) if not each.startswith(".")]
    except OSError:
        return []
