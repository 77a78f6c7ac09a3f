"""What every mechanism promises, asked of every mechanism."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

import pytest

from planexec.core.errors import EnvironmentFailure, UsageError
from planexec.sandbox.interface import MIB, Command, Limits, Mount, Sandbox

from .conftest import MAKERS, is_running, shell

ROOT = Path(__file__).parents[2]


def wait_until_gone(token: str) -> bool:
    deadline = time.monotonic() + 5
    while is_running(token) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_running(token)


def sleeper(token: str) -> str:
    """A shell command for a process that sleeps and can be found by ``token``."""
    return f"/bin/sh -c 'sleep 60; : {token}'"


def test_output_and_exit_code(sandbox: Sandbox) -> None:
    result = shell(sandbox, "echo out; echo err >&2; exit 3")
    assert (result.exit_code, result.stdout, result.stderr) == (3, b"out\n", b"err\n")
    assert not result.timed_out and not result.truncated and result.seconds > 0


def test_a_signal_is_a_negative_exit_code(sandbox: Sandbox) -> None:
    assert shell(sandbox, "kill -SEGV $$").exit_code == -signal.SIGSEGV


def test_a_missing_program_is_127(sandbox: Sandbox) -> None:
    result = sandbox.run(Command(("no-such-program",), cwd=Path("/")))
    assert result.exit_code == 127
    assert b"no-such-program" in result.stderr


def test_input_and_output_larger_than_any_pipe(sandbox: Sandbox) -> None:
    data = os.urandom(MIB)
    result = sandbox.run(Command(("/bin/cat",), cwd=Path("/"), stdin=data, limits=Limits(seconds=30)))
    assert result.stdout == data


def test_input_that_is_not_read(sandbox: Sandbox) -> None:
    result = sandbox.run(Command(("/bin/sh", "-c", "echo done"), cwd=Path("/"), stdin=bytes(MIB)))
    assert (result.exit_code, result.stdout) == (0, b"done\n")


def test_output_is_bounded_for_each_stream(sandbox: Sandbox) -> None:
    script = "echo first; head -c 3000000 /dev/zero; echo last; head -c 3000000 /dev/zero >&2"
    result = shell(sandbox, script, output_bytes=10_000)
    assert result.truncated
    assert len(result.stdout) <= 10_000 and len(result.stderr) <= 10_000
    assert result.stdout.startswith(b"first\n") and result.stdout.endswith(b"last\n")
    assert b"bytes left out" in result.stdout


def test_the_whole_environment_is_given(sandbox: Sandbox) -> None:
    os.environ["PLANEXEC_TEST_SECRET"] = "hidden"
    try:
        command = Command(("/usr/bin/env",), cwd=Path("/"), env={"GIVEN": "a b\nc", "PATH": "/bin"})
        lines = sandbox.run(command).stdout.decode()
    finally:
        del os.environ["PLANEXEC_TEST_SECRET"]
    assert "GIVEN=a b\nc\n" in lines and "PATH=/bin\n" in lines
    names = {line.partition("=")[0] for line in lines.splitlines() if "=" in line}
    assert names <= {"GIVEN", "PATH", "LANG", "HOME", "TMPDIR", "PWD", "SHLVL", "_"}


def test_home_and_temporary_folder_are_private_and_do_not_stay(sandbox: Sandbox) -> None:
    first = shell(sandbox, 'echo x > "$HOME/a" && echo x > "$TMPDIR/b" && chmod 000 "$HOME" && echo "$HOME $TMPDIR"')
    assert first.exit_code == 0, first.stderr
    home, temporary = first.stdout.decode().split()
    assert not Path(home, "a").exists() and not Path(temporary, "b").exists()
    assert home != str(Path.home())
    second = shell(sandbox, 'ls -A "$HOME" "$TMPDIR"')
    assert b"a\n" not in second.stdout and b"b\n" not in second.stdout


def test_a_writable_mount_is_written(sandbox: Sandbox, given: Mount) -> None:
    result = shell(
        sandbox, "mkdir -p a/b && echo hi > f && mv f a/b/ && ln -s f a/b/link && pwd", given, cwd=given.target
    )
    assert result.exit_code == 0, result.stderr
    assert (given.source / "a/b/f").read_text() == "hi\n"
    assert result.stdout.decode().strip() == str(given.source)


def test_a_mount_elsewhere_is_found_by_locate(sandbox: Sandbox, given: Mount) -> None:
    moved = Mount(given.source, Path("/srv/project"), writable=True)
    (given.source / "f").write_text("hi")
    inside = sandbox.locate(Path("/srv/project/f"), [moved])
    result = sandbox.run(Command(("/bin/cat", str(inside)), cwd=Path("/srv/project"), mounts=[moved]))
    assert result.stdout == b"hi"
    assert (inside == Path("/srv/project/f")) == sandbox.remaps


def test_a_time_out_ends_daemons_too(sandbox: Sandbox) -> None:
    token = uuid.uuid4().hex
    began = time.monotonic()
    result = shell(sandbox, f"echo up; setsid {sleeper(token)} & {sleeper(token)}", seconds=0.7)
    assert result.timed_out and result.exit_code == -9
    assert result.stdout == b"up\n"
    assert time.monotonic() - began < 10
    assert not is_running(token)


def test_a_time_out_holds_for_a_command_that_closes_its_output(sandbox: Sandbox) -> None:
    token = uuid.uuid4().hex
    result = shell(sandbox, f"exec >&- 2>&-; {sleeper(token)}", seconds=0.6)
    assert result.timed_out
    assert not is_running(token)


def test_daemons_do_not_outlive_the_command(sandbox: Sandbox) -> None:
    token = uuid.uuid4().hex
    # One holds the output open, one has let go of everything.
    script = f"setsid {sleeper(token)} & (setsid {sleeper(token)} >/dev/null 2>&1 <&- &) ; echo done"
    began = time.monotonic()
    result = shell(sandbox, script)
    assert (result.exit_code, result.stdout) == (0, b"done\n")
    assert time.monotonic() - began < 10
    assert not is_running(token)


def test_processes_that_keep_being_born_are_ended(sandbox: Sandbox) -> None:
    token = uuid.uuid4().hex
    script = f"f() {{ : {token}; (f) & }}; f; sleep 0.2"  # each starts the next and is gone
    shell(sandbox, script, seconds=10.0)
    assert not is_running(token)


def test_an_interrupt_ends_the_tree(sandbox: Sandbox) -> None:
    token = uuid.uuid4().hex
    timer = threading.Timer(0.5, signal.pthread_kill, [threading.main_thread().ident, signal.SIGINT])
    timer.start()
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            shell(sandbox, f"setsid {sleeper(token)} & {sleeper(token)}")
    finally:
        timer.cancel()
    assert time.monotonic() - began < 15
    assert not is_running(token)


@pytest.mark.parametrize("name", list(MAKERS))
def test_nothing_survives_the_death_of_this_program(name: str) -> None:
    token = uuid.uuid4().hex
    inside = f"setsid {sleeper(token)} & echo up >&2; {sleeper(token)}"
    script = (
        "from tests.sandbox.conftest import MAKERS\n"
        "from planexec.sandbox.interface import *\n"
        f"session = MAKERS[{name!r}]().start(Command(('/bin/sh', '-c', {'echo up; ' + inside!r}), cwd=Path('/')))\n"
        "print(session.receive(20), flush=True)\n"
        "session.receive(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"b'up'\n"
        assert is_running(token)
        process.kill()
    assert wait_until_gone(token)


def test_memory_is_limited(sandbox: Sandbox) -> None:
    result = shell(sandbox, "head -c 200M /dev/zero | tail -c 200M | wc -c", memory_bytes=100 * MIB)
    assert b"209715200" not in result.stdout
    assert b"memory" in result.stderr


def test_the_size_of_a_file_is_limited(sandbox: Sandbox, given: Mount) -> None:
    shell(sandbox, "head -c 3000000 /dev/zero > big", given, cwd=given.target, file_bytes=MIB)
    assert (given.source / "big").stat().st_size == MIB


def test_no_limit_where_none_is_asked(sandbox: Sandbox) -> None:
    result = shell(sandbox, "ulimit -f; ulimit -v", memory_bytes=None, file_bytes=None)
    assert result.stdout.split() == [b"unlimited", b"unlimited"]


def test_a_folder_that_is_not_there(sandbox: Sandbox) -> None:
    with pytest.raises(EnvironmentFailure, match="/no/such/folder"):
        sandbox.run(Command(("/bin/true",), cwd=Path("/no/such/folder")))


@pytest.mark.parametrize(
    "command",
    [
        Command((), cwd=Path("/")),
        Command(("/bin/true",), cwd=Path("relative")),
        Command(("/bin/true",), cwd=Path("/"), mounts=[Mount(Path("/usr"), Path("/"))]),
        Command(("/bin/true",), cwd=Path("/"), mounts=[Mount(Path("/usr"), Path("/a/../b"))]),
        Command(("/bin/true",), cwd=Path("/"), mounts=[Mount(Path("usr"), Path("/a"))]),
        Command(("/bin/true",), cwd=Path("/"), mounts=[Mount(Path("/no/such/source"), Path("/a"))]),
        Command(("/bin/echo", "a\0b"), cwd=Path("/")),
        Command(("/bin/true",), cwd=Path("/"), env={"A=B": "c"}),
    ],
    ids=lambda command: repr((command.argv, str(command.cwd), len(command.mounts), dict(command.env))),
)
def test_what_cannot_be_laid_out_is_refused(sandbox: Sandbox, command: Command) -> None:
    with pytest.raises(UsageError):
        sandbox.run(command)


def test_a_session_answers_by_lines(sandbox: Sandbox) -> None:
    script = "while read -r word; do echo got $word; echo seen $word >&2; done"
    with sandbox.start(Command(("/bin/sh", "-c", script), cwd=Path("/"))) as session:
        for number in range(3):
            session.send(b"%d" % number)
            assert session.receive(20) == b"got %d" % number
        assert session.receive(0.05) is None
        assert session.errors() == b"seen 0\nseen 1\nseen 2\n"


def test_lines_that_came_together_are_given_one_by_one(sandbox: Sandbox) -> None:
    with sandbox.start(Command(("/bin/sh", "-c", "printf 'a\\n\\nb\\nrest'"), cwd=Path("/"))) as session:
        assert [session.receive(20) for _ in range(4)] == [b"a", b"", b"b", None]


def test_closing_a_session_ends_all_of_it(sandbox: Sandbox) -> None:
    token = uuid.uuid4().hex
    session = sandbox.start(Command(("/bin/sh", "-c", f"setsid {sleeper(token)} & echo up; cat"), cwd=Path("/")))
    assert session.receive(20) == b"up"
    assert is_running(token)
    session.close()
    assert not is_running(token)
    session.close()
    with pytest.raises(BrokenPipeError):
        session.send(b"x")
    assert session.receive(1) is None


def test_a_session_that_ended_by_itself(sandbox: Sandbox) -> None:
    with sandbox.start(Command(("/bin/sh", "-c", "echo why >&2; exit 1"), cwd=Path("/"))) as session:
        assert session.receive(20) is None
        assert session.errors() == b"why\n"
        with pytest.raises(BrokenPipeError):
            for _ in range(100):
                session.send(b"x")
                time.sleep(0.01)


def test_a_session_reads_what_waits_even_without_patience(sandbox: Sandbox) -> None:
    with sandbox.start(Command(("/bin/sh", "-c", "echo a; cat"), cwd=Path("/"))) as session:
        deadline = time.monotonic() + 20
        while (line := session.receive(0)) is None and time.monotonic() < deadline:
            time.sleep(0.01)
        assert line == b"a"


def test_a_session_does_not_wait_for_ever_for_a_deaf_command(sandbox: Sandbox) -> None:
    limits = Limits(seconds=0.5)
    command = Command(("/bin/sleep", "60"), cwd=Path("/"), limits=limits)
    with sandbox.start(command) as session, pytest.raises(BrokenPipeError):
        session.send(bytes(MIB))


def test_a_session_does_not_keep_an_endless_line(sandbox: Sandbox) -> None:
    limits = Limits(output_bytes=100_000)
    with sandbox.start(Command(("/bin/cat", "/dev/zero"), cwd=Path("/"), limits=limits)) as session:
        assert session.receive(20) is None
    with sandbox.start(Command(("/bin/sh", "-c", "yes >&2"), cwd=Path("/"), limits=limits)) as session:
        assert session.receive(0.3) is None
        assert len(session.errors()) <= 100_000


def test_a_line_may_not_hold_a_line_end(sandbox: Sandbox) -> None:
    with sandbox.start(Command(("/bin/cat",), cwd=Path("/"))) as session, pytest.raises(UsageError):
        session.send(b"a\nb")


def test_descriptors_are_given_back(sandbox: Sandbox) -> None:
    def count() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = count()
    for _ in range(2):
        shell(sandbox, "exit 0")
        shell(sandbox, "sleep 60", seconds=0.2)
        sandbox.start(Command(("/bin/cat",), cwd=Path("/"))).close()
        with pytest.raises(EnvironmentFailure):
            sandbox.run(Command(("/bin/true",), cwd=Path("/no/such/folder"), stdin=b"x"))
    assert count() == before


def test_it_describes_itself_in_one_line(sandbox: Sandbox) -> None:
    text = sandbox.describe()
    assert text.startswith(sandbox.name) and "\n" not in text


def test_nothing_of_the_host_is_inherited(confining: Sandbox) -> None:
    # The listing itself holds one more descriptor.
    assert shell(confining, "ls /proc/self/fd").stdout.split() == [b"0", b"1", b"2", b"3"]
    status = shell(confining, "cat /proc/self/status").stdout.decode()
    assert "CapEff:\t0000000000000000" in status and "CapBnd:\t0000000000000000" in status
    assert "NoNewPrivs:\t1" in status and "Seccomp:\t2" in status


def test_settings_of_the_kernel_cannot_be_written(confining: Sandbox) -> None:
    # The same value again, so that nothing is harmed where it works.
    script = (
        'for f in core_pattern hostname; do p=/proc/sys/kernel/$f; v=$(cat $p) && echo "$v" > $p && echo written; done'
    )
    assert shell(confining, script).stdout == b""


def test_a_session_that_cannot_start_tells_why(sandbox: Sandbox) -> None:
    with sandbox.start(Command(("/bin/cat",), cwd=Path("/no/such/folder"))) as session:
        assert session.receive(20) is None
        assert b"/no/such/folder" in session.errors()


def test_arguments_that_are_too_long(sandbox: Sandbox) -> None:
    try:
        result = sandbox.run(Command(("/bin/echo", "x" * 3_000_000), cwd=Path("/")))
    except EnvironmentFailure as error:
        assert "too long" in error.message
    else:
        assert result.exit_code == 126 and b"too long" in result.stderr
