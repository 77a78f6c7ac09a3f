from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from planexec.core.errors import EnvironmentFailure
from planexec.testing.probe import added_paths, ask, distribution_version, virtual_environment

BASE = Path(os.path.realpath(sys.executable))


def test_an_interpreter_tells_what_it_is(tmp_path: Path) -> None:
    facts = ask(BASE, cwd=tmp_path, env={"PATH": os.environ["PATH"]})
    assert facts.version == sys.version_info[:3]
    assert facts.prefix == Path(sys.base_prefix)
    assert Path(os.__file__).parent in facts.path
    assert all(each.name.startswith(("site-packages", "dist-packages")) for each in facts.site)


def test_nothing_of_a_prefix_is_run(tmp_path: Path) -> None:
    site = tmp_path / "env" / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    site.mkdir(parents=True)
    (site / "hostile.pth").write_text(f"import pathlib; pathlib.Path({str(tmp_path / 'ran')!r}).touch()\n")
    (tmp_path / "sitecustomize.py").write_text((site / "hostile.pth").read_text())
    facts = ask(BASE, prefix=tmp_path / "env", cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)})
    assert site in facts.site
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("echo hello", "does not answer as a Python"),
        ("echo broken pipe >&2; exit 3", "broken pipe"),
        ("exit 4", "exits with 4"),
    ],
)
def test_what_is_no_python_is_named(text: str, reason: str, tmp_path: Path) -> None:
    program = tmp_path / "python3"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    with pytest.raises(EnvironmentFailure, match=reason):
        ask(program, cwd=tmp_path, env={"PATH": "/usr/bin:/bin"})


def test_what_cannot_be_started_is_named(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match="No such file"):
        ask(tmp_path / "nothing", cwd=tmp_path, env={})


def test_a_virtual_environment_is_read_from_its_files(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(BASE)
    assert virtual_environment(tmp_path) is None
    (tmp_path / "pyvenv.cfg").write_text(
        f"Home = {BASE.parent}\nversion = {sys.version_info[0]}.{sys.version_info[1]}.0\n"
    )
    found = virtual_environment(tmp_path)
    assert found is not None
    assert (found.executable, found.system_site) == (tmp_path / "bin" / "python", False)
    assert found.base.resolve() == BASE
    (tmp_path / "pyvenv.cfg").write_text("home = /nowhere\ninclude-system-site-packages = TRUE\n")
    found = virtual_environment(tmp_path)
    assert found is not None and found.system_site and found.base == BASE
    (tmp_path / "bin" / "python").unlink()
    assert virtual_environment(tmp_path) is None


def test_added_paths_are_read_and_never_run(tmp_path: Path) -> None:
    for name in ("site", "plain", "mapped/package", "linked"):
        (tmp_path / name).mkdir(parents=True)
    site = tmp_path / "site"
    (site / "a.pth").write_text(f"# a comment\n{tmp_path / 'plain'}\n{tmp_path / 'gone'}\n\n../linked\n")
    (site / "b.pth").write_text("import __editable___thing_finder; __editable___thing_finder.install()\n")
    (site / "__editable___thing_finder.py").write_text(
        f"MAPPING: dict[str, str] = {{'package': {str(tmp_path / 'mapped/package')!r}, 'x': '/no/such'}}\nROOT = '/'\n"
    )
    (site / "c.pth").write_text("import missing_finder\n")
    (site / "d.pth").write_bytes(b"\xff\xfe\n")
    (site / "broken_finder.py").write_text("def (\n")
    (site / "e.pth").write_text("import broken_finder\n")
    (site / "f.egg-link").write_text(f"{tmp_path / 'linked'}\n.\n")
    assert added_paths(site) == [
        tmp_path / "plain",
        site / "../linked",
        tmp_path / "mapped/package",
        tmp_path / "linked",
    ]


def test_versions_come_from_metadata_folders(tmp_path: Path) -> None:
    (tmp_path / "pytest_mock-3.0.dist-info").mkdir()
    (tmp_path / "pytest-8.1.2.dist-info").mkdir()
    assert distribution_version("pytest", [tmp_path / "gone", tmp_path]) == "8.1.2"
    assert distribution_version("pluggy", [tmp_path]) is None
