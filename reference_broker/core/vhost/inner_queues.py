"""Inner queues: the queues that a virtual host makes for its exchanges and queues, and no client
can name. A delayed exchange holds back its messages in one; a deduplication window is one.

They are made here, and stand in the topology from when their owner does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from reference_broker.core.base.ids import Ids
from reference_broker.core.base.names import described
from reference_broker.core.exchange.deduplication_rule import DeduplicationRule
from reference_broker.core.exchange.deduplication_window import DeduplicationWindow
from reference_broker.core.exchange.definitions import DELAYED, SEEN
from reference_broker.core.exchange.delayed_messages import delayed_messages
from reference_broker.core.exchange.exchange import Exchange, ExchangeType

if TYPE_CHECKING:
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.vhost.vhost import VHost


class InnerQueues:
    """The maker of the inner queues of one virtual host; ``ids`` are where new ones get theirs."""

    __slots__ = ("_ids", "_vhost")

    def __init__(self, vhost: VHost, ids: Ids) -> None:
        self._vhost = vhost
        self._ids = ids

    def add_to_exchange(self, exchange: Exchange) -> None:
        """Give a new exchange the queues that its type and arguments ask for. Raises
        :exc:`ChannelException` 406 for a bad argument of deduplication."""
        self._add(exchange, DeduplicationRule.of(exchange.type, exchange.arguments), {})

    def restore_exchange(self, exchange: Exchange, ids: Mapping[str, int]) -> None:
        """Give an exchange of the journal its queues; ``ids`` are those they had, by kind. A bad
        argument, which an earlier version took, is passed over."""
        self._add(exchange, DeduplicationRule.of_stored(exchange.type, exchange.arguments), ids)

    def _add(
        self, exchange: Exchange, rule: DeduplicationRule | None, ids: Mapping[str, int]
    ) -> None:
        if exchange.type is ExchangeType.DELAYED:
            id = ids.get(DELAYED) or self._ids.next()
            exchange.delays = delayed_messages(exchange, id, self._vhost)
        if rule is not None:
            exchange.deduplication = DeduplicationWindow(
                described("exchange", exchange.name, self._vhost.name),
                rule,
                ids.get(SEEN) or self._ids.next(),
                self._vhost,
                durable=exchange.durable,
            )

    def add_to_queue(self, queue: Queue, rule: DeduplicationRule, id: int | None) -> None:
        """Give a queue that takes each message once its window; ``id`` is what the window was given
        before, ``None`` for a new one."""
        queue.deduplication = DeduplicationWindow(
            described("queue", queue.name, self._vhost.name),
            rule,
            id or self._ids.next(),
            self._vhost,
            durable=queue.durable and queue.owner is None,
        )
