"""A program of its own: confines one command without namespaces of processes, and ends all that it started.

``main`` is called by ``supervised.py`` in a fresh ``python -I -S`` with the numbers of three descriptors: a
document to read, a pipe to report on (one document), and a pipe whose end of file means "end now". It uses
nothing but the lightest part of the standard library (no pathlib, json, typing): it is started for every command, and
these would take most of the time. Documents are in Python's own ``marshal`` format, between equal interpreters.

It is a child subreaper: whatever the command leaves behind, daemons included, becomes its child and is killed. It
stays outside the command's Landlock domain, so that the command can neither signal nor trace it.

The document: ``argv``, ``cwd``, ``env``, ``rlimits`` (pairs), ``private`` (a folder to remove at the end),
``network`` (``own`` for a namespace with loopback, else ``""``), ``landlock`` (None or ``attributes``, bytes,
and ``rules``, pairs of access and path), ``seccomp`` (bytes), ``privileges`` (False drops all capabilities).
"""

# pathlib is among what is not imported
# ruff: noqa: PTH101, PTH108, PTH106, PTH123, PTH208

from __future__ import annotations

import ctypes
import errno
import fcntl
import marshal
import os
import resource
import select
import signal
import struct
import time
from collections.abc import Callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 22, 24, 36, 38
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same on every architecture
CAPABILITY_VERSION = 0x20080522
AF_INET, SOCK_DGRAM = 2, 2
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
RULE_PATH_BENEATH = 1

_libc = ctypes.CDLL(None, use_errno=True)


def main(arguments: list[str]) -> int:
    """Read the specification, run its command, report, leave nothing behind."""
    spec_fd, status, control = (int(argument) for argument in arguments)
    with os.fdopen(spec_fd, "rb") as stream:
        spec = marshal.load(stream)
    for descriptor in (status, control):
        os.set_inheritable(descriptor, False)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the pipe says when to end, nothing else does
    wake, awake = os.pipe()
    os.set_blocking(awake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(awake, warn_on_full_buffer=False)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    child = os.fork()
    if child == 0:
        become(spec, status)
    let_go()
    code = watch(child, control, wake)
    sweep()
    if spec["private"]:
        remove(spec["private"])
    os.write(status, marshal.dumps({"exit": code}))
    return 0


def become(spec: dict[str, Any], status: int) -> NoReturn:
    """In the child: lay every confinement, then become the command. A failure is reported, never run past."""
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        step("chdir", os.chdir, spec["cwd"])
        confine(spec)
        for number, value in spec["rlimits"]:
            resource.setrlimit(number, (value, value))
    except BaseException as error:
        os.write(status, marshal.dumps({"failed": str(error)}))
        os.write(2, os.fsencode(f"{error}\n"))  # for a session, which hears no report
        os._exit(126)
    reason = execute(spec["argv"], spec["env"])
    os.write(2, os.fsencode(f"{spec['argv'][0]}: {os.strerror(reason)}\n"))
    os._exit(127 if reason == errno.ENOENT else 126)


def execute(argv: list[str], env: dict[str, str]) -> int:
    """Become ``argv``, looked for as a shell does. Returns the error number when that fails.

    Not ``os.execvpe``, which imports a module at a time when no library can be read any more.
    """
    places = [""] if "/" in argv[0] else [f"{folder}/" for folder in env.get("PATH", os.defpath).split(":") if folder]
    worst = errno.ENOENT
    for place in places:
        try:
            os.execve(place + argv[0], argv, env)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                worst = error.errno or worst
    return worst


def confine(spec: dict[str, Any]) -> None:
    """Namespaces first, as they need privileges; the filter last, as it may forbid what the others need."""
    if spec["network"] == "own":
        step("network namespace", own_network)
    if not spec["privileges"]:
        step("capabilities", drop_capabilities)
        prctl(PR_SET_NO_NEW_PRIVS, 1)
    if spec["landlock"] is not None:
        step("landlock", restrict, spec["landlock"]["attributes"], spec["landlock"]["rules"])
    if spec["seccomp"]:
        step("seccomp", install_filter, spec["seccomp"])


def step(name: str, action: Callable[..., None], *arguments: Any) -> None:
    """Run ``action``; an error names the step."""
    try:
        action(*arguments)
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        raise RuntimeError(f"{name}:{where} {error.strerror}") from error


def own_network() -> None:
    """A network namespace with nothing but loopback; within a user namespace when that is needed."""
    user, group = os.getuid(), os.getgid()
    if _libc.unshare(CLONE_NEWNET) != 0:
        check(_libc.unshare(CLONE_NEWUSER | CLONE_NEWNET))
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "wb") as stream:
                stream.write(text.encode())
    control = check(_libc.socket(AF_INET, SOCK_DGRAM, 0))
    request = struct.pack("16sH14x", b"lo", 0)
    (flags,) = struct.unpack_from("H", fcntl.ioctl(control, SIOCGIFFLAGS, request), 16)
    fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))
    os.close(control)


def drop_capabilities() -> None:
    """No capability now, none to be gained by running something as root."""
    for capability in range(64):
        if _libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 and ctypes.get_errno() == errno.EINVAL:
            break
    header = struct.pack("Ii", CAPABILITY_VERSION, 0)
    check(_libc.capset(header, struct.pack("6I", *[0] * 6)))


def restrict(attributes: bytes, rules: list[tuple[int, str]]) -> None:
    """Enter a Landlock domain (Linux, Documentation/userspace-api/landlock.rst)."""
    ruleset = check(_libc.syscall(CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0))
    for access, path in rules:
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = struct.pack("=Qi", access, folder)
        try:
            check(_libc.syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, rule, 0))
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from error
        finally:
            os.close(folder)
    check(_libc.syscall(RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def install_filter(code: bytes) -> None:
    """Install a system call filter: ``code`` is an array of ``struct sock_filter``."""
    memory = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxP" if struct.calcsize("P") == 8 else "HxxP", len(code) // 8, ctypes.addressof(memory))
    check(_libc.prctl(PR_SET_SECCOMP, 2, program, 0, 0))


def let_go() -> None:
    """Hold none of the command's pipes open: their end must be seen when the command closes them."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)


def watch(child: int, control: int, wake: int) -> int:
    """Wait for ``child``, reaping whatever else ends; its exit code, or -9 when ``control`` was closed."""
    while True:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            if pid == child:
                return os.waitstatus_to_exitcode(status)
        ready, _, _ = select.select([control, wake], [], [])
        if wake in ready:
            os.read(wake, 4096)
        if control in ready:
            return -signal.SIGKILL


def sweep() -> None:
    """Kill every process below this one until none is left; orphans become our children, so none can hide."""
    while True:
        for pid in descendants(os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue  # gone meanwhile
        try:
            while os.waitpid(-1, os.WNOHANG)[0] != 0:
                pass
        except ChildProcessError:
            return
        time.sleep(0.0005)


def descendants(root: int) -> list[int]:
    """Every process below ``root``, zombies included."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as stream:
                stat = stream.read()
        except OSError:
            continue  # gone meanwhile
        # The name of the program, in parentheses, may hold anything.
        children.setdefault(int(stat[stat.rindex(b")") + 2 :].split()[1]), []).append(int(name))
    found, queue = [], [root]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def remove(folder: str) -> None:
    """Remove a folder whatever modes its content has; nobody may be working in it. No link is followed."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        try:
            if entry.is_dir(follow_symlinks=False):
                os.chmod(entry.path, 0o700)
                remove(entry.path)
            else:
                os.unlink(entry.path)
        except OSError:
            continue  # what cannot be removed stays
    try:
        os.rmdir(folder)
    except OSError:
        return


def prctl(option: int, value: int) -> None:
    """``prctl`` with one argument."""
    check(_libc.prctl(option, value, 0, 0, 0))


def check(result: int) -> int:
    """The result of a C function, or its OSError."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
