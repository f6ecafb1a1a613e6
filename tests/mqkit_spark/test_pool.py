"""mqkit_spark.pool: a connection outlives a task, and a broken one does not come back."""

from __future__ import annotations

import contextlib
import os

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


def test_a_connection_idle_for_too_long_is_closed_at_the_next_use(
    options: SinkOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pool.borrowed(options) as old:
        pass
    monkeypatch.setattr(pool, "IDLE_MAX_S", -1.0)
    with pool.borrowed(SinkOptions(url=options.url, exchange="", max_in_flight=5)):
        pass
    assert not old.is_open


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
