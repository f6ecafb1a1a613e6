"""The home of a queue that is just declared: the node that will have its messages.

    client-local (the default)            the node that the client is connected to
    balanced, least-leaders, random       of those that are there, the one with the fewest homes
    min-masters, random                   (classic queues: x-queue-master-locator)

So do the arguments ``x-queue-leader-locator`` and ``x-queue-master-locator`` say. What ends with a
connection or a node is where its client is, whatever they say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from reference_broker.cluster.membership.records import LiveRecord
from reference_broker.core.exchange.definitions import decode_queue

_LOCATORS = ("x-queue-leader-locator", "x-queue-master-locator")
_SPREAD = ("balanced", "least-leaders", "random", "min-masters")


class NodeRun(NamedTuple):
    """A node, by its name, in one of its runs; 0 stands for whichever it is in."""

    node: str
    run: int


class Placement:
    """The placement of queues by one node, ``own``. ``homes`` are the numbers of queues by home,
    and ``live`` the nodes that may get one, by name."""

    def __init__(
        self, own: NodeRun, homes: Mapping[str, int], live: Mapping[str, LiveRecord]
    ) -> None:
        self._own = own
        self._homes = homes
        self._live = live

    def home_of(self, body: bytes, *, with_node: bool) -> NodeRun:
        """The home for a queue of that definition, and the run of it with which the queue ends, if
        it does. Raises :exc:`Corrupt`."""
        own = self._own.node
        if with_node:
            return self._own
        arguments = decode_queue(body).arguments
        if not any(arguments.get(locator) in _SPREAD for locator in _LOCATORS):
            return NodeRun(own, 0)
        homes = self._homes
        fewest = min({*self._live, own}, key=lambda node: (homes.get(node, 0), node))
        return NodeRun(fewest, 0)
