"""A client of one node, and a home of its queue that answers as it is told to.

    nodes = ScriptedNodes()
    nodes.consume(prefetch=1)
    nodes.deliver(41, b"body")
    assert nodes.hears() == [BasicDeliver("tag", 1, False, "", "q")]
    assert nodes.asks()[-1] == ("grant", 1, 1, WINDOW_BYTES)

For tests of what stands between the two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mqkit.wire import Properties, encode_header, encode_shortstr
from mqkit.wire.methods import BasicConsume, BasicQos, Method
from reference_broker.core.exchange.definitions import QueueDefinition
from reference_broker.core.message.content import Content
from reference_broker.core.remote.ports import Answer, Taker
from reference_broker.core.remote.remote_queue import RemoteQueue
from reference_broker.core.work.budget import UNLIMITED_UNITS
from reference_broker.testing.homes.scripted_home import ScriptedHome
from reference_broker.testing.lone_broker import LoneBroker

_ROUTE = encode_shortstr("") + encode_shortstr("q")


class ScriptedNodes:
    """A node with one client, and the home of its queue "q", whose id is 7; ``x_max_length=1`` is
    an argument of that, and a turn has as many ``units`` of work as you say."""

    def __init__(
        self, *, durable: bool = True, units: int = UNLIMITED_UNITS, **arguments: Any
    ) -> None:
        self.lone = LoneBroker(units=units)
        self.home = ScriptedHome()
        vhost = self.lone.broker.vhosts["/"]
        table = {key.replace("_", "-"): value for key, value in arguments.items()}
        vhost.enter_queue(QueueDefinition(7, "q", False, table, durable), self.home)
        queue = vhost.queues["q"]
        assert isinstance(queue, RemoteQueue)
        self.queue = queue
        self.client = self.lone.client()

    def asks(self) -> list[tuple[Any, ...]]:
        """All that the home was asked since the last call."""
        self.lone.complete()
        return self.home.take_asked()

    def hears(self) -> list[Any]:
        """All that the client was sent since the last call."""
        self.lone.complete()
        return self.client.methods()

    def ask(self, *methods: Method) -> None:
        """Have the client send methods."""
        self.client.send(1, *methods)

    def consume(self, prefetch: int = 0, *, no_ack: bool = False) -> None:
        """Have the client consume, as "tag"."""
        if prefetch:
            self.client.send(1, BasicQos(prefetch_count=prefetch))
        self.client.send(1, BasicConsume("q", "tag", no_ack=no_ack))
        self.lone.take(self.taker.attached)
        self.client.received()

    @property
    def taker(self) -> Taker:
        """The consumer that was attached first, as its home sees it."""
        return self.home.takers[1]

    def take(self, *acts: Callable[[], object]) -> None:
        """Have these be one input of the node."""

        def all_of_them() -> None:
            for act in acts:
                act()

        self.lone.take(all_of_them)

    def deliver(self, number: int, body: bytes = b"x", *, redelivered: bool = False) -> None:
        """Have the home hand out a message, as the lease of that number."""
        message = content(body)
        self.lone.take(lambda: self.taker.deliver(number, redelivered, message))

    def deliver_run(self, first: int, *bodies: bytes) -> None:
        """Likewise, several."""
        messages = [content(body) for body in bodies]
        self.lone.take(lambda: self.taker.deliver_run(first, messages))

    def answer(self, answer: Answer) -> None:
        """Have the home answer its oldest question."""
        self.lone.take(lambda: self.home.answer(answer))


def content(body: bytes) -> Content:
    """A message of the queue."""
    return Content(_ROUTE, encode_header(len(body), Properties()), body)
