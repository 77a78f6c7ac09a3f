"""Which repository a command is about, and where its state lies: in its git folder, or where ``--state-dir`` says."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path

from planexec.core.errors import EnvironmentFailure, UsageError
from planexec.workspace.state import Place, locate, state_folder

OWNER = "repository"
"""The file of a chosen state folder that names the git folder to which its runs belong."""
_SHOWN = "journal.db"


@dataclass(frozen=True, slots=True)
class Where:
    """What ``--repo`` and ``--state-dir`` said."""

    repo: Path = Path()
    state_dir: Path | None = None

    def folder(self) -> Path:
        """The state folder, absolute; it need not exist yet.

        Raises UsageError where the chosen one would show in the work tree or belongs to another repository,
        EnvironmentFailure where there is no repository.
        """
        if self.state_dir is None:
            return state_folder(self.repo)
        place, folder = locate(self.repo), self.state_dir.expanduser().absolute().resolve()
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"--state-dir {folder} is not a folder", "name a folder, or one that is to be made")
        if _shows(place, folder):
            raise UsageError(
                f"--state-dir {folder} lies inside the work tree and is not ignored",
                "choose a folder outside of the repository, or ignore it",
            )
        _refuse_foreign(place, folder)
        return folder

    def claim(self) -> Path:
        """The state folder, made and marked as this repository's where it was chosen."""
        folder = self.folder()
        if self.state_dir is None:
            return folder
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            (folder / OWNER).write_bytes(os.fsencode(locate(self.repo).common_dir))
        except OSError as error:
            raise EnvironmentFailure(
                f"the state folder {folder} cannot be written to: {error.strerror}", "choose another --state-dir"
            ) from None
        return folder

    def command(self, *words: str) -> str:
        """A command of planexec about this repository, as one types it."""
        given = [] if self.repo == Path() else ["--repo", str(self.repo)]
        given += [] if self.state_dir is None else ["--state-dir", str(self.state_dir)]
        return shlex.join(["planexec", *words, *given])


def _shows(place: Place, folder: Path) -> bool:
    """Whether git would see the state as untracked files. Git is asked only where it could."""
    if folder == place.root:
        return True
    inside = folder.is_relative_to(place.root) and not folder.is_relative_to(place.root / ".git")
    if not inside:
        return False
    from planexec.workspace.repository import Repository  # noqa: PLC0415 - looking at a run imports no git

    probe = str((folder / _SHOWN).relative_to(place.root))
    return not Repository.open(place.root).excluded([probe])


def _refuse_foreign(place: Place, folder: Path) -> None:
    """One folder holds the runs of one repository, or ``apply`` would write to another one; a repository that is gone
    gives its folder up.
    """
    try:
        owner = Path(os.fsdecode((folder / OWNER).read_bytes()))
    except OSError:
        return
    if owner != place.common_dir and owner.exists():
        raise UsageError(
            f"--state-dir {folder} holds the runs of another repository, {owner}", "give each repository its own folder"
        )
