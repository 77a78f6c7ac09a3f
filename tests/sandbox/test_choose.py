"""Which sandbox is used: here, and in processes that may do less."""

from __future__ import annotations

import pytest

from planexec.core.errors import EnvironmentFailure, UsageError
from planexec.sandbox import supervisor
from planexec.sandbox.choose import NAMES, choose

from .forked import in_child

MAKE_BLOCK = (1 << 11).to_bytes(8, "little")  # a right that nobody here uses


def enter_domains(count: int) -> None:
    """Enter Landlock domains that forbid next to nothing; but within any, nothing can be mounted."""
    supervisor.prctl(supervisor.PR_SET_NO_NEW_PRIVS, 1)
    for _ in range(count):
        supervisor.restrict(MAKE_BLOCK, [])


def test_auto_is_bubblewrap() -> None:
    assert choose().name == choose("auto").name == "bubblewrap"


@pytest.mark.parametrize("name", NAMES[1:])
def test_by_name(name: str) -> None:
    assert choose(name).name == name


def test_an_unknown_name() -> None:
    with pytest.raises(UsageError, match="docker") as caught:
        choose("docker")
    assert "bubblewrap" in caught.value.hint


def test_auto_falls_back_to_landlock_and_says_why() -> None:
    def body() -> str:
        enter_domains(1)
        return choose().describe()

    text = in_child(body)
    assert text.startswith("landlock")
    assert "used because bubblewrap does not work here" in text


def test_landlock_does_without_a_network_namespace_where_there_is_none() -> None:
    def body() -> str:
        supervisor.drop_capabilities()
        supervisor.prctl(supervisor.PR_SET_NO_NEW_PRIVS, 1)
        # Root without privileges may not make a user namespace of its own; nor may anybody once there are none left.
        return choose("landlock").describe()

    assert in_child(body).startswith("landlock")


def test_without_any_the_error_tells_what_to_do() -> None:
    def body() -> list[tuple[str, str]]:
        enter_domains(16)  # as many as the kernel stacks
        failures = []
        for request in ("auto", "bubblewrap", "landlock"):
            with pytest.raises(EnvironmentFailure) as caught:
                choose(request)
            failures.append((caught.value.message, caught.value.hint))
        return failures

    auto, bubblewrap, landlock = in_child(body)
    assert "bubblewrap does not work here" in auto[0] and "landlock does not work here" in auto[0]
    assert "--sandbox none" in auto[1]
    assert bubblewrap[0].startswith("bubblewrap does not work here") and bubblewrap[1]
    assert landlock[0].startswith("landlock does not work here") and "--sandbox none" not in landlock[1]
