"""A faulty proxy for tests without an event loop, and apps that publish through it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pika
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

import mqkit
import mqkit.sync
from mqkit.testing.proxy import FaultyProxy

WAIT_S = 20.0
LOOK_EVERY_S = 0.005


class Faults:
    """The verbs of a :class:`FaultyProxy`, which runs on a thread of its own."""

    def __init__(self, portal: BlockingPortal, proxy: FaultyProxy) -> None:
        self._portal = portal
        self._proxy = proxy
        self.url = proxy.url

    def act(self, verb: str, *arguments: object) -> None:
        self._portal.call(getattr(self._proxy, verb), *arguments)

    @property
    def connections(self) -> int:
        return self._proxy.connections

    @property
    def accepted(self) -> int:
        return self._proxy.accepted


def until(is_so: Callable[[], bool]) -> None:
    """Wait for something that another thread brings about, and tells nobody of."""
    never = threading.Event()
    for _ in range(int(WAIT_S / LOOK_EVERY_S)):
        if is_so():
            return
        never.wait(LOOK_EVERY_S)
    raise AssertionError("it did not come about")


@pytest.fixture(name="until")
def _until() -> Callable[[Callable[[], bool]], None]:
    return until


@pytest.fixture
def faults(broker_url: str) -> Iterator[Faults]:
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(FaultyProxy.before(broker_url)) as proxy,
    ):
        yield Faults(portal, proxy)


@pytest.fixture
def direct(broker_url: str, name: str) -> Iterator[Any]:
    """A channel past the proxy, and the queue that the test publishes to."""
    with pika.BlockingConnection(pika.URLParameters(broker_url)) as connection:
        channel = connection.channel()
        channel.queue_declare(name, durable=True)
        yield channel
        connection.channel().queue_delete(name)


@pytest.fixture
def bodies(direct: Any, name: str) -> Callable[[], list[bytes]]:
    """Takes all bodies out of the queue."""

    def taken() -> list[bytes]:
        found = []
        while (got := direct.basic_get(name, auto_ack=True))[0] is not None:
            found.append(got[2])
        return found

    return taken


@pytest.fixture(params=["native", "pika"])
def app(request: pytest.FixtureRequest, faults: Faults, direct: Any) -> Iterator[mqkit.sync.App]:
    """Over either transport, through the proxy; it connects again soon."""
    settings = mqkit.Settings.load(
        urls=faults.url,
        reconnect_first_s=0.01,
        reconnect_max_s=0.05,
        max_message_bytes=1000,
        publish_deadline_s=WAIT_S,
        publish_window=100,
    )
    with mqkit.sync.App(settings=settings, transport=request.param) as app:
        yield app
