from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planexec.core.errors import ConflictError, EnvironmentFailure, JournalError, SafetyViolation
from planexec.journal.artifacts import ArtifactStore
from planexec.workspace import apply
from planexec.workspace.entries import EXECUTABLE, LINK, REGULAR, Change, Entry
from planexec.workspace.manifest import changes, restore, scan

from .building import contents, entry_of, fingerprint, write

BEFORE: dict[str, str | bytes] = {"edit": "old\n", "gone/deep": "g", "swap/in": "s", "flat": "f", "keep": "k", "z": "z"}
AFTER: dict[str, str | bytes] = {"edit": "new\n", "swap": "s", "flat/in": "f", "keep": "k", "new/deep/x": "n", "z": "Z"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "r", BEFORE)
    return tmp_path / "r"


@pytest.fixture
def wanted(tmp_path: Path, root: Path, store: ArtifactStore) -> list[Change]:
    write(tmp_path / "after", AFTER)
    return changes(scan(root, store), scan(tmp_path / "after", store))


def as_bytes(files: dict[str, str | bytes]) -> dict[str, bytes]:
    return {name: text.encode() if isinstance(text, str) else text for name, text in files.items()}


def test_performing_and_taking_back(root: Path, wanted: list[Change], store: ArtifactStore) -> None:
    apply.check(root, wanted)
    apply.perform(root, wanted, store)
    assert contents(root) == as_bytes(AFTER)
    assert not (root / "gone").exists()
    with pytest.raises(ConflictError):
        apply.check(root, wanted)
    apply.perform(root, wanted, store)  # a repetition changes nothing
    back = apply.reverse(wanted)
    apply.check(root, back)
    apply.perform(root, back, store)
    assert contents(root) == as_bytes(BEFORE)
    assert sorted(path.name for path in root.iterdir()) == ["edit", "flat", "gone", "keep", "swap", "z"]


def test_files_that_are_not_part_of_it_are_not_touched(root: Path, wanted: list[Change], store: ArtifactStore) -> None:
    before = fingerprint(root)[str(root / "keep")]
    apply.perform(root, wanted, store)
    assert fingerprint(root)[str(root / "keep")] == before


def test_permissions_are_kept(root: Path, store: ArtifactStore) -> None:
    (root / "edit").chmod(0o640)
    (root / "z").chmod(0o600)
    store.put(b"x")
    old = os.umask(0o027)
    try:
        apply.perform(
            root,
            [
                Change("edit", entry_of(b"old\n"), entry_of(b"x")),
                Change("z", entry_of(b"z"), entry_of(b"x", EXECUTABLE)),
                Change("born", None, entry_of(b"x")),
                Change("tool", None, entry_of(b"x", EXECUTABLE)),
            ],
            store,
        )
        modes = {name: (root / name).stat().st_mode & 0o777 for name in ("edit", "z", "born", "tool")}
        assert modes == {"edit": 0o640, "z": 0o700, "born": 0o640, "tool": 0o750}
        apply.perform(root, [Change("tool", entry_of(b"x", EXECUTABLE), entry_of(b"x"))], store)
        assert (root / "tool").stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(old)


def test_the_owner_is_kept(root: Path, store: ArtifactStore) -> None:
    """Root may work in another user's checkout; for others this is what happens anyway."""
    uid = 12345 if os.getuid() == 0 else os.getuid()
    os.chown(root / "edit", uid, -1)
    os.chown(root, uid, -1)
    store.put(b"x")
    apply.perform(
        root, [Change("edit", entry_of(b"old\n"), entry_of(b"x")), Change("born", None, entry_of(b"x"))], store
    )
    assert (root / "edit").stat().st_uid == (root / "born").stat().st_uid == uid


def test_other_names_of_a_file_keep_their_bytes(root: Path, tmp_path: Path, store: ArtifactStore) -> None:
    os.link(root / "edit", tmp_path / "elsewhere")
    store.put(b"x")
    apply.perform(root, [Change("edit", entry_of(b"old\n"), entry_of(b"x"))], store)
    assert (tmp_path / "elsewhere").read_text() == "old\n"


@pytest.mark.parametrize("name", ["edit", "gone/deep", "new/deep/x", "swap/in", "z"])
def test_a_changed_file_is_named_and_nothing_is_written(
    root: Path, wanted: list[Change], store: ArtifactStore, name: str
) -> None:
    write(root, {name: "the user's"})
    expected = contents(root)
    for act in (lambda: apply.check(root, wanted), lambda: apply.perform(root, wanted, store)):
        with pytest.raises(ConflictError, match=name) as caught:
            act()
        assert "\n" not in caught.value.message
    assert contents(root) == expected
    assert apply.conflicts(root, wanted) == [name]


def test_many_changed_files_are_counted(root: Path, wanted: list[Change]) -> None:
    for name in ("edit", "gone/deep", "swap/in", "z", "flat"):
        (root / name).write_text("the user's")
    with pytest.raises(ConflictError, match="and 2 more"):
        apply.check(root, wanted)


def test_a_users_file_in_a_folder_that_should_go_stops_it(
    root: Path, wanted: list[Change], store: ArtifactStore
) -> None:
    write(root, {"swap/mine": "the user's"})
    expected = contents(root)
    with pytest.raises(ConflictError, match="swap"):
        apply.perform(root, wanted, store)
    assert contents(root) == expected


def test_a_file_that_is_changed_while_applying_stays_and_the_rest_is_taken_back(
    root: Path, wanted: list[Change], store: ArtifactStore
) -> None:
    def meddle(step: str) -> None:
        if step == "after edit":
            (root / "z").write_text("the user's")

    with pytest.raises(ConflictError, match="'z'"):
        apply.perform(root, wanted, store, meddle)
    assert contents(root) == {**as_bytes(BEFORE), "z": b"the user's"}


@pytest.mark.parametrize(
    "change",
    [
        Change(".git/config", None, entry_of(b"x")),
        Change("a/.GIT/hooks/x", None, entry_of(b"x")),
        Change("../x", None, entry_of(b"x")),
        Change("/etc/x", None, entry_of(b"x")),
        Change("new", None, entry_of(b"keep", LINK)),
        Change("edit", entry_of(b"old\n"), entry_of(b"old\n", LINK)),
        Change("edit", entry_of(b"old\n", LINK), entry_of(b"old\n")),
        Change("odd", None, Entry(0o160000, "0" * 64, 0)),
    ],
)
def test_what_is_never_applied(root: Path, store: ArtifactStore, change: Change) -> None:
    store.put(b"x")
    before = fingerprint(root.parent)
    for act in (apply.perform, apply.recover):
        with pytest.raises(SafetyViolation):
            act(root, [change], store)
    with pytest.raises(SafetyViolation):
        apply.check(root, [change])
    assert fingerprint(root.parent) == {**before, str(store.folder): fingerprint(store.folder)[str(store.folder)]}


def test_a_link_on_the_way_is_not_followed(root: Path, tmp_path: Path, store: ArtifactStore) -> None:
    (tmp_path / "outside").mkdir()
    (root / "out").symlink_to(tmp_path / "outside")
    store.put(b"x")
    with pytest.raises(SafetyViolation, match="through the link"):
        apply.perform(root, [Change("out/x", None, entry_of(b"x"))], store)
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_link_that_took_the_place_of_a_file_is_a_conflict(root: Path, store: ArtifactStore) -> None:
    (root / "edit").unlink()
    (root / "edit").symlink_to("keep")
    store.put(b"x")
    with pytest.raises(ConflictError):
        apply.perform(root, [Change("edit", entry_of(b"old\n"), entry_of(b"x"))], store)
    assert (root / "keep").read_text() == "k"


def test_a_missing_artifact_stops_it_before_the_first_write(
    root: Path, wanted: list[Change], store: ArtifactStore
) -> None:
    store.path(entry_of(b"Z").digest).unlink()
    with pytest.raises(JournalError):
        apply.perform(root, wanted, store)
    assert contents(root) == as_bytes(BEFORE)


def test_a_disk_error_in_the_middle_is_taken_back(root: Path, wanted: list[Change], store: ArtifactStore) -> None:
    def fail(step: str) -> None:
        if step == "written z":
            raise OSError(28, "No space left on device")

    with pytest.raises(EnvironmentFailure, match="No space left") as caught:
        apply.perform(root, wanted, store, fail)
    assert "resume" in caught.value.hint
    assert contents(root) == as_bytes(BEFORE)
    assert apply.recover(root, wanted, store) == "finished"
    assert contents(root) == as_bytes(AFTER)


Killed = Callable[[int, str], int]


@pytest.fixture
def killed(root: Path, wanted: list[Change], store: ArtifactStore) -> Killed:
    """Perform (or recover) in a child process that sends itself SIGKILL at the given step; returns its exit code."""

    def act(at: int, action: str) -> int:
        child = os.fork()
        if child == 0:
            count = 0

            def step(word: str) -> None:
                nonlocal count
                count += 1
                if count == at:
                    os.kill(os.getpid(), signal.SIGKILL)

            try:
                getattr(apply, action)(root, wanted, store, step)
            finally:
                os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    return act


def steps(root: Path, wanted: list[Change], store: ArtifactStore) -> int:
    seen: list[str] = []
    apply.perform(root, wanted, store, seen.append)
    return len(seen)


def test_killed_at_every_step_it_is_finished_or_undone(
    root: Path, wanted: list[Change], store: ArtifactStore, killed: Killed
) -> None:
    base = scan(root, store)
    total = steps(root, wanted, store)
    assert total == 3 * 2 + 5 * 3  # three deletions of two steps, five writes of three: each is a place to die
    for at in range(1, total + 1):
        restore(root, base, store)
        (root / ".git").rmdir()
        assert killed(at, "perform") == -signal.SIGKILL
        assert apply.recover(root, wanted, store) == "finished"
        assert contents(root) == as_bytes(AFTER)
        assert not [path for path in root.rglob("*") if path.name.endswith(".tmp")]


@pytest.mark.parametrize("at", [2, 9, 16])
def test_killed_and_then_edited_by_the_user_it_is_undone_and_the_edit_stays(
    root: Path, wanted: list[Change], store: ArtifactStore, killed: Killed, at: int
) -> None:
    assert killed(at, "perform") == -signal.SIGKILL
    (root / "z").write_text("the user's")
    assert apply.recover(root, wanted, store) == "undone"
    assert contents(root) == {**as_bytes(BEFORE), "z": b"the user's"}
    assert not [path for path in root.rglob("*") if path.name.endswith(".tmp") or path.name == "new"]
    assert apply.recover(root, wanted, store) == "undone"


def test_killed_again_while_recovering(root: Path, wanted: list[Change], store: ArtifactStore, killed: Killed) -> None:
    for at in (5, 3, 2, 4):
        assert killed(at, "perform" if at == 5 else "recover") == -signal.SIGKILL
    assert apply.recover(root, wanted, store) == "finished"
    assert contents(root) == as_bytes(AFTER)


def test_recovering_what_was_never_begun_or_was_complete(
    root: Path, wanted: list[Change], store: ArtifactStore
) -> None:
    assert apply.recover(root, wanted, store) == "finished"
    assert apply.recover(root, wanted, store) == "finished"
    assert contents(root) == as_bytes(AFTER)


class Stopped(BaseException):
    """Stands for a kill inside this process."""


TREES = st.dictionaries(st.sampled_from(["a", "b", "d/x", "d/y", "e/f/g"]), st.binary(max_size=3))


@settings(max_examples=60, deadline=None)
@given(TREES, TREES, st.integers(1, 15), st.booleans())
def test_any_change_interrupted_anywhere(
    tmp_path_factory: pytest.TempPathFactory, before: dict[str, bytes], after: dict[str, bytes], at: int, edit: bool
) -> None:
    folder = tmp_path_factory.mktemp("any")
    store = ArtifactStore(folder / "artifacts")
    for name, files in (("before", before), ("after", after), ("r", before)):
        (folder / name).mkdir()
        write(folder / name, dict(files))
    wanted = changes(scan(folder / "before", store), scan(folder / "after", store))
    count = 0

    def die(step: str) -> None:
        nonlocal count
        count += 1
        if count == at:
            raise Stopped

    with contextlib.suppress(Stopped):
        apply.perform(folder / "r", wanted, store, die)
    if edit and wanted and not (folder / "r" / wanted[0].path).is_dir():
        write(folder / "r", {wanted[0].path: b"the user's own"})
        assert apply.recover(folder / "r", wanted, store) == "undone"
        assert contents(folder / "r") == {**before, wanted[0].path: b"the user's own"}
    else:
        assert apply.recover(folder / "r", wanted, store) == "finished"
        assert contents(folder / "r") == after


def test_modes_of_the_model_are_regular() -> None:
    assert entry_of(b"x").mode == REGULAR
