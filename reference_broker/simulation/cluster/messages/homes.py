"""Homes of queues, as one process has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_broker.core.queue.queue import Queue
from reference_broker.core.remote.remote_queue import RemoteQueue

if TYPE_CHECKING:
    from reference_broker.simulation.cluster.messages.message_model import Life
    from reference_broker.simulation.cluster.process import NodeProcess

VHOST = "/"


def queue_at(process: NodeProcess, name: str) -> Queue | None:
    """The queue, as the process has it."""
    vhost = process.broker.vhost(VHOST)
    return None if vhost is None else vhost.queues.get(name)


def is_routed(process: NodeProcess, exchange: str, name: str) -> bool:
    """True where the process routes what is published to ``exchange`` to the queue: the view of one
    that is cut off may not have that binding yet."""
    vhost = process.broker.vhost(VHOST)
    if vhost is None or name not in vhost.queues or exchange not in vhost.exchanges:
        return False
    bindings = vhost.exchanges[exchange].bindings.values()
    return not exchange or any(binding.destination == name for binding in bindings)


def home_of(process: NodeProcess, name: str) -> str | None:
    """The node that is the home of the queue."""
    queue = queue_at(process, name)
    if queue is None:
        return None
    return queue.home.node if isinstance(queue, RemoteQueue) else process.name


def life_of(process: NodeProcess, name: str) -> Life:
    """The process that is the home of the queue, as ``process`` reaches it in this moment."""
    home = home_of(process, name)
    if home is None:
        return None
    if home == process.name:
        return home, process.run
    link = process.mesh.links.get(home)
    return None if link is None else (home, link.peer.run)
