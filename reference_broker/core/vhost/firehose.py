"""The firehose: a copy of each message that clients publish, and of each that they are given
(rabbitmq.com/docs/firehose).

While a virtual host is traced, its exchange ``amq.rabbitmq.trace`` gets

    publish.EXCHANGE    for a message that came in, with the queues that it was routed to
    deliver.QUEUE       for one that went out, to a consumer or by basic.get

with the message's body, and what it was in the headers. The copies are not traced themselves, nor
are they dead letters, transfers, or what comes over HTTP. They are transient and never confirmed:
one that a queue refuses is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, cast

from mqkit.wire import (
    LENIENT,
    EncodeError,
    Properties,
    Typed,
    decode_header,
    decode_table,
    encode_header,
    encode_shortstr,
)
from reference_broker.core.dead_letter.dead_letter_route import split_route
from reference_broker.core.message.content import Content
from reference_broker.core.message.copy_keys import cc_keys
from reference_broker.core.message.header import HEADERS, headers_of, read_facts, split_properties
from reference_broker.core.queue.enqueue import enqueue
from reference_broker.core.remote.forward import send_away

if TYPE_CHECKING:
    from reference_broker.core.base.peer import Peer
    from reference_broker.core.queue.lease import Lease
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.vhost.vhost import VHost

TRACE_EXCHANGE = "amq.rabbitmq.trace"
_SELF = encode_shortstr(TRACE_EXCHANGE)
_SHORTSTR_MAX = 255


class TracedConnection(Protocol):
    """A connection, as far as a copy says over which one the message went."""

    @property
    def node_name(self) -> str:
        """Name of the broker that the client is connected to."""
        ...

    @property
    def peer(self) -> Peer:
        """Address of the client, in the form in which a copy shows it."""
        ...

    @property
    def user_name(self) -> str:
        """Name of the user who logged in."""
        ...


class TracedChannel(Protocol):
    """A channel, as far as a copy says over which one the message went."""

    number: int

    @property
    def connection(self) -> TracedConnection:
        """The connection of the channel."""
        ...


class TracedHolder(Protocol):
    """The holder of a lease that is traced: a consumer, or the channel of a basic.get."""

    @property
    def channel(self) -> TracedChannel | None:
        """The channel over which the message went out; ``None`` where another node has it."""
        ...


class Firehose:
    """The firehose of one virtual host: there is one while the virtual host is traced."""

    __slots__ = ("_vhost",)

    def __init__(self, vhost: VHost) -> None:
        self._vhost = vhost

    def published(
        self, channel: TracedChannel, queues: Sequence[Queue], content: Content, sent: bytes
    ) -> None:
        """Copy a message that came in over ``channel`` and goes to ``queues``. ``sent`` is its
        header as it was published, with BCC."""
        exchange, key = split_route(content.route)
        headers = headers_of(sent)
        keys = [key, *cc_keys(headers, "CC"), *cc_keys(headers, "BCC")]
        routed = [_text(queue.name) for queue in queues]
        self._emit(b"publish." + exchange, channel, content, keys, {"routed_queues": routed})

    def delivered(self, leases: Iterable[Lease]) -> None:
        """Copy the messages of ``leases``, which were handed out to a consumer or by basic.get.
        Those that go to another node's clients are copied there."""
        for lease in leases:
            channel = cast(TracedHolder, lease.holder).channel
            if channel is None:
                continue
            content = lease.content
            keys = [split_route(content.route)[1], *cc_keys(headers_of(content.header))]
            name = lease.queue.name.encode(errors="surrogateescape")
            about = {"redelivered": int(lease.redelivered)}
            self._emit(b"deliver." + name, channel, content, keys, about)

    def _emit(
        self,
        key: bytes,
        channel: TracedChannel,
        content: Content,
        keys: Sequence[bytes],
        about: dict[str, Any],
    ) -> None:
        if content.route.startswith(_SELF):
            return
        text = key[:_SHORTSTR_MAX].decode(errors="surrogateescape")
        connection = channel.connection
        properties = _properties(content.header)
        headers = {
            "exchange_name": _text(split_route(content.route)[0]),
            "routing_keys": [_text(each) for each in keys],
            "properties": properties,
            "node": connection.node_name,
            **about,
            "vhost": _text(self._vhost.name),
            "connection": str(connection.peer),
            "channel": channel.number,
            "user": _text(connection.user_name),
        }
        try:
            header = encode_header(len(content.body), Properties(headers=headers))
        except EncodeError:  # its headers are as deep as a table may be, and here two levels deeper
            del properties["headers"]
            header = encode_header(len(content.body), Properties(headers=headers))
        queues = self._vhost.route(TRACE_EXCHANGE, text, header, again=True)
        if queues:
            copy = Content(_SELF + encode_shortstr(text, LENIENT), header, content.body)
            here, _ = send_away(queues, copy, None)
            if here:
                enqueue(here, copy, read_facts(header), self._vhost)


def _properties(header: bytes) -> dict[str, Any]:
    """The properties of the message, by name; times are seconds, as RabbitMQ gives them."""
    properties = decode_header(header)[1]
    found: dict[str, Any] = {}
    for field in fields(properties):
        value = getattr(properties, field.name)
        if value is None or field.name == "headers":
            continue
        if isinstance(value, datetime):
            value = int(value.timestamp())
        found[field.name] = _text(value) if isinstance(value, str) else value
    table = split_properties(header).get(HEADERS)
    if table is not None:
        found["headers"] = decode_table(table, exact=True)[0]
    return found


def _text(value: str | bytes) -> Typed:
    """A long string of the octets of ``value``, which need not be UTF-8."""
    octets = value.encode(errors="surrogateescape") if isinstance(value, str) else value
    return Typed("S", octets)
