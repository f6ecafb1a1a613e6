"""The blocking seam: the verbs of :mod:`mqkit.transport.seam` without ``await``. Its adapters are
chosen by name in :mod:`mqkit.transport.blocking_choice`.

For scripts and Spark executors, whose code is not asynchronous. The same errors, the same
outcomes; what differs is said here:

* a call blocks its thread until the broker has answered; one that gets no answer in time raises
  :exc:`~mqkit.errors.DeadlineExceeded`, and its channel should be closed then;
* outcomes are :class:`concurrent.futures.Future` objects;
* callbacks (deliveries, closed, blocked) come on the adapter's own thread and must not block: of
  the verbs they may only settle deliveries;
* an object belongs to the process that made it: after a fork the child gets
  :exc:`~mqkit.errors.Closed`, and opens its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Protocol

from mqkit.declaration import Binding, Exchange, Queue, QueueState
from mqkit.message import Delivery, Message
from mqkit.outcome import Outcome
from mqkit.transport.seam import Endpoint, OnBlocked, OnCancel, OnClosed, OnDelivery, OnSettled


class BlockingChannel(Protocol):
    """One AMQP channel. Thread-safe; publishes of several threads interleave."""

    @property
    def is_open(self) -> bool:
        """False from the moment that the channel can't be used any more."""
        ...

    def declare_exchange(self, exchange: Exchange, *, passive: bool = False) -> None: ...
    def declare_queue(self, queue: Queue, *, passive: bool = False) -> QueueState: ...
    def bind(self, binding: Binding) -> None: ...
    def unbind(self, binding: Binding) -> None: ...
    def delete_exchange(self, name: str, *, if_unused: bool = False) -> None: ...
    def delete_queue(self, name: str, *, if_unused: bool = False, if_empty: bool = False) -> int:
        """Returns how many messages went with it."""
        ...

    def purge(self, queue: str) -> int:
        """Drops the ready messages; returns how many."""
        ...

    def qos(self, prefetch_count: int) -> None:
        """At most so many unacked deliveries per consumer started after this; 0 is unlimited."""
        ...

    def publish_many(
        self, messages: Sequence[Message], *, timeout_s: float | None = None
    ) -> list[Future[Outcome]]:
        """Hand the messages over for writing; one future each, in order.

        It waits while the channel's window is full - at most so many messages and bytes are
        unconfirmed at a time - and returns when the last message has its place in the window.
        When ``timeout_s`` passes before that, or the channel closes, the rest is not sent.

        On a confirm channel a future is done when the broker confirmed, nacked or returned its
        message, or - with ``Unknown`` - when the channel closed first or the message was not
        sent; a message that can't be encoded is ``Rejected``, as in the asyncio seam. On a channel
        without confirms the futures are done with ``Unknown`` when written.
        The futures never raise.
        """
        ...

    def publish_run(
        self,
        messages: Sequence[Message],
        on_settled: OnSettled,
        *,
        timeout_s: float | None = None,
    ) -> None:
        """As :meth:`publish_many`, but without a future for each: ``on_settled`` is called with the
        outcomes of messages that follow each other and are settled at once, and the position of the
        first of them in ``messages``. It is a callback, on whatever thread; it must not raise, and
        ``messages`` must not change before the last call."""
        ...

    def get(self, queue: str, *, no_ack: bool = False) -> Delivery | None:
        """One message if one is ready (``basic.get``)."""
        ...

    def get_many(self, queue: str, most: int) -> list[Delivery]:
        """Messages that are ready, in their order, ``most`` at most, unacked: fewer where the queue
        was empty meanwhile. All of them are in memory at a time."""
        ...

    def consume(
        self,
        queue: str,
        on_delivery: OnDelivery,
        *,
        on_cancel: OnCancel | None = None,
        no_ack: bool = False,
        exclusive: bool = False,
        consumer_tag: str = "",
        arguments: Mapping[str, object] | None = None,
    ) -> str:
        """Start a consumer; returns its tag. ``arguments`` are those of ``basic.consume``."""
        ...

    def cancel(self, consumer_tag: str) -> None:
        """Stop the consumer; deliveries already made stay unacked until settled."""
        ...

    def ack(self, delivery_tag: int, *, multiple: bool = False) -> None: ...
    def nack(self, delivery_tag: int, *, multiple: bool = False, requeue: bool = True) -> None: ...
    def close(self) -> None:
        """Idempotent. Unacked deliveries go back to their queues."""
        ...

    def on_closed(self, callback: OnClosed) -> None:
        """Register a callback; called at once if the channel is closed already."""
        ...


class BlockingConnection(Protocol):
    """One TCP connection. mqkit never publishes and consumes on the same one."""

    @property
    def is_open(self) -> bool: ...
    @property
    def server_properties(self) -> dict[str, object]:
        """The broker's own description: ``product``, ``version``, ``capabilities`` ..."""
        ...

    @property
    def blocked_s(self) -> float:
        """For how many seconds in all the broker has had this connection blocked so far."""
        ...

    def channel(self, *, confirms: bool = False) -> BlockingChannel:
        """Open a channel, in confirm mode if asked."""
        ...

    def close(self) -> None:
        """Idempotent; closes the channels too."""
        ...

    def on_blocked(self, callback: OnBlocked) -> None: ...
    def on_closed(self, callback: OnClosed) -> None: ...


class BlockingTransport(Protocol):
    """Opens connections. Has no state of its own: it can be pickled, and used after a fork."""

    def connect(
        self, endpoint: Endpoint, *, name: str, timeout_s: float, heartbeat_s: int = 60
    ) -> BlockingConnection:
        """Open one connection, or raise as :meth:`mqkit.transport.seam.Transport.connect`."""
        ...
