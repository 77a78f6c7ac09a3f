from __future__ import annotations

import hashlib
import io
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planexec.core.errors import JournalError
from planexec.journal.artifacts import ArtifactStore

from .child import run


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore(tmp_path / "artifacts")


def names(store: ArtifactStore) -> list[str]:
    return sorted(path.name for path in store.folder.iterdir()) if store.folder.exists() else []


def test_what_is_put_is_got_and_lies_under_its_hash(store: ArtifactStore) -> None:
    digest = store.put(b"evidence")
    assert digest == hashlib.sha256(b"evidence").hexdigest()
    assert store.get(digest) == b"evidence"
    assert store.path(digest) == store.folder / digest
    assert names(store) == [digest]


def test_putting_twice_stores_once_and_does_not_write_again(store: ArtifactStore) -> None:
    digest = store.put(b"x")
    before = store.path(digest).stat()
    assert store.put(b"x") == digest
    assert store.put_stream(io.BytesIO(b"x")) == (digest, 1)
    assert store.path(digest).stat().st_ino == before.st_ino
    assert names(store) == [digest]


@given(st.binary(max_size=5000))
def test_any_bytes_survive(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    store = ArtifactStore(tmp_path_factory.getbasetemp() / "any")
    assert store.get(store.put(data)) == data
    assert store.put_stream(io.BytesIO(data)) == (store.put(data), len(data))


def test_several_at_once(store: ArtifactStore) -> None:
    known = store.put(b"known")
    digests = store.put_all(b"one", b"known", b"two", b"one")
    assert [store.get(digest) for digest in digests] == [b"one", b"known", b"two", b"one"]
    assert digests[1] == known and sorted(path.name for path in store.folder.iterdir()) == sorted(set(digests))
    with store.batch() as batch:
        three, four = batch.put_all(b"three", b"four")
        assert not store.has(three) and batch.has(four)
    assert store.get(three) == b"three"


def test_a_stream_is_read_from_its_start(store: ArtifactStore) -> None:
    stream = io.BytesIO(b"abc")
    stream.read()
    digest, size = store.put_stream(stream)
    assert (store.get(digest), size) == (b"abc", 3)


class Changing(io.BytesIO):
    """A file that somebody writes to between two readings."""

    seen = 0

    def seek(self, offset: int, whence: int = 0) -> int:
        Changing.seen += 1
        if Changing.seen == 2:
            self.getbuffer()[:] = b"new"
        return super().seek(offset, whence)


def test_a_stream_that_changes_is_named_by_what_was_stored(store: ArtifactStore) -> None:
    digest, _ = store.put_stream(Changing(b"old"))
    assert store.get(digest) == b"new"


def test_a_missing_artifact_is_one_line(store: ArtifactStore) -> None:
    with pytest.raises(JournalError, match="cannot be read") as caught:
        store.get("0" * 64)
    assert "\n" not in caught.value.message
    assert caught.value.hint
    assert not store.has("0" * 64)


def test_an_altered_artifact_is_noticed(store: ArtifactStore) -> None:
    digest = store.put(b"true")
    store.path(digest).chmod(0o600)
    store.path(digest).write_bytes(b"fake")
    with pytest.raises(JournalError, match="was altered"):
        store.get(digest)


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "ABC", "0" * 63, "0" * 65, "g" * 64])
def test_only_digests_are_names(store: ArtifactStore, name: str) -> None:
    with pytest.raises(JournalError, match="not the name of an artifact"):
        store.path(name)


@pytest.mark.parametrize("count", [1, 40])
def test_a_batch_appears_at_its_end(store: ArtifactStore, count: int) -> None:
    with store.batch() as batch:
        digests = [batch.put(b"%d" % number) for number in range(count)]
        assert batch.put(b"0") == digests[0]
        assert batch.get(digests[0]) == b"0"
        assert batch.has(digests[0])
        assert not store.has(digests[0])
    assert names(store) == sorted(digests)


def test_a_batch_that_fails_leaves_nothing(store: ArtifactStore) -> None:
    with pytest.raises(RuntimeError), store.batch() as batch:
        batch.put(b"a")
        raise RuntimeError
    assert names(store) == []


def test_an_empty_batch_writes_nothing(store: ArtifactStore) -> None:
    with store.batch():
        pass
    assert not store.folder.exists()


def test_a_stream_within_a_batch_that_is_known_there_is_not_stored_twice(store: ArtifactStore) -> None:
    Changing.seen = 0
    with store.batch() as batch:
        batch.put(b"new")
        digest, _ = batch.put_stream(Changing(b"old"))
    assert names(store) == [digest]


def test_many_threads_may_put_the_same(store: ArtifactStore) -> None:
    with ThreadPoolExecutor(8) as pool:
        digests = set(pool.map(store.put, [b"same"] * 40))
    assert names(store) == sorted(digests)


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match="cannot write artifacts") as caught:
        ArtifactStore(tmp_path / "file" / "artifacts").put(b"x")
    assert "--state-dir" in caught.value.hint


def test_a_write_that_fails_halfway_leaves_nothing(tmp_path: Path) -> None:
    code, out, _ = run(
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from planexec.journal.artifacts import ArtifactStore\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "store = ArtifactStore(Path(sys.argv[1]))\n"
        "try: store.put(b'x' * 5000)\n"
        "except Exception as error: print(type(error).__name__, error)\n"
        "print([p.name for p in store.folder.iterdir()])\n",
        str(tmp_path / "artifacts"),
    )
    assert code == 0
    assert out.splitlines()[0].startswith("JournalError cannot write artifacts")
    assert out.splitlines()[1] == "[]"


KILLED = """
import io, os, signal, sys
from pathlib import Path
from planexec.journal.artifacts import ArtifactStore
class Dying(io.BytesIO):
    rounds = 0
    def seek(self, *where):
        self.rounds += 1
        return super().seek(*where)
    def read(self, size=-1):
        if self.rounds == 2 and self.tell():
            os.kill(os.getpid(), signal.SIGKILL)
        return super().read(5)
store = ArtifactStore(Path(sys.argv[1]))
store.put(b"first")
with store.batch() as batch:
    batch.put(b"second")
    batch.put_stream(Dying(b"half of it"))
"""


def test_killed_while_writing_no_name_is_incomplete(tmp_path: Path) -> None:
    code, _, _ = run(KILLED, str(tmp_path / "artifacts"))
    store = ArtifactStore(tmp_path / "artifacts")
    assert code == -signal.SIGKILL
    assert len(names(store)) == 3  # two temporary files were left
    assert [name for name in names(store) if not name.endswith(".tmp")] == [store.put(b"first")]
    assert store.get(store.put(b"second")) == b"second"
