"""Entry of the target side: a script that reads its request from standard input.

It is loaded before anything of the project: the folder of the script is taken off ``sys.path``, the modules beside it
are imported under the private package name, and only then is the request looked at.
"""

from __future__ import annotations

import importlib.util
import os
import sys

PACKAGE = "_planexec_target"


def load_package(folder: str) -> None:
    """Make the modules of ``folder`` importable as ``_planexec_target.*``."""
    spec = importlib.util.spec_from_file_location(
        PACKAGE, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    if spec is None or spec.loader is None:  # cannot happen for an existing file
        raise SystemExit("planexec: the target side is incomplete")
    module = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = module
    spec.loader.exec_module(module)


def main() -> None:
    """Take our folder off the path, then serve the one request or, for ``warm`` and ``held``, many."""
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if entry and os.path.abspath(entry) != folder]
    load_package(folder)
    if "warm" in sys.argv[1:]:
        warm = importlib.import_module(PACKAGE + ".warm")
        warm.main(preload="--cold" not in sys.argv[1:])
    elif "held" in sys.argv[1:]:
        held = importlib.import_module(PACKAGE + ".held")
        held.main()
    else:
        session = importlib.import_module(PACKAGE + ".session")
        session.main()


if __name__ == "__main__":
    main()
