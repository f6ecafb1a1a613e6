"""Calls from threads, through a faulty proxy, to handlers of another app."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pydantic import BaseModel

import mqkit
import mqkit.sync
from mqkit.errors import (
    CallRejected,
    Closed,
    ConfigurationError,
    ConnectionLost,
    DeadlineExceeded,
    RemoteError,
)
from mqkit.rpc.channel_room import CHANNELS_MAX
from mqkit.topology import loads

WAIT_S = 20.0
UNDER_WAY = 40


class Ask(BaseModel):
    number: int


class Told(BaseModel):
    number: int
    double: int


class Prices:
    """A queue, and its handler, which does what a test says."""

    def __init__(self, url: str, queue: str) -> None:
        self.queue = queue
        self.begun: list[int] = []
        self.handle: Callable[[int], object] = lambda number: Told(number=number, double=2 * number)
        self.app = mqkit.sync.App(url, loads(f"queues: {{{queue}: {{}}}}"))
        self.app.consumer(queue, concurrency=8)(self.answer)

    def answer(self, ask: Ask) -> object:
        self.begun.append(ask.number)
        return self.handle(ask.number)

    def told(self, app: mqkit.sync.App, number: int, deadline: Any = WAIT_S) -> Told:
        return app.call("", self.queue, Ask(number=number), reply=Told, deadline=deadline)


@pytest.fixture
def prices(broker_url: str, name: str, direct: Any) -> Iterator[Prices]:
    prices = Prices(broker_url, name)
    with prices.app, prices.app.running():
        yield prices


@pytest.fixture
def held(prices: Prices) -> Iterator[threading.Semaphore]:
    """Handlers begin, which it counts, and end with the test."""
    begun, ended = threading.Semaphore(0), threading.Event()

    def hold(number: int) -> None:
        begun.release()
        ended.wait(WAIT_S)

    prices.handle = hold
    yield begun
    ended.set()


def test_many_threads_get_each_its_own_answer(
    app: mqkit.sync.App, prices: Prices, faults: Any
) -> None:
    with ThreadPoolExecutor(8) as threads:
        told = list(threads.map(lambda number: prices.told(app, number), range(UNDER_WAY)))
    assert told == [Told(number=n, double=2 * n) for n in range(UNDER_WAY)]
    assert sorted(prices.begun) == list(range(UNDER_WAY))
    assert app.publish("", prices.queue, Ask(number=-1))
    assert faults.accepted == 1


def test_what_the_handler_raises_is_raised_here(app: mqkit.sync.App, prices: Prices) -> None:
    def fail(number: int) -> None:
        raise LookupError("no such flight")

    prices.handle = fail
    with pytest.raises(RemoteError, match="LookupError: no such flight"):
        prices.told(app, 1)
    assert prices.begun == [1]


def test_what_nobody_can_get_is_rejected_and_costs_no_other_call(
    app: mqkit.sync.App, prices: Prices
) -> None:
    with pytest.raises(CallRejected, match="unroutable"):
        app.call("", f"{prices.queue}.typo", b"", reply=bytes)
    with pytest.raises(CallRejected, match="no such exchange"):
        app.call(f"{prices.queue}.typo", "", b"", reply=bytes)
    with pytest.raises(CallRejected, match="too large: 1001 bytes"):
        app.call("", prices.queue, b"x" * 1001, reply=bytes)
    with pytest.raises(mqkit.BodyMisfit):
        app.call("", prices.queue, Ask(number=1), reply=int)
    with pytest.raises(ConfigurationError):
        app.call("", prices.queue, Ask(number=1), reply=threading.Lock)
    assert prices.told(app, 2) == Told(number=2, double=4)
    assert prices.begun == [1, 2]


def test_there_may_be_more_exchanges_than_channels(
    app: mqkit.sync.App, prices: Prices, direct: Any
) -> None:
    exchanges = [f"{prices.queue}.{number}" for number in range(CHANNELS_MAX + 2)]
    for exchange in exchanges:
        direct.exchange_declare(exchange)
        direct.queue_bind(prices.queue, exchange, "k")
    try:
        told = [app.call(each, "k", Ask(number=1), reply=Told) for each in exchanges]
    finally:
        for exchange in exchanges:
            direct.exchange_delete(exchange)
    assert len(told) == CHANNELS_MAX + 2
    caller: Any = app._own.caller
    assert list(caller._channels) == exchanges[2:]


def test_the_deadline_ends_the_waiting(
    app: mqkit.sync.App, prices: Prices, held: threading.Semaphore
) -> None:
    with pytest.raises(DeadlineExceeded, match=r"no answer from '' '.*' within 0\.05 s \(client:"):
        prices.told(app, 1, "50ms")


def test_a_lost_connection_fails_the_calls_under_way_and_asks_none_twice(
    app: mqkit.sync.App, prices: Prices, held: threading.Semaphore, faults: Any
) -> None:
    with ThreadPoolExecutor(4) as threads:
        calls = [threads.submit(prices.told, app, number) for number in range(4)]
        for _ in calls:
            assert held.acquire(timeout=WAIT_S)
        faults.act("cut")
        for call in calls:
            with pytest.raises(ConnectionLost):
                call.result(WAIT_S)
    prices.handle = lambda number: Told(number=number, double=0)
    assert prices.told(app, 5).number == 5
    assert sorted(prices.begun) == [0, 1, 2, 3, 5]


def test_a_broker_that_blocks_or_is_silent_is_waited_for_until_the_deadline(
    app: mqkit.sync.App, prices: Prices, faults: Any, until: Any
) -> None:
    assert app.publish("", prices.queue, Ask(number=0))
    faults.act("block", "full")
    link: Any = app._own.caller._link
    until(lambda: link.blocked is not None)
    with pytest.raises(DeadlineExceeded, match="client: blocked: the broker blocks: full"):
        prices.told(app, 1, "50ms")
    faults.act("unblock")
    until(lambda: link.blocked is None)
    faults.act("stall")
    with pytest.raises(DeadlineExceeded, match="client: ready"):
        prices.told(app, 2, "50ms")
    faults.act("resume")
    assert prices.told(app, 3) == Told(number=3, double=6)


def test_the_end_of_the_app_ends_its_calls(
    app: mqkit.sync.App, prices: Prices, held: threading.Semaphore
) -> None:
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(prices.told, app, 1)
        assert held.acquire(timeout=WAIT_S)
        app._own.close(0.0)
        with pytest.raises(Closed):
            call.result(WAIT_S)
    with pytest.raises(Closed):
        prices.told(app, 2)


def test_a_child_asks_over_a_connection_of_its_own(
    app: mqkit.sync.App, prices: Prices, faults: Any
) -> None:
    assert prices.told(app, 1) == Told(number=1, double=2)
    child = os.fork()
    if not child:
        code = 1
        try:
            code = 0 if prices.told(app, 2).double == 4 else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert prices.told(app, 3) == Told(number=3, double=6)
    assert faults.accepted == 2
