"""Which files are the project's own, where packages come from, and our pytest as a last resort."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import pathlib
import sys
from importlib.machinery import ModuleSpec
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence

# Folders below the root that hold other people's code.
FOREIGN = frozenset(["site-packages", "dist-packages", ".venv", "venv", ".tox", ".nox", "node_modules", ".git"])


class Project:
    """The tree under test: ``root`` is where it really is, ``home`` the path of the user's repository.

    ``folder`` is the project root in it (``inner``, relative): the working folder and pytest's root.
    """

    def __init__(self, root: str, home: str = "", inner: str = "") -> None:
        self.root = os.path.abspath(root)
        self.folder = os.path.join(self.root, *inner.split("/")) if inner else self.root
        self.real = os.path.realpath(root)
        self.home = os.path.abspath(home) if home else self.root
        self._prefixes = tuple({os.path.realpath(sys.prefix) + os.sep, os.path.abspath(sys.prefix) + os.sep})
        self._known: Dict[str, Optional[str]] = {}

    def relative(self, path: str) -> Optional[str]:
        """The posix path of a project file below the root; None for a file of somebody else."""
        if path not in self._known:
            self._known[path] = self._relative(path)
        return self._known[path]

    def _relative(self, path: str) -> Optional[str]:
        if not path or path.startswith("<"):
            return None
        full = path if os.path.isabs(path) else os.path.join(self.root, path)
        for root in (self.root, self.real):
            if not full.startswith(root + os.sep):
                continue
            if any(full.startswith(prefix) for prefix in self._prefixes):
                return None
            inner = os.path.normpath(full[len(root) + 1 :])
            parts = inner.split(os.sep)
            return None if FOREIGN.intersection(parts) else "/".join(parts)
        return None

    def below_folder(self, path: str) -> str:
        """A project file's path as pytest writes it: relative to the project root. Other paths as they are."""
        inner = self.relative(path)
        if inner is None:
            return path
        return os.path.relpath(os.path.join(self.root, inner), self.folder).replace(os.sep, "/")

    def redirect(self) -> None:
        """Without a mount namespace: let entries that point into the user's repository point into the tree."""
        if self.home == self.root:
            return
        sys.path[:] = [self._moved(entry) for entry in sys.path]
        for name, module in list(sys.modules.items()):
            mapping = getattr(module, "MAPPING", None)
            if name.startswith("__editable__") and isinstance(mapping, dict):
                for package, place in mapping.items():
                    mapping[package] = self._moved(place)

    def _moved(self, entry: str) -> str:
        inside = entry == self.home or entry.startswith(self.home + os.sep)
        if not inside or any((entry + os.sep).startswith(prefix) for prefix in self._prefixes):
            return entry
        return self.root + entry[len(self.home) :]

    def strangers(self) -> List[str]:
        """Names of loaded modules that come from the user's repository instead of from the tree."""
        if self.home == self.root:
            return []
        found = []
        for name, module in list(sys.modules.items()):
            place = getattr(module, "__file__", None) or ""
            inside = place.startswith(self.home + os.sep) and not place.startswith(self.root + os.sep)
            parts = place.split(os.sep)
            if inside and not FOREIGN.intersection(parts) and not place.startswith(self._prefixes):
                found.append(name)
        return found

    def provides(self, name: str) -> bool:
        """Whether the tree holds a module or package of that top-level name, anywhere."""
        for folder, folders, files in os.walk(self.root):
            folders[:] = [each for each in folders if each not in FOREIGN and not each.startswith(".")]
            if name in folders or name + ".py" in files:
                return True
            if any(each.startswith(name + ".") and each.endswith(".so") for each in files):
                return True
            if folder.count(os.sep) - self.root.count(os.sep) > 6:
                folders[:] = []
        return False


class LastResort:
    """A finder at the very end of ``sys.meta_path``: gives the named packages where the target has none.

    ``places`` maps import names to a file or folder, and names of metadata folders (``x-1.0.dist-info``) to theirs.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = {name: place for name, place in places.items() if not name.endswith(".dist-info")}
        self._metadata = {name: place for name, place in places.items() if name.endswith(".dist-info")}

    def find_distributions(self, context: Any = None) -> Iterator[Any]:
        """The metadata of these packages: pytest and pluggy ask for their own versions."""
        wanted = getattr(context, "name", None)
        for name, place in self._metadata.items():
            own = name.split("-")[0].replace("_", "-").lower()
            if wanted is None or own == wanted.replace("_", "-").lower():
                yield importlib.metadata.PathDistribution(pathlib.Path(place))

    def find_spec(self, name: str, path: Optional[Sequence[str]] = None, target: Any = None) -> Optional[ModuleSpec]:
        """The spec of a package in our own set; None for every other name."""
        place = self._places.get(name) if path is None else None
        if place is None:
            return None
        if not os.path.isdir(place):
            return importlib.util.spec_from_file_location(name, place)
        return importlib.util.spec_from_file_location(
            name, os.path.join(place, "__init__.py"), submodule_search_locations=[place]
        )


def origin(value: Any) -> str:
    """The file that a function or class was written in; empty when that cannot be told."""
    value = getattr(value, "__func__", value)
    code = getattr(value, "__code__", None)
    if code is not None:
        return str(getattr(code, "co_filename", ""))
    if isinstance(value, type):
        module = sys.modules.get(value.__module__)
        return str(getattr(module, "__file__", "") or "")
    return ""
