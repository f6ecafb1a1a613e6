"""Recovery of a virtual host: its policies and topology, as the journal defines them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from reference_broker.core.queue.delayed_returns import restore_delays
from reference_broker.core.queue.delivery_counts import restore_counts
from reference_broker.core.vhost.queue_declaration import stored_queue

if TYPE_CHECKING:
    from reference_broker.core.vhost.topology import Topology
    from reference_broker.core.vhost.vhost import VHost


def restore_vhost(vhost: VHost, topology: Topology, definitions: Mapping[str, bytes]) -> None:
    """Take up the definitions of ``vhost`` into it and its ``topology``, which are new. Raises
    :exc:`Corrupt` for a definition that can't be read."""
    vhost.policies.restore(definitions)
    topology.restore(definitions, partial(stored_queue, vhost), vhost.inner_queues.restore_exchange)
    restore_counts(definitions, vhost.name, vhost.queues_by_id, vhost.journal)
    restore_delays(definitions, vhost.name, vhost.queues_by_id, vhost.journal)
    for exchange in vhost.exchanges.values():
        vhost.policies.adopt_exchange(exchange)
