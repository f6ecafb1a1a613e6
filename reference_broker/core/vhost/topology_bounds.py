"""Bounds on the queues, exchanges and bindings of a virtual host (law 7).

What exists already may be declared again at the bound, and what the journal holds is restored
beyond it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from reference_broker.core.base.names import described
from reference_broker.errors import ChannelException, ReplyCode

MAX_QUEUES = 100_000
"""An empty queue is a few KiB: several hundred MB in all. RabbitMQ's own advice stays far below."""

MAX_EXCHANGES = 20_000
"""One or two KiB each. An exchange per tenant is common, one per message is a leak."""

MAX_BINDINGS = 500_000
"""About one KiB each. Applications that bind per user session come near it; and each durable one
is read again at every start."""


@dataclass(frozen=True, slots=True)
class TopologyBounds:
    """The bounds of one virtual host. Each check raises :exc:`ChannelException` 406 when there is
    no room for one more; the texts for queues and exchanges are RabbitMQ's."""

    max_queues: int = MAX_QUEUES
    max_exchanges: int = MAX_EXCHANGES
    max_bindings: int = MAX_BINDINGS

    def with_queues_at_most(self, count: int | None) -> TopologyBounds:
        """These bounds with ``most`` queues, if that is fewer; ``None`` is no other limit."""
        return self if count is None else replace(self, max_queues=min(count, self.max_queues))

    def check_queues(self, count: int, name: str, vhost_name: str) -> None:
        if count >= self.max_queues:
            raise ChannelException(
                ReplyCode.PRECONDITION_FAILED,
                f"cannot declare queue '{name}': queue limit in vhost '{vhost_name}'"
                f" ({self.max_queues}) is reached",
            )

    def check_exchanges(self, count: int, name: str, vhost_name: str) -> None:
        if count >= self.max_exchanges:
            raise ChannelException(
                ReplyCode.PRECONDITION_FAILED,
                f"cannot declare {described('exchange', name, vhost_name)}:"
                f" exchange limit of {self.max_exchanges} is reached",
            )

    def check_bindings(self, count: int, source: str, vhost_name: str) -> None:
        if count >= self.max_bindings:
            raise ChannelException(
                ReplyCode.PRECONDITION_FAILED,
                f"cannot bind to {described('exchange', source, vhost_name)}:"
                f" binding limit in vhost '{vhost_name}' ({self.max_bindings}) is reached",
            )
