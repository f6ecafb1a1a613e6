"""The seam to the network: three small protocols that every adapter keeps.

A :class:`Transport` connects; a :class:`Connection` opens channels; a :class:`Channel` declares,
binds, sets qos, publishes many, consumes in batches and settles. Adapters translate their library's
types and errors here, so that nothing above this line knows aio-pika or pika:

* the broker closed the channel -> :exc:`mqkit.errors.ChannelError`
* the broker closed or refused the connection -> :exc:`mqkit.errors.ConnectionRefused`
* the network went away -> :exc:`mqkit.errors.ConnectionLost` / :exc:`mqkit.errors.Unreachable`
* nobody said a word at all -> :exc:`mqkit.errors.Unanswered`
* settling on a channel that is gone -> :exc:`mqkit.errors.StaleDelivery`

An adapter recovers nothing by itself: a channel or connection that is closed stays closed, and the
supervisor opens a new one. After it is closed every verb raises why: :exc:`ChannelError` or
:exc:`ConnectionRefused` with the broker's words, :exc:`ConnectionLost`, or
:exc:`mqkit.errors.Closed` when this program closed it - but for settling, which raises
``StaleDelivery``, and for publishing, whose futures say ``Unknown``.

No verb but ``connect`` has a timeout of its own; put one around it. A verb that is cancelled while
it waits for the broker's answer closes the channel, for nobody would know what the late answer
belongs to.

The blocking adapter has the same verbs without ``await`` (:mod:`mqkit.transport.blocking`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable
from urllib.parse import quote

from mqkit.declaration import Binding, Exchange, Queue, QueueState
from mqkit.errors import MqkitError
from mqkit.message import Delivery, Message
from mqkit.outcome import Outcome
from mqkit.tls import DEFAULT_TLS, TlsOptions

OnDelivery = Callable[[Delivery], None]
"""Called in order, on the event loop, for each delivery. Must not block."""

OnCancel = Callable[[str], None]
"""Called with the consumer tag when the broker cancelled the consumer (its queue is gone)."""

OnBlocked = Callable[[str | None], None]
"""Called with the broker's reason at ``connection.blocked``, with ``None`` at unblocked."""

OnClosed = Callable[[MqkitError | None], None]
"""Called once when the object is closed: with ``None`` if this program closed it."""

OnSettled: TypeAlias = Callable[[int, Sequence[Outcome]], None]
"""Called with a position and the outcomes of the publishes from there on. Must not raise."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """A login. The password never shows in a repr."""

    username: str = "guest"
    password: str = "guest"

    def __repr__(self) -> str:
        return f"Credentials(username={self.username!r}, password='***')"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A broker's address, and the login for it. Parse one from a URL with :func:`mqkit.url.parse`.

    ``external``: by the client's certificate (EXTERNAL) and not by the credentials.
    """

    host: str = "127.0.0.1"
    port: int = 5672
    vhost: str = "/"
    credentials: Credentials = Credentials()
    tls: bool = False
    tls_options: TlsOptions = DEFAULT_TLS
    external: bool = False

    def __str__(self) -> str:
        scheme = "amqps" if self.tls else "amqp"
        user = quote(self.credentials.username, safe="")
        host = f"[{self.host}]" if ":" in self.host else self.host
        vhost = "" if self.vhost == "/" else quote(self.vhost, safe="")
        return f"{scheme}://{user}:***@{host}:{self.port}/{vhost}"


class Channel(Protocol):
    """One AMQP channel. Not to be shared between tasks that both publish, or both settle."""

    @property
    def is_open(self) -> bool:
        """False from the moment that the channel can't be used any more."""
        ...

    @property
    def unconfirmed(self) -> int:
        """The number of publishes that the broker has not answered; 0 without confirms."""
        ...

    async def wait_quiescent(self) -> None:
        """Return when nothing is unconfirmed: all is answered, or the channel is closed."""
        ...

    async def declare_exchange(self, exchange: Exchange, *, passive: bool = False) -> None: ...
    async def declare_queue(self, queue: Queue, *, passive: bool = False) -> QueueState: ...
    async def bind(self, binding: Binding) -> None: ...
    async def unbind(self, binding: Binding) -> None: ...
    async def delete_exchange(self, name: str, *, if_unused: bool = False) -> None: ...
    async def delete_queue(
        self, name: str, *, if_unused: bool = False, if_empty: bool = False
    ) -> int:
        """Returns how many messages went with it."""
        ...

    async def purge(self, queue: str) -> int:
        """Drops the ready messages; returns how many."""
        ...

    async def qos(self, prefetch_count: int) -> None:
        """At most so many unacked deliveries per consumer started after this; 0 is unlimited."""
        ...

    async def publish_many(self, messages: Sequence[Message]) -> list[asyncio.Future[Outcome]]:
        """Write the messages and return at once, one future each, in order.

        On a confirm channel a future is done when the broker confirmed, nacked or returned its
        message, or when the channel closed first: ``Rejected`` for the message that the broker
        closed it for, ``Unknown`` for the others. Futures never raise, and do not mind if they
        are cancelled. On a channel without confirms they are ``Unknown`` as soon as written, and
        on one that is closed at once. ``Unknown.sent`` is false for those of which it
        is certain that no octet was written.
        It waits while the socket's buffer is full: that is the back-pressure.

        A message that can't be encoded (a name over 255 bytes, a header value of a type that AMQP
        has not) is not written, and ``Rejected`` as refused; the others go.
        """
        ...

    async def get(self, queue: str, *, no_ack: bool = False) -> Delivery | None:
        """One message if one is ready (``basic.get``)."""
        ...

    async def consume(
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
        """Start a consumer; returns its tag. ``arguments`` are those of ``basic.consume``:
        ``x-priority`` and the like."""
        ...

    async def cancel(self, consumer_tag: str) -> None:
        """Stop the consumer; deliveries already made stay unacked until settled."""
        ...

    async def ack(self, delivery_tag: int, *, multiple: bool = False) -> None: ...
    async def nack(
        self, delivery_tag: int, *, multiple: bool = False, requeue: bool = True
    ) -> None: ...
    async def close(self) -> None:
        """Idempotent. Unacked deliveries go back to their queues."""
        ...

    def on_closed(self, callback: OnClosed) -> None:
        """Register a callback; called at once if the channel is closed already."""
        ...


@runtime_checkable
class PublishesRuns(Protocol):
    """A channel that can do without a future for each message. Most can't."""

    async def publish_run(self, messages: Sequence[Message], on_settled: OnSettled) -> None:
        """As :meth:`Channel.publish_many`, but ``on_settled`` is called with the outcomes of
        messages that follow each other and are settled at once, and the position of the first of
        them in ``messages``. When the channel closes, callbacks of :meth:`Channel.on_closed` come
        before the outcomes that this leaves."""
        ...

    @property
    def can_publish_now(self) -> bool:
        """True if the channel is open, and the socket's buffer has room."""
        ...

    def publish_now(self, message: Message, on_settled: OnSettled) -> None:
        """As :meth:`publish_run` with one message, but the socket has it when this returns, and not
        at the end of the event loop's turn: for a message that no other could share a write with.
        It never waits, so ask :attr:`can_publish_now` first."""
        ...


@runtime_checkable
class TransactionalChannel(Channel, Protocol):
    """A channel in transaction mode (AMQP 0-9-1, class ``tx``): publishes and settlements count
    when they are committed, all of them or none if the connection ends before. Close it to roll
    back. The futures of publishes are ``Unknown``, as on any channel without confirms."""

    async def commit(self) -> list[Message]:
        """Return when the broker has what was published and settled since the last commit, and
        begin the next transaction.

        The result are mandatory messages that no queue took: they are nowhere, while the
        settlements have been done. Raises :exc:`~mqkit.errors.ChannelError` where a queue refused
        its message (406 for one that is full and rejects publishes): the settlements have been
        done then, too, so publish into such a queue with confirms. A broker that is killed during
        a commit may have done a part of it.
        """
        ...


@runtime_checkable
class OpensTransactions(Protocol):
    """A connection that has channels in transaction mode. Those of the asyncio adapters are."""

    async def transactional_channel(self) -> TransactionalChannel:
        """Open a channel in transaction mode."""
        ...


class Connection(Protocol):
    """One TCP connection. mqkit never publishes and consumes on the same one."""

    @property
    def is_open(self) -> bool: ...
    @property
    def server_properties(self) -> dict[str, object]:
        """The broker's own description: ``product``, ``version``, ``capabilities`` ..."""
        ...

    async def channel(self, *, confirms: bool = False) -> Channel:
        """Open a channel, in confirm mode if asked."""
        ...

    async def close(self) -> None:
        """Idempotent; closes the channels too."""
        ...

    def on_blocked(self, callback: OnBlocked) -> None:
        """Register a callback; called at once with the reason if the connection is blocked."""
        ...

    def on_closed(self, callback: OnClosed) -> None:
        """Register a callback; called at once if the connection is closed already."""
        ...


@runtime_checkable
class PausesReading(Protocol):
    """A connection that can leave what arrives in the socket. Those of the asyncio adapters can."""

    @property
    def is_open(self) -> bool: ...

    def pause_reading(self) -> None:
        """Read no more, so that a broker with much to send has to wait. What was read already
        still arrives, the broker's heartbeats are not missed, and answers wait with the rest.
        Idempotent."""
        ...

    def resume_reading(self) -> None:
        """Read again. Idempotent."""
        ...


class Transport(Protocol):
    """Opens connections. Has no state of its own."""

    async def connect(
        self, endpoint: Endpoint, *, name: str, timeout_s: float, heartbeat_s: int = 60
    ) -> Connection:
        """Open one connection, or raise :exc:`~mqkit.errors.Unreachable` (and of that
        :exc:`~mqkit.errors.Unanswered`, which is tried again soon),
        :exc:`~mqkit.errors.ConnectionRefused` (also for a wrong password) or
        :exc:`~mqkit.errors.DeadlineExceeded` within ``timeout_s`` seconds.
        ``name`` is shown in the broker's connection list.
        """
        ...
