"""Which parts of the machine every sandbox shows: enough for ordinary test suites, nothing that is private."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

SYSTEM = tuple(
    Path("/", name) for name in ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "nix/store", "gnu/store")
)
# Whole folders such as /etc/ssl are not taken: they hold private keys, which root could read.
ETC = tuple(
    Path("/etc", name)
    for name in (
        *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives"),
        *("passwd", "group", "nsswitch.conf", "host.conf", "gai.conf", "hostname"),
        *("services", "protocols", "networks", "rpc", "ethertypes"),
        *("localtime", "timezone", "locale.alias", "locale.conf", "default/locale"),
        *("mime.types", "magic", "magic.mime", "terminfo", "inputrc", "shells", "fonts"),
        *("os-release", "lsb-release", "debian_version", "redhat-release", "alpine-release", "system-release"),
        *("ssl/certs", "ssl/cert.pem", "ssl/openssl.cnf", "ca-certificates", "ca-certificates.conf"),
        *("pki/tls/certs", "pki/tls/cert.pem", "pki/tls/openssl.cnf", "pki/ca-trust/extracted"),
        *("crypto-policies", "python3", "java", "perl"),
    )
)
HOSTS = Path("/etc/hosts")
PROCESSORS = Path("/sys/devices/system/cpu")
DEVICES = tuple(Path("/dev", name) for name in ("null", "zero", "full", "random", "urandom"))


def readable_paths() -> Iterator[Path]:
    """Every path above that is there, with the file of host names and the kernel's own folders."""
    for path in (*SYSTEM, *ETC, HOSTS, PROCESSORS, Path("/proc")):
        if os.access(path, os.F_OK):
            yield path
