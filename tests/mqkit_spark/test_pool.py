"""mqkit_spark.pool: a connection outlives a task, and a broken one does not come back."""

from __future__ import annotations

import contextlib
import os
import threading
from types import SimpleNamespace

import pytest

from mqkit_spark import pool
from mqkit_spark.options import SinkOptions


@pytest.fixture
def options(broker_url: str) -> SinkOptions:
    return SinkOptions(url=broker_url, exchange="")


def test_the_next_task_gets_the_same_connection_and_two_at_a_time_get_two(
    options: SinkOptions,
) -> None:
    with pool.borrowed(options) as first, pool.borrowed(options) as second:
        assert first is not second
    with pool.borrowed(options) as third:
        assert third in (first, second)
        assert third.is_open
    other_window = SinkOptions(url=options.url, exchange="", max_in_flight=3)
    with pool.borrowed(other_window) as fourth:
        assert fourth not in (first, second)


def test_after_an_error_the_connection_is_closed(options: SinkOptions) -> None:
    with pytest.raises(KeyError), pool.borrowed(options) as connection:
        raise KeyError
    assert not connection.is_open
    with pool.borrowed(options) as another:
        assert another is not connection


def test_a_connection_that_died_in_the_pool_is_not_lent(options: SinkOptions) -> None:
    with pool.borrowed(options) as connection:
        pass
    connection.close()
    with pool.borrowed(options) as another:
        assert another is not connection
        assert another.is_open


def test_only_so_many_idle_connections_are_kept(options: SinkOptions) -> None:
    with contextlib.ExitStack() as stack:
        lent = [stack.enter_context(pool.borrowed(options)) for _ in range(pool.IDLE_MAX + 2)]
    assert sum(connection.is_open for connection in lent) == pool.IDLE_MAX


def test_an_idle_connection_closes_by_itself(options: SinkOptions) -> None:
    short = pool.Pool(idle_max_s=0.05)
    closed = threading.Event()
    with short.borrowed(options, options.window) as connection:
        connection.on_closed(lambda _: closed.set())
    assert closed.wait(10), "nobody used the pool again, and yet it is closed"
    with short.borrowed(options, options.window) as another:
        assert another is not connection
        closed.clear()
        another.on_closed(lambda _: closed.set())
    assert closed.wait(10), "nor is one left open that came after the pool was empty"


def test_one_that_comes_while_another_is_being_closed_closes_by_itself_too(
    options: SinkOptions,
) -> None:
    short = pool.Pool(idle_max_s=0.05)
    closed = threading.Event()

    def lend_and_take_back() -> None:
        with short.borrowed(options, options.window) as another:
            another.on_closed(lambda _: closed.set())

    def while_it_closes(_: object) -> None:
        beside = threading.Thread(target=lend_and_take_back)
        beside.start()
        beside.join()

    with short.borrowed(options, options.window) as connection:
        connection.on_closed(while_it_closes)
    assert closed.wait(10), "the thread that closes was busy when it came"


def test_only_what_is_idle_for_too_long_is_closed(options: SinkOptions) -> None:
    times = SimpleNamespace(now_s=1000.0)
    patient = pool.Pool(idle_max_s=60.0, monotonic_s=lambda: float(times.now_s))
    assert patient.close_idle() is None
    with patient.borrowed(options, options.window) as connection:
        times.now_s += 100
        assert patient.close_idle() is None, "what is lent is not idle"
    times.now_s += 59
    assert patient.close_idle() == 1
    assert connection.is_open
    times.now_s += 1
    assert patient.close_idle() is None
    assert not connection.is_open


def test_a_forked_process_shares_nothing(options: SinkOptions) -> None:
    with pool.borrowed(options) as mine:
        pass
    child = os.fork()
    if child == 0:  # the child reports by its exit code only
        code = 1
        try:
            with pool.borrowed(options) as own:
                code = 0 if own is not mine and own.is_open else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with pool.borrowed(options) as again:
        assert again is mine
        again.channel().close()
