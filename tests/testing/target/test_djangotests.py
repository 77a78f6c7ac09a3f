from __future__ import annotations

import pytest

from planexec.testing.target.djangotests import named_settings


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('import os\nos.environ.setdefault("DJANGO_SETTINGS_MODULE", "a.settings")', "a.settings"),
        ('os.environ["DJANGO_SETTINGS_MODULE"] = "b.settings"', "b.settings"),
        ('os.environ["OTHER"] = "b.settings"', ""),
        ('setdefault("DJANGO_SETTINGS_MODULE", name)', ""),
        ("def broken(", ""),
        ("", ""),
    ],
)
def test_the_settings_that_a_manage_py_names(source: str, expected: str) -> None:
    assert named_settings(source) == expected
