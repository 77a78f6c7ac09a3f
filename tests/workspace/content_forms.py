"""Repositories whose files are other in the tree than in git: line endings, filters, encodings, modes, links."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from .building import git, write
from .form_basis import Form, configured, plain

POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12345\n"


def lfs_pointers(folder: Path) -> Path:
    """Files of LFS as they are without it: pointers."""
    root = plain(folder)
    write(root, {".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", "x.bin": POINTER})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "pointers")
    return root


def lfs_content(folder: Path) -> Path:
    """A file of LFS with its content in the tree, and times that say nothing."""
    root = lfs_pointers(folder)
    content = "large" * 9
    pointer = POINTER.replace("0" * 64, hashlib.sha256(content.encode()).hexdigest()).replace("12345", "45")
    write(root, {"x.bin": pointer})
    git(root, "commit", "-qam", "content")
    git(root, "config", "filter.lfs.smudge", f"cat >/dev/null; printf %s {content}")
    git(root, "config", "filter.lfs.clean", f"cat >/dev/null; printf %s '{pointer}'")
    (root / "x.bin").unlink()
    git(root, "checkout", "-q", "--", "x.bin")
    os.utime(root / "x.bin", (1, 1))
    return root


def filtered(folder: Path) -> Path:
    """A filter that is configured: bytes in git are not the bytes in the tree."""
    root = plain(folder)
    for side in ("clean", "smudge"):
        git(root, "config", f"filter.up.{side}", "tr a-zA-Z A-Za-z")
    write(root, {".gitattributes": "*.up filter=up\n", "x.up": "Text\n"})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "filtered")
    return root


def crlf(setting: str) -> Form:
    """``core.autocrlf`` with files that have carriage returns in the tree, and one that mixes."""

    def build(folder: Path) -> Path:
        root = plain(folder)
        git(root, "config", "core.autocrlf", setting)
        write(root, {"a.py": "one = 1\r\ntwo = 2\r\n", "lf.py": "x\n", "mixed.py": b"x\r\ny\n"})
        git(root, "add", "-A")
        git(root, "commit", "-qm", "carriage returns")
        return root

    return build


def eol_attribute(folder: Path) -> Path:
    """``eol=crlf`` by an attribute."""
    root = plain(folder)
    write(root, {".gitattributes": "* text eol=crlf\n"})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "attributes")
    git(root, "rm", "-rq", "--cached", ".")
    git(root, "reset", "-q", "--hard")
    return root


def working_tree_encoding(folder: Path) -> Path:
    """A file that is UTF-16 in the tree and UTF-8 in git."""
    root = plain(folder)
    write(root, {".gitattributes": "*.txt working-tree-encoding=UTF-16\n", "x.txt": "text\n".encode("utf-16")})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "encoded")
    return root


def ident_attribute(folder: Path) -> Path:
    """``$Id$`` that git expands in the tree."""
    root = plain(folder)
    write(root, {".gitattributes": "*.py ident\n", "id.py": "# $Id$\n"})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "ident")
    (root / "id.py").unlink()
    git(root, "checkout", "-q", "--", "id.py")
    return root


def without_modes(folder: Path) -> Path:
    """``core.fileMode=false``, and modes that differ from those in git."""
    root = configured("core.fileMode=false")(folder)
    (root / "a.py").chmod(0o755)
    return root


def without_symlinks(folder: Path) -> Path:
    """``core.symlinks=false``: links are small files."""
    root = plain(folder)
    (root / "link").symlink_to("a.py")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "link")
    git(root, "config", "core.symlinks", "false")
    (root / "link").unlink()
    git(root, "checkout", "-q", "--", "link")
    return root
