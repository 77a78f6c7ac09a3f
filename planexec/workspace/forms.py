"""In which forms a repository comes that matter to those who copy it, told in git's words."""

from __future__ import annotations

from planexec.workspace.repository import Repository

_UNDER_WAY = {
    "MERGE_HEAD": "a merge in progress",
    "rebase-merge": "a rebase in progress",
    "rebase-apply": "a rebase in progress",
    "CHERRY_PICK_HEAD": "a cherry-pick in progress",
    "REVERT_HEAD": "a revert in progress",
    "BISECT_LOG": "a bisect in progress",
}


def forms(repository: Repository) -> list[str]:
    """What is special about ``repository``; empty for an ordinary clone on a branch."""
    git_dir, common, settings = repository.git_dir, repository.common_dir, repository.settings
    found = []
    if git_dir != common:
        found.append("linked work tree")
    if (repository.root / ".git").is_file() and git_dir == common:
        found.append("git folder elsewhere, as submodules have")
    if (common / "shallow").is_file():
        found.append("shallow clone")
    if settings.get("core.sparsecheckout", "").lower() == "true":
        found.append("sparse checkout")
    if repository.object_format != "sha1":
        found.append(f"{repository.object_format} object names")
    if any(git_dir.glob("sharedindex.*")):
        found.append("split index")
    if (repository.root / ".gitmodules").is_file():
        found.append("submodules")
    if (repository.objects / "info" / "alternates").is_file():
        found.append("borrowed objects")
    if not _text(repository).startswith("ref:"):
        found.append("detached head")
    return found + sorted({text for name, text in _UNDER_WAY.items() if (git_dir / name).exists()})


def _text(repository: Repository) -> str:
    try:
        return (repository.git_dir / "HEAD").read_text("utf-8", "replace")
    except OSError:
        return "ref:"
