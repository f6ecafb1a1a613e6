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
from reference_broker.core.exchange.definitions import inner_queue_key
from reference_broker.core.exchange.delayed_messages import delayed_messages
from reference_broker.core.exchange.exchange import Exchange, ExchangeType
from reference_broker.core.journal.definition_keys import DELAYED, QUEUE_SEEN, SEEN

if TYPE_CHECKING:
    from reference_broker.core.vhost.vhost import VHost


class InnerQueues:
    """The maker of the inner queues of one virtual host; ``ids`` are where new ones get theirs.
    ``kept`` are ids by the keys of definitions: of durable ones whose owner is still to come, since
    it is what the nodes of a cluster have agreed on."""

    __slots__ = ("_ids", "_kept", "_vhost")

    def __init__(self, vhost: VHost, ids: Ids, kept: dict[str, int]) -> None:
        self._vhost = vhost
        self._ids = ids
        self._kept = kept

    def _id_of(self, kind: str, owner_name: str, *, durable: bool) -> int:
        key = inner_queue_key(kind, self._vhost.name, owner_name)
        return (self._kept.pop(key, 0) if durable else 0) or self._ids.next()

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
            id = ids.get(DELAYED) or self._id_of(DELAYED, exchange.name, durable=exchange.durable)
            exchange.delays = delayed_messages(exchange, id, self._vhost)
        if rule is not None:
            exchange.deduplication = DeduplicationWindow(
                described("exchange", exchange.name, self._vhost.name),
                rule,
                ids.get(SEEN) or self._id_of(SEEN, exchange.name, durable=exchange.durable),
                self._vhost,
                durable=exchange.durable,
            )

    def window_of_queue(
        self, name: str, rule: DeduplicationRule, id: int | None, *, durable: bool
    ) -> DeduplicationWindow:
        """The window of the queue ``name``, which takes each message once; ``id`` is the id that
        the window had before, ``None`` for a new one."""
        owner = described("queue", name, self._vhost.name)
        id = id or self._id_of(QUEUE_SEEN, name, durable=durable)
        return DeduplicationWindow(owner, rule, id, self._vhost, durable=durable)
