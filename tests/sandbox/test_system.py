"""What every sandbox shows of the machine."""

from __future__ import annotations

from planexec.sandbox.system import DEVICES, ETC, SYSTEM, readable_paths


def test_only_what_exists_is_listed() -> None:
    assert all(path.exists() for path in readable_paths())


def test_nothing_private_is_among_it() -> None:
    shown = [*SYSTEM, *ETC, *readable_paths()]
    for private in ("/etc/shadow", "/etc/ssl/private", "/etc/ssh", "/root", "/home", "/var", "/run", "/etc/sudoers"):
        assert not any(str(path) == private or private.startswith(f"{path}/") for path in shown)


def test_devices_give_nothing_away() -> None:
    assert {path.name for path in DEVICES} == {"null", "zero", "full", "random", "urandom"}
