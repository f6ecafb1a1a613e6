"""mqkit.sync.process: forked children, the end of a program, and of an app."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

import mqkit
import mqkit.sync

PROGRAM = """
import sys, mqkit.sync
app = mqkit.sync.App(sys.argv[1])
print(bool(app.publish("", sys.argv[2], b"x")))
"""

FORKING = """
import multiprocessing, sys, mqkit.sync
app = mqkit.sync.App(sys.argv[1])
def publish(number):
    return bool(app.publish("", sys.argv[2], b"%d" % number))
publish(0)
with multiprocessing.get_context("fork").Pool(3) as pool:
    print(pool.map(publish, range(1, 31)).count(True), publish(31))
"""
DEADLINE_S = 60
CHILD_DEADLINE_S = 20


def run(program: str, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def in_child(act: Callable[[], bool]) -> int:
    """The exit code of a forked child: 0 if ``act`` was true there."""
    child = os.fork()
    if not child:
        signal.alarm(CHILD_DEADLINE_S)  # one that hangs is killed
        code = 2
        try:
            code = 0 if act() else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def is_closed(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return True
    return False


def test_a_child_has_a_connection_of_its_own_and_its_parent_goes_on(
    app: mqkit.sync.App, faults: Any, name: str, bodies: Callable[[], list[bytes]]
) -> None:
    assert app.publish("", name, b"parent")
    assert in_child(lambda: bool(app.publish("", name, b"child"))) == 0
    assert app.publish("", name, b"parent again")
    assert bodies() == [b"parent", b"child", b"parent again"]
    assert faults.accepted == 2


def test_middleware_is_around_what_a_child_publishes(
    app: mqkit.sync.App, name: str, bodies: Callable[[], list[bytes]]
) -> None:
    @app.around_publish
    def twice(message: mqkit.Message, publish: mqkit.sync.PublishNext) -> mqkit.Outcome:
        publish(message)
        return publish(message)

    assert in_child(lambda: bool(app.publish("", name, b"child"))) == 0
    assert app.publish("", name, b"parent")
    assert bodies() == [b"child", b"child", b"parent", b"parent"]


def test_a_child_closes_its_copies_and_the_parent_has_no_word_of_it(
    faults: Any, direct: Any, name: str
) -> None:
    with mqkit.sync.App(faults.url) as app:
        assert app.publish("", name, b"parent")
        link: Any = app._own.caller._link
        driver = link._connection._driver
        kept = (driver._stream, driver._selector, driver._bell, driver._ringer)
        own = {copy.fileno() for copy in kept}
        assert not any(map(is_closed, own))
        assert in_child(lambda: all(map(is_closed, own))) == 0
        assert app.publish("", name, b"parent")
    assert faults.accepted == 1


def test_a_lock_that_a_thread_held_at_the_fork_does_not_hang_the_child(
    app: mqkit.sync.App, name: str
) -> None:
    assert app.publish("", name, b"parent")
    held, free = threading.Event(), threading.Event()

    def hold() -> None:
        link: Any = app._own.caller._link
        with link._lock:
            held.set()
            free.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        assert in_child(lambda: bool(app.publish("", name, b"child", deadline="10s"))) == 0
    finally:
        free.set()
        thread.join()


def test_a_child_of_a_closed_app_has_a_closed_app(app: mqkit.sync.App, name: str) -> None:
    app.close()

    def is_closed() -> bool:
        try:
            app.publish("", name, b"x")
        except mqkit.Closed:
            return True
        return False

    assert in_child(is_closed) == 0


def test_a_program_ends_when_it_is_done(
    faults: Any, direct: Any, name: str, until: Callable[[Callable[[], bool]], None]
) -> None:
    assert run(PROGRAM, faults.url, name) == "True"
    until(lambda: faults.connections == 0)


def test_a_program_ends_although_the_broker_answers_no_close(
    faults: Any, direct: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = "import mqkit.transport.native.over_sockets.connection as c; c.CLOSE_TIMEOUT_S = 0.1\n"
    waits = short + PROGRAM + "print(flush=True); sys.stdin.readline()"
    process = subprocess.Popen(
        [sys.executable, "-c", waits, faults.url, name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "True\n"
    faults.act("stall")
    process.communicate("\n", timeout=DEADLINE_S)
    assert process.returncode == 0
    faults.act("resume")


def test_a_pool_of_processes_publishes(
    broker_url: str, direct: Any, name: str, bodies: Callable[[], list[bytes]]
) -> None:
    assert run(FORKING, broker_url, name) == "30 True"
    assert sorted(map(int, bodies())) == list(range(32))


def test_an_app_that_nobody_has_any_more_is_disconnected(
    faults: Any, direct: Any, name: str, until: Callable[[Callable[[], bool]], None]
) -> None:
    app = mqkit.sync.App(faults.url)
    assert app.publish("", name, b"x")
    assert faults.connections == 1
    del app
    gc.collect()
    until(lambda: faults.connections == 0)
