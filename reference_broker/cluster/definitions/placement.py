"""The home of a queue that is just declared: the node that will have its messages.

    client-local (the default)            the node that the client is connected to
    balanced, least-leaders, random       of those that are there, the one with the fewest homes
    min-masters, random                   (classic queues: x-queue-master-locator)

So say the arguments ``x-queue-leader-locator`` and ``x-queue-master-locator``; where a declaration
has neither, the key ``queue-leader-locator`` or ``queue-master-locator`` of the policy that is in
force for the queue's name at that moment. What ends with a connection or a node is where its client
is, whatever they say. A node that is draining gets no other queue, as long as one is there that is
not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from reference_broker.cluster.membership.records import LiveRecord, NodeState
from reference_broker.core.exchange.definitions import QueueDefinition, decode_queue

_LOCATORS = ("queue-leader-locator", "queue-master-locator")
_SPREAD = ("balanced", "least-leaders", "random", "min-masters")


class NodeRun(NamedTuple):
    """A node, by its name, in one of its runs; 0 stands for whichever it is in."""

    node: str
    run: int


PoliciesFor: TypeAlias = Callable[[str, QueueDefinition], Mapping[str, Any]]
"""The policies that a queue of a virtual host gets when it is declared, as one definition."""


class Placement:
    """The placement of queues by one node, ``own``. ``homes`` are the numbers of queues by home,
    ``live`` the nodes that may get one, by name, and ``policies`` those that are in force."""

    def __init__(
        self,
        own: NodeRun,
        homes: Mapping[str, int],
        live: Mapping[str, LiveRecord],
        policies: PoliciesFor,
    ) -> None:
        self._own = own
        self._homes = homes
        self._live = live
        self._policies = policies

    def home_of(self, vhost: str, body: bytes, *, with_node: bool) -> NodeRun:
        """The home for a queue of that definition, and the run of it with which the queue ends, if
        it does. Raises :exc:`Corrupt`."""
        own = self._own.node
        if with_node:
            return self._own
        is_spread = self._locator(vhost, decode_queue(body)) in _SPREAD
        taking = {node for node in (own, *self._live) if not self._is_draining(node)}
        if not taking or (own in taking and not is_spread):
            return NodeRun(own, 0)
        homes = self._homes
        return NodeRun(min(taking, key=lambda node: (homes.get(node, 0), node)), 0)

    def _is_draining(self, node: str) -> bool:
        record = self._live.get(node)
        return record is not None and record.state is NodeState.DRAINING

    def _locator(self, vhost: str, queue: QueueDefinition) -> Any:
        for key in _LOCATORS:
            if f"x-{key}" in queue.arguments:
                return queue.arguments[f"x-{key}"]
        policies = self._policies(vhost, queue)
        return next((policies[key] for key in _LOCATORS if key in policies), None)
