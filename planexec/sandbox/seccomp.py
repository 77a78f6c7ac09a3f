"""System call filters, in the classic BPF that ``prctl(PR_SET_SECCOMP)`` and ``bwrap --seccomp`` take.

Namespaces and Landlock leave gaps that a filter closes: sockets to the hypervisor (``AF_VSOCK`` knows no network
namespace), the kernel's keyrings (shared with the host), and, where there is no network namespace, the network.
A filter sees numbers, never what a pointer points to: so it can refuse a kind of socket, not an address.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Collection
from dataclasses import dataclass

AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06  # BPF_LD|W|ABS, JMP|JEQ|K, JMP|JGE|K, RET|K
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data, little endian
_X32 = 0x40000000


@dataclass(frozen=True)
class Machine:
    """Numbers of one processor architecture (``audit.h``, ``unistd.h``)."""

    audit: int
    socket: int
    truncate: int
    keys: tuple[int, int, int]


MACHINES = {
    "x86_64": Machine(0xC000003E, socket=41, truncate=76, keys=(248, 249, 250)),
    "aarch64": Machine(0xC00000B7, socket=198, truncate=45, keys=(217, 218, 219)),
}
IO_URING = (425, 426, 427)  # the same everywhere; it opens sockets and files past a filter


def supported(machine: str = platform.machine()) -> bool:
    """Whether a filter can be built for this processor."""
    return machine in MACHINES


def build(
    families: Collection[int], *, refused: int, truncate: bool = True, machine: str = platform.machine()
) -> bytes:
    """A filter that lets ``socket`` make only ``families`` (others fail with the error number ``refused``).

    ``truncate`` False refuses ``truncate(path)`` too. Programs of another architecture (32 bit) find no system
    calls at all, since their numbers mean something else.
    """
    numbers = MACHINES[machine]
    denied = [(number, errno.ENOSYS) for number in (*numbers.keys, *IO_URING)]
    if not truncate:
        denied.append((numbers.truncate, errno.EACCES))
    code = [_load(_ARCHITECTURE), _jump(_EQUAL, numbers.audit, 1, 0), _refuse(errno.ENOSYS)]
    code += [_load(_NUMBER), _jump(_AT_LEAST, _X32, 0, 1), _refuse(errno.ENOSYS)]
    for number, error in denied:
        code += [_jump(_EQUAL, number, 0, 1), _refuse(error)]
    code += [_jump(_EQUAL, numbers.socket, 1, 0), _return(_ALLOW), _load(_FIRST_ARGUMENT)]
    for family in families:
        code += [_jump(_EQUAL, family, 0, 1), _return(_ALLOW)]
    return b"".join([*code, _refuse(refused)])


def _load(offset: int) -> bytes:
    return struct.pack("<HBBI", _LOAD, 0, 0, offset)


def _jump(test: int, value: int, if_true: int, if_false: int) -> bytes:
    return struct.pack("<HBBI", test, if_true, if_false, value)


def _return(value: int) -> bytes:
    return struct.pack("<HBBI", _RETURN, 0, 0, value)


def _refuse(error: int) -> bytes:
    return _return(_ERRNO | error)
