"""Homes of queues, as one process has them."""

from __future__ import annotations

from collections.abc import Mapping
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


def is_linked_with_home(
    process: NodeProcess, name: str, processes: Mapping[str, NodeProcess]
) -> bool:
    """True where the home of the queue, one of ``processes``, has the same link with ``process``
    that this has with it. A process that stood for a while may still hand out what was under way
    when its home gave the link up."""
    home = home_of(process, name)
    if home is None:
        return False
    if home == process.name:
        return processes[home] is process
    link, back = process.mesh.links.get(home), processes[home].mesh.links.get(process.name)
    if link is None or back is None or processes[home].is_gone:
        return False
    runs = (processes[home].run, process.run)
    is_same = link.peer.connection == back.peer.connection
    return is_same and (link.peer.run, back.peer.run) == runs


def life_of(process: NodeProcess, name: str) -> Life:
    """The process that is the home of the queue, as ``process`` reaches it in this moment."""
    home = home_of(process, name)
    if home is None:
        return None
    if home == process.name:
        return home, process.run
    link = process.mesh.links.get(home)
    return None if link is None else (home, link.peer.run)
