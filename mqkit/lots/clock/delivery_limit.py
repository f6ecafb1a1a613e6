"""Quorum lots that count looks. Pure.

A look is a get and a requeue. A quorum queue counts requeues, and drops a message that has more of
them than its delivery limit: 20 unless somebody said otherwise, since RabbitMQ 4.0 ("Quorum
Queues", poison message handling). A lot that mqkit compiles has a limit that is never reached.
"""

from __future__ import annotations

from collections.abc import Mapping

from mqkit.declaration import Queue
from mqkit.retry.compile import UNLIMITED_DELIVERIES
from mqkit.topology.compile import compile_topology
from mqkit.topology.model import Topology

DELIVERY_COUNT = "x-delivery-count"
SAFE_DELIVERIES = 10
"""Half of RabbitMQ's own limit: a person can still look at the message."""
ENOUGH = UNLIMITED_DELIVERIES // 2
LIMITED_SINCE = 4


def counts_looks(server: Mapping[str, object], topology: Topology, lot: str) -> bool:
    """True if the broker may drop a message of ``lot`` that is looked at too often: one that limits
    deliveries by itself, and a lot of which the file does not say that it has none."""
    major = str(server.get("version", "")).partition(".")[0]
    if server.get("product") != "RabbitMQ" or (major.isdigit() and int(major) < LIMITED_SINCE):
        return False
    for declared in compile_topology(topology):
        if isinstance(declared, Queue) and declared.name == lot:
            limit = declared.arguments.get("x-delivery-limit", 0)
            is_quorum = declared.arguments.get("x-queue-type") == "quorum"
            return is_quorum and not (isinstance(limit, int) and limit >= ENOUGH)
    return True


def is_near_limit(headers: Mapping[str, object]) -> bool:
    """True if a message with these headers should not be looked at again."""
    count = headers.get(DELIVERY_COUNT, 0)
    return isinstance(count, int) and count >= SAFE_DELIVERIES
