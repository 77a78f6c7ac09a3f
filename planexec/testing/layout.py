"""How a test process is set up inside the sandbox: mounts in order, environment, private folders, the command."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from planexec.sandbox.interface import Command, FileTree, Layered, Limits, Mount, Sandbox
from planexec.testing.interpreter import Interpreter
from planexec.workspace.leftovers import TESTS, in_use

TARGET = Path(__file__).resolve().parent / "target"
# Where our own things are seen inside.
INSIDE = Path("/planexec")
INSIDE_TARGET = INSIDE / "target"
INSIDE_CHANNEL = INSIDE / "channel"
INSIDE_PRIVATE = INSIDE / "private"
INSIDE_BACKUP = INSIDE / "backup"
INSIDE_TOUCHED = INSIDE / "touched"


@dataclass(frozen=True)
class Layout:
    """Everything about a test process that does not change from run to run.

    ``project`` is the project root relative to ``root``, posix: where tests run. Commands run at ``root``. ``patterns``
    are globs of test files besides those that the project's configuration has.
    """

    sandbox: Sandbox
    interpreter: Interpreter
    root: Path
    mounts: Sequence[Mount] = ()
    limits: Limits = field(default_factory=Limits)
    env: Mapping[str, str] = field(default_factory=dict)
    project: str = ""
    patterns: Sequence[str] = ()

    def layers(self, folder: Path) -> bool:
        """Whether trees in ``folder`` may be layered ones, of which one command cannot have two mounts."""
        return self.sandbox.layers(folder) and self.root == self.root.resolve()

    def mounts_for(self, tree: FileTree, private: Path, *more: Mount) -> list[Mount]:
        """Interpreter, then the tree at the repository's path, then what lies below that path, then our own."""
        given = [*self.interpreter.mounts(), *self.mounts]
        roots = list(dict.fromkeys([self.root, self.root.resolve()])) if self.sandbox.remaps else [self.root]
        outside = [each for each in given if not any(each.target.is_relative_to(root) for root in roots)]
        covered = {each.target for each in self.mounts}
        inside = [each for each in self.interpreter.mounts() if self._belongs_below(each, covered)]
        if isinstance(tree, Layered):
            trees = [tree.mount(self.root, writable=True)]
        else:
            trees = [Mount(tree, root, writable=True) for root in roots]
        below = [each for each in self.mounts if each not in outside]
        ours = [
            Mount(TARGET, INSIDE_TARGET),
            Mount(private / "channel", INSIDE_CHANNEL, writable=True),
            Mount(private / "inner", INSIDE_PRIVATE, writable=True),
        ]
        return [*outside, *trees, *inside, *below, *ours, *more]

    def _belongs_below(self, mount: Mount, covered: set[Path]) -> bool:
        """Whether it is an environment of the interpreter in the repository; editable sources there are the tree."""
        if not mount.target.is_relative_to(self.root) or mount.target in covered:
            return False
        prefixes = (self.interpreter.prefix, self.interpreter.base_prefix)
        return any(mount.target.is_relative_to(prefix) for prefix in prefixes)

    def command(
        self, mounts: Sequence[Mount], *, words: Sequence[str] = (), stdin: bytes = b"", seconds: float
    ) -> Command:
        """The command that starts the target side, in the project root."""
        start = self.sandbox.locate(INSIDE_TARGET / "start.py", mounts)
        executable = self.sandbox.locate(self.interpreter.executable, mounts)
        limits = Limits(
            seconds=seconds,
            memory_bytes=self.limits.memory_bytes,
            file_bytes=self.limits.file_bytes,
            output_bytes=self.limits.output_bytes,
        )
        return Command(
            argv=[str(executable), "-B", str(start), *words],
            cwd=self.sandbox.locate(self.root, mounts) / self.project,
            mounts=mounts,
            env=self.environment(mounts),
            limits=limits,
            stdin=stdin,
        )

    def environment(self, mounts: Sequence[Mount]) -> dict[str, str]:
        """The whole environment of the tests: deterministic, without anything of the user's but the time zone."""
        folders = [str(self.interpreter.executable.parent), "/usr/local/bin", "/usr/bin", "/bin"]
        env = {
            "PATH": os.pathsep.join(dict.fromkeys(folders)),
            "LANG": "C.UTF-8",
            "HOME": "/tmp/home",
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        if not self.sandbox.remaps:
            private = self.sandbox.locate(INSIDE_PRIVATE, mounts)
            env.update(HOME=str(private / "home"), TMPDIR=str(private / "tmp"))
        if self.interpreter.is_virtual:
            env["VIRTUAL_ENV"] = str(self.interpreter.prefix)
        if self.interpreter.user_base is not None:
            env["PYTHONUSERBASE"] = str(self.interpreter.user_base)
        if "TZ" in os.environ:
            env["TZ"] = os.environ["TZ"]
        env.update(self.env)
        return env

    def own_pytest(self, mounts: Sequence[Mount]) -> dict[str, str]:
        """Where the packages of our own pytest are seen, for a target that has none."""
        return {name: str(self.sandbox.locate(path, mounts)) for name, path in self.interpreter.own_pytest().items()}


def skipped(layout: Layout) -> list[str]:
    """Places in the tree that something else is mounted over."""
    root = layout.root
    mounts = [*layout.mounts, *layout.interpreter.mounts()]
    below = [each.target for each in mounts if each.target != root and each.target.is_relative_to(root)]
    return sorted({each.relative_to(root).as_posix() for each in below})


@contextmanager
def private_folder() -> Iterator[Path]:
    """A fresh folder of the host with ``channel`` and ``inner``; removed at the end, whatever was put in it."""
    folder = Path(tempfile.mkdtemp(prefix=TESTS))
    try:
        for name in ("channel", "inner/home", "inner/tmp", "inner/cache", "inner/bytecode"):
            (folder / name).mkdir(parents=True)
        with in_use(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
