from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading

import pytest

from planexec.core import interrupts


def run(body: str) -> subprocess.CompletedProcess[str]:
    """A program of its own, for a process has only one set of signal handlers."""
    lines = ["import os, signal, threading, time", "from planexec.core import interrupts", textwrap.dedent(body)]
    argv = [sys.executable, "-c", "\n".join(lines)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False, env={**os.environ})


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_is_raised_in_the_main_thread_with_its_exit_code(name: str, code: int) -> None:
    done = run(f"""
        interrupts.listen()
        try:
            os.kill(os.getpid(), signal.{name})
            time.sleep(20)
        except interrupts.Interrupted as error:
            print(error.name, error.exit_code, interrupts.asked.is_set())
    """)
    assert done.stdout == f"{name} {code} True\n", done.stderr


def test_it_waits_for_the_end_of_what_may_not_be_interrupted() -> None:
    done = run("""
        interrupts.listen()
        try:
            with interrupts.uninterrupted():
                with interrupts.uninterrupted():
                    os.kill(os.getpid(), signal.SIGTERM)
                    print("inner")
                print("outer")
            print("never")
        except interrupts.Interrupted as error:
            print(error.name)
        with interrupts.uninterrupted():
            print("once")
    """)
    assert done.stdout.split() == ["inner", "outer", "SIGTERM", "once"], done.stderr


def test_an_error_within_is_not_lost_to_a_signal() -> None:
    done = run("""
        interrupts.listen()
        try:
            with interrupts.uninterrupted():
                os.kill(os.getpid(), signal.SIGINT)
                raise ValueError("the cause")
        except interrupts.Interrupted as error:
            print(repr(error.__context__))
    """)
    assert done.stdout == "ValueError('the cause')\n", done.stderr


def test_what_the_parent_ignored_stays_ignored() -> None:
    done = run("""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        interrupts.listen()
        os.kill(os.getpid(), signal.SIGINT)
        print("on")
    """)
    assert (done.stdout, done.returncode) == ("on\n", 0), done.stderr


def test_other_threads_learn_of_it_where_they_look() -> None:
    done = run("""
        interrupts.listen()
        heard = []

        def work():
            try:
                with interrupts.uninterrupted():
                    while True:
                        interrupts.check()
                        time.sleep(0.01)
            except KeyboardInterrupt as error:
                heard.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(20)
        except interrupts.Interrupted:
            thread.join(20)
            print(len(heard))
    """)
    assert done.stdout == "1\n", done.stderr


def test_nothing_is_raised_where_nothing_was_asked() -> None:
    interrupts.check()
    assert threading.current_thread() is threading.main_thread()
    assert interrupts.Interrupted(signal.SIGTERM).exit_code == 143
