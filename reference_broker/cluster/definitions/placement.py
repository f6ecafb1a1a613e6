"""The home of a queue that is just declared: the node that will have its messages.

    client-local (the default)            the node that the client is connected to
    balanced, least-leaders, random       of those that are there, the one with the fewest homes
    min-masters, random                   (classic queues: x-queue-master-locator)

So do the arguments ``x-queue-leader-locator`` and ``x-queue-master-locator`` say. What ends with a
connection or a node is where its client is, whatever they say.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from reference_broker.core.exchange.definitions import decode_queue

_LOCATORS = ("x-queue-leader-locator", "x-queue-master-locator")
_SPREAD = ("balanced", "least-leaders", "random", "min-masters")


class Placement:
    """The placement of queues by one node. ``homes`` are the numbers of queues by home, and
    ``live`` the names of the nodes that may get one."""

    def __init__(self, own: str, homes: Mapping[str, int], live: Collection[str]) -> None:
        self._own = own
        self._homes = homes
        self._live = live

    def home_of(self, body: bytes, *, with_node: bool) -> str:
        """The home for a queue of that definition. Raises :exc:`Corrupt`."""
        if with_node:
            return self._own
        arguments = decode_queue(body).arguments
        if not any(arguments.get(locator) in _SPREAD for locator in _LOCATORS):
            return self._own
        homes = self._homes
        return min({*self._live, self._own}, key=lambda node: (homes.get(node, 0), node))
