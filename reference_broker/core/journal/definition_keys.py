"""The keys of definitions in the journal: ``kind/virtual host/name``, the name as it is.

Which value stands behind a key is the business of the room that writes it:
:mod:`reference_broker.core.exchange.definitions` for exchanges, queues and bindings,
:mod:`~reference_broker.core.queue.delivery_counts` and
:mod:`~reference_broker.core.queue.delayed_returns` for counts and delays,
:mod:`~reference_broker.core.journal.clock_mark` for the clock mark,
:mod:`~reference_broker.core.policy.policy_definition` for policies.
"""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import quote

EXCHANGE = "exchange"
QUEUE = "queue"
DELAYED = "delayed"
SEEN = "seen"
INNER_QUEUES = (DELAYED, SEEN)
"""Queues that are part of an exchange: its delayed messages, and its deduplication window."""
QUEUE_SEEN = "queue-seen"
"""The deduplication window of a queue."""
BINDING = "binding"
COUNTS = "counts"
COUNT = "count"
"""The kind of a delivery count that an earlier version kept by itself."""
DELAYS = "~delays"
CLOCK = "~clock"
NODE_MARK = "cluster_node"
"""The mark of the folder of a node of a cluster, whose definitions are elsewhere; and how much of
them it has seen."""
NODE_COPY = "cluster_copy"
"""A copy of what is elsewhere."""

_PREFIXES_KEPT = 1_024
"""Of kinds and virtual hosts: a queue may go with a hundred thousand bindings, each with a key."""


@lru_cache(maxsize=_PREFIXES_KEPT)
def key_prefix(kind: str, vhost_name: str) -> str:
    """The beginning of the keys of all objects of a kind in a virtual host, and of no others."""
    return f"{kind}/{quote(vhost_name, safe='')}/"
