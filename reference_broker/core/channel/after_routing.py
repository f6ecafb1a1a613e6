"""The steps after the routing of a message: into queues, to a reply consumer, or back to its
publisher.

The hot path (:mod:`reference_broker.core.hot_path.publish`) does the same in line, for messages
that only go into queues.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from mqkit.wire import encode_shortstr
from reference_broker.core.queue.enqueue import enqueue
from reference_broker.core.remote.forward import send_away
from reference_broker.core.remote.remote_queue import RemoteQueue
from reference_broker.errors import ReplyCode

if TYPE_CHECKING:
    from reference_broker.core.channel.channel import Channel
    from reference_broker.core.channel.confirms import ChannelConfirms
    from reference_broker.core.channel.publish_target import PublishTarget
    from reference_broker.core.message.content import Content
    from reference_broker.core.message.header import HeaderFacts
    from reference_broker.core.queue.queue import Queue

RETURN_NO_ROUTE = struct.pack(">HHH", 60, 50, ReplyCode.NO_ROUTE) + encode_shortstr("NO_ROUTE")
"""The payload of basic.return, up to the exchange name and routing key."""


def place(
    channel: Channel,
    target: PublishTarget,
    queues: Sequence[Queue],
    content: Content,
    facts: HeaderFacts,
) -> bool:
    """Hand ``content`` on from ``channel``, which published it. False: a queue refused it.

    All of ``queues`` are here. A mandatory message that reached nobody is returned; an answer for a
    reply consumer that is there is not. (RabbitMQ 3 returns it too; who gets both can't know what
    to believe.)
    """
    replied = deliver_reply(channel, target, content)
    if queues:
        return enqueue(queues, content, facts, channel.vhost)
    if replied:
        return True
    if target.mandatory:
        return_unroutable(channel, target, content)
    else:
        channel.unroutable += 1
    return True


def publish_away(channel: Channel, queues: Sequence[Queue], content: Content) -> tuple[Queue, ...]:
    """Publish the channel's next message to those of ``queues`` that are elsewhere; returns the
    others. Where there are none it counts as published, and can be confirmed when the homes have
    answered."""
    confirms = channel.confirms
    refused = None if confirms is None else partial(confirms.nack, confirms.published + 1)
    here, marks = send_away(queues, content, refused)
    channel.broker.budget.left -= 1
    if confirms is not None:
        confirms.await_marks(marks)
        confirms.published += not here
    return here


def forward_run(channel: Channel, queue: Queue, contents: Sequence[Content]) -> None:
    """Publish the channel's next messages, which are alike, to the node where their only queue
    is. The caller counts them as published."""
    assert isinstance(queue, RemoteQueue)
    home, confirms = queue.home, channel.confirms
    refused = None
    if confirms is not None:
        first = confirms.published + 1
        refused = partial(_nack, confirms, first)
    number = home.publish_run(queue.id, contents, refused)
    queue.published += len(contents)
    if confirms is not None:
        confirms.await_marks(((home.confirmed, number),))


def _nack(confirms: ChannelConfirms, first: int, place: int) -> None:
    confirms.nack(first + place)


def deliver_reply(channel: Channel, target: PublishTarget, content: Content) -> bool:
    """Hand an answer to the reply consumer that it is for; false where there is none."""
    replies = channel.broker.direct_replies
    return target.reply_address != "" and replies.deliver(target.reply_address, content)


def return_unroutable(channel: Channel, target: PublishTarget, content: Content) -> None:
    """Give a mandatory message that reached nobody back to the client."""
    if channel.confirms is not None:
        channel.broker.ledger.before_return(channel.confirms)
    channel.returned += 1
    channel.send_content(RETURN_NO_ROUTE + target.route, content)
