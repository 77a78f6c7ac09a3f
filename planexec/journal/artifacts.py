"""The store of artifacts: bytes that are named by their own SHA-256, one file each.

A file appears under its name only when all of its bytes are on the disk (temporary file, fsync, rename,
fsync of the folder), so a name that exists is complete after any crash. Equal bytes are stored once.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import hashlib
import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from planexec.core.errors import JournalError

_DIGEST = re.compile(r"[0-9a-f]{64}")
_CHUNK = 1024 * 1024
_numbers = itertools.count()


def digest_of(data: bytes) -> str:
    """The name of ``data`` in a store: its SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()


class ArtifactStore:
    """Files ``folder/<sha256>``. Safe for several processes and threads (a ``batch`` belongs to one thread)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._batch: dict[str, Path] | None = None  # digest -> temporary file, in the store that is a batch
        self._stored: frozenset[str] = frozenset()  # what was there when the batch began; a live run loses nothing

    def path(self, digest: str) -> Path:
        """Where the artifact ``digest`` (64 hex digits) lies or would lie."""
        if not _DIGEST.fullmatch(digest):
            raise JournalError(f"{digest[:80]!r} is not the name of an artifact", "Names are 64 hex digits.")
        return self.folder / digest

    def has(self, digest: str) -> bool:
        """Whether the artifact is stored."""
        if self._batch is not None and (digest in self._batch or digest in self._stored):
            return True
        return self.path(digest).is_file()

    def put(self, data: bytes) -> str:
        """Store ``data`` and return its SHA-256 in hex. Idempotent."""
        digest = digest_of(data)
        if not self.has(digest):
            self._store(digest, iter((data,)))
        return digest

    def put_all(self, *data: bytes) -> list[str]:
        """Store several at once, with one wait for the disk; returns their digests."""
        digests = [digest_of(each) for each in data]
        waiting: dict[str, Path] = {}
        for digest, each in zip(digests, data, strict=True):
            if not self.has(digest) and digest not in waiting:
                with self._temporary() as (temporary, target):
                    target.write(each)
                waiting[digest] = temporary
        if self._batch is not None:
            self._batch.update(waiting)
        else:
            self._publish(waiting)
        return digests

    def put_stream(self, stream: BinaryIO) -> tuple[str, int]:
        """Store what a seekable ``stream`` holds from its start; returns (digest, size in bytes).

        The bytes are read twice, so that a known file costs no write. If they change in between, what was
        written is what is named.
        """
        stream.seek(0)
        digest, size = _hash(stream)
        if self.has(digest):
            return digest, size
        stream.seek(0)
        with self._temporary() as (temporary, target):
            seen, size = _hash(stream, target)
        self._keep(seen, temporary)
        return seen, size

    def get(self, digest: str) -> bytes:
        """The bytes named ``digest``. Raises JournalError when they are missing or were altered."""
        waiting = self._batch.get(digest) if self._batch is not None else None
        path = waiting or self.path(digest)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise JournalError(
                f"artifact {digest[:12]} cannot be read from {self.folder}: {error.strerror}",
                "It was deleted, perhaps by `planexec clean`; the run that needs it cannot go on.",
            ) from error
        if digest_of(data) != digest:
            raise JournalError(f"artifact {digest[:12]} in {self.folder} was altered", "Do not trust this run.")
        return data

    @contextlib.contextmanager
    def batch(self) -> Iterator[ArtifactStore]:
        """Yields a store whose artifacts do not wait for the disk; leaving makes all of them durable at once.

        For the many files of a tree: one flush of the file system instead of one for each file. An error
        inside stores nothing.
        """
        batch = ArtifactStore(self.folder)
        waiting: dict[str, Path] = {}
        batch._batch = waiting
        with contextlib.suppress(FileNotFoundError), os.scandir(self.folder) as found:
            batch._stored = frozenset(item.name for item in found)
        try:
            yield batch
            self._publish(waiting)
        finally:
            for temporary in waiting.values():
                temporary.unlink(missing_ok=True)
            batch._batch = None

    def _store(self, digest: str, chunks: Iterator[bytes]) -> None:
        with self._temporary() as (temporary, target):
            for chunk in chunks:
                target.write(chunk)
        self._keep(digest, temporary)

    def _keep(self, digest: str, temporary: Path) -> None:
        if self._batch is None:
            self._publish({digest: temporary})
        elif digest in self._batch:
            temporary.unlink()
        else:
            self._batch[digest] = temporary

    def _publish(self, waiting: dict[str, Path]) -> None:
        if not waiting:
            return
        with _explained(self.folder):
            _flush(self.folder, list(waiting.values()))
            for digest, temporary in waiting.items():
                temporary.replace(self.path(digest))
            sync_folder(self.folder)

    @contextlib.contextmanager
    def _temporary(self) -> Iterator[tuple[Path, BinaryIO]]:
        with _explained(self.folder):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = self.folder / f".{os.getpid()}-{next(_numbers)}-{os.urandom(4).hex()}.tmp"
            try:
                with path.open("xb") as target:
                    yield path, target
                path.chmod(0o400)
            except BaseException:
                path.unlink(missing_ok=True)
                raise


def sync_folder(folder: Path) -> None:
    """Make the names in ``folder`` durable (a rename is only on the disk after this)."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _hash(stream: BinaryIO, copy: BinaryIO | None = None) -> tuple[str, int]:
    hasher, size = hashlib.sha256(), 0
    while chunk := stream.read(_CHUNK):
        hasher.update(chunk)
        size += len(chunk)
        if copy is not None:
            copy.write(chunk)
    return hasher.hexdigest(), size


def _flush(folder: Path, files: list[Path]) -> None:
    """Bring ``files`` (all in ``folder``) to the disk; many of them by one syncfs(2), where there is one."""
    syncfs = getattr(ctypes.CDLL(None), "syncfs", None) if len(files) > 16 else None
    if syncfs is not None:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            if syncfs(descriptor) == 0:
                return
        finally:
            os.close(descriptor)
    for path in files:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def _explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise JournalError(
            f"cannot write artifacts to {folder}: {error.strerror}",
            "Free some space: `planexec clean` removes old runs." if full else "Choose another --state-dir.",
        ) from error
