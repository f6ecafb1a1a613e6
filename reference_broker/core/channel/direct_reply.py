"""Direct reply-to: an answer goes straight to the channel that asked, through no queue
(rabbitmq.com/docs/direct-reply-to).

    client                                      server
    basic.consume amq.rabbitmq.reply-to
    publish, reply_to=amq.rabbitmq.reply-to ->  reply_to=amq.rabbitmq.reply-to.TOKEN.TOKEN==
    basic.deliver                           <-  publish to the default exchange, that is its key

The tokens are the only proof that somebody was asked, so nobody can guess them. (RabbitMQ has its
channel in the first and a key in the second, in base64, and there are programs that know that
form.) They end with the reply consumer, and so with its channel; an answer that comes later goes
nowhere, like any message that has no queue. Answers are not acknowledged, and none waits anywhere
but in the client's output.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

from mqkit.wire import encode_shortstr
from mqkit.wire.methods import QueueDeclareOk
from reference_broker.core.base.ids import TOKEN_LENGTH
from reference_broker.core.base.limits import REPLY_OUTPUT_BYTES_MAX
from reference_broker.core.base.names import cleaned, not_found
from reference_broker.core.dead_letter.dead_letter_route import split_route
from reference_broker.core.message.header import REPLY_TO, join_properties, split_properties
from reference_broker.errors import ChannelException, ReplyCode

if TYPE_CHECKING:
    from reference_broker.core.base.ids import Ids
    from reference_broker.core.channel.channel import Channel
    from reference_broker.core.message.content import Content
    from reference_broker.core.remote.ports import Home

PSEUDO_QUEUE = "amq.rabbitmq.reply-to"
"""The name that a client consumes from and gives as its reply_to. There is no such queue."""

REPLY_CONSUMER_BYTES = 420
"""Accounted for each reply consumer, of which a channel has one at most."""

ADDRESS_PREFIX = PSEUDO_QUEUE + "."

_ASKS = encode_shortstr(PSEUDO_QUEUE)
_DELIVER = struct.pack(">HH", 60, 60)
_DELIVERY_TAG_AND_REDELIVERED = struct.Struct(">Q?")


class ReplyConsumer:
    """A channel that takes answers under one ``address``: the routing key to reach it by."""

    __slots__ = ("_channel", "_head", "address", "tag")

    def __init__(self, channel: Channel, tag: str, address: str) -> None:
        self.tag = tag
        self.address = address
        self._channel = channel
        self._head = _DELIVER + encode_shortstr(tag)

    def deliver(self, content: Content) -> bool:
        """Send an answer. False when the client doesn't read what it has been sent already: then
        there is no room for it, and nothing else could keep it."""
        channel = self._channel
        if channel.connection.output_size > REPLY_OUTPUT_BYTES_MAX:
            return False
        delivery_tag = channel.allot_tag()
        channel.delivered_no_ack += 1
        numbered = _DELIVERY_TAG_AND_REDELIVERED.pack(delivery_tag, False)
        channel.send_content(self._head + numbered + content.route, content)
        return True


class DirectReplies:
    """The reply consumers of a broker, by address: the one who answers may be on another
    connection, in another virtual host (RabbitMQ), or on another node of the cluster, whose number
    is in the address then."""

    def __init__(self) -> None:
        self._by_address: dict[str, ReplyConsumer] = {}
        self._node = ""
        self._home_by_node: Callable[[int], Home | None] = lambda _: None

    def join(self, number: int, home_by_number: Callable[[int], Home | None]) -> None:
        """The broker is the node of that number in a cluster. Addresses say so from now on, and an
        answer goes to the node of its address, where that can be reached."""
        self._node = str(number)
        self._home_by_node = home_by_number

    def __len__(self) -> int:
        return len(self._by_address)

    def __contains__(self, address: str) -> bool:
        return address in self._by_address

    def add(self, consumer: ReplyConsumer) -> None:
        """Have answers reach ``consumer`` until :meth:`remove`."""
        self._by_address[consumer.address] = consumer

    def remove(self, consumer: ReplyConsumer) -> None:
        """Have no answer reach the consumer any more. Idempotent."""
        self._by_address.pop(consumer.address, None)

    def deliver(self, address: str, content: Content) -> bool:
        """Hand an answer to the consumer of ``address``; true when there was one and it had room,
        or it is another node's: that hands it on, or nobody does."""
        consumer = self._by_address.get(address)
        if consumer is not None:
            return consumer.deliver(content)
        home = self._home_of(address)
        if home is None or not home.is_up or not home.has_room:
            return False
        home.publish((), content)
        return True

    def take(self, content: Content) -> None:
        """Another node has an answer for a consumer of this one, which its routing key names."""
        address = split_route(content.route)[1].decode(errors="surrogateescape")
        consumer = self._by_address.get(address)
        if consumer is not None:
            consumer.deliver(content)

    def new_address(self, ids: Ids) -> str:
        """An address that was never given before."""
        return f"{ADDRESS_PREFIX}{ids.token()}{self._node}.{ids.token()}=="

    def may_have(self, address: str) -> bool:
        """True for a consumer that is here, and for one of a node that can be reached."""
        home = self._home_of(address)
        return address in self._by_address or (home is not None and home.is_up)

    def _home_of(self, address: str) -> Home | None:
        node = address[len(ADDRESS_PREFIX) + TOKEN_LENGTH :].partition(".")[0]
        if not (self._node and node.isascii() and node.isdecimal()) or node == self._node:
            return None
        return self._home_by_node(int(node))


def consume(channel: Channel, tag: str, *, no_ack: bool) -> None:
    """basic.consume from the pseudo-queue: once per channel at a time.

    Raises :exc:`ChannelException` 406 without ``no_ack``, and where the channel consumes from it
    already.
    """
    if channel.reply_consumer is not None:
        raise _refusal("reply consumer already set")
    if not no_ack:
        raise _refusal("reply consumer cannot acknowledge")
    broker = channel.broker
    consumer = ReplyConsumer(channel, tag, broker.direct_replies.new_address(broker.ids))
    channel.reply_consumer = consumer
    broker.direct_replies.add(consumer)


def cancel(channel: Channel) -> None:
    """End the reply consumer of the channel. Does nothing when it has none."""
    consumer, channel.reply_consumer = channel.reply_consumer, None
    if consumer is not None:
        channel.broker.direct_replies.remove(consumer)


def declared(channel: Channel, name: str) -> QueueDeclareOk:
    """queue.declare, passive or not, of the pseudo-queue, or of an address to see if somebody is
    still there. Raises :exc:`ChannelException` 404."""
    name = cleaned(name)
    if name != PSEUDO_QUEUE and not channel.broker.direct_replies.may_have(name):
        raise not_found("queue", name, channel.vhost.name)
    channel.note_declared(name)
    return QueueDeclareOk(queue=name, message_count=0, consumer_count=1)


def addressed(channel: Channel, header: bytes) -> bytes:
    """The header with the channel's own address as its reply_to, if the pseudo-queue is there now.

    Raises :exc:`ChannelException` 406 where the channel has no reply consumer.
    """
    properties = split_properties(header)
    if properties.get(REPLY_TO) != _ASKS:
        return header
    if channel.reply_consumer is None:
        raise _refusal("fast reply consumer does not exist")
    properties[REPLY_TO] = encode_shortstr(channel.reply_consumer.address)
    return join_properties(header, properties)


def address_of(exchange: str, routing_key: str) -> str:
    """The reply consumer's address that a message is published to; empty for an ordinary route."""
    return routing_key if not exchange and routing_key.startswith(ADDRESS_PREFIX) else ""


def _refusal(text: str) -> ChannelException:
    return ChannelException(ReplyCode.PRECONDITION_FAILED, text)
