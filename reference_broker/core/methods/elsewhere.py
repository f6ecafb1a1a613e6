"""The methods that ask a queue whose home is another node. Each waits for the home's answer with
the channel suspended, so that what a client sends behind it comes after it there, too.

While the home is down each is refused with 404, as RabbitMQ does for a classic queue. Where the
home says that the queue is gone, the method waits until it is gone here, too, and is handled again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from mqkit.wire import encode_table
from mqkit.wire.methods import (
    BasicCancel,
    BasicCancelOk,
    BasicConsume,
    BasicConsumeOk,
    BasicGet,
    BasicGetEmpty,
    QueueDeclare,
    QueueDelete,
    QueueDeleteOk,
    QueuePurge,
    QueuePurgeOk,
)
from reference_broker.core.channel.channel_state import ChannelState
from reference_broker.core.channel.consume import new_consumer
from reference_broker.core.channel.got import send_got
from reference_broker.core.queue.removal import NO_CONTENT
from reference_broker.core.remote.ports import Counts, QueueGone, Terms
from reference_broker.core.remote.remote_queue import RemoteQueue
from reference_broker.core.work.task import agreed

_AskingMethod: TypeAlias = (
    BasicConsume | BasicCancel | BasicGet | QueueDeclare | QueuePurge | QueueDelete
)

if TYPE_CHECKING:
    from reference_broker.core.channel.channel import Channel
    from reference_broker.core.channel.consumer import Consumer
    from reference_broker.core.queue.lease import Lease
    from reference_broker.core.remote.attachment import Attachment
    from reference_broker.core.work.task import Steps


def consume_elsewhere(channel: Channel, queue: RemoteQueue, tag: str, method: BasicConsume) -> None:
    """basic.consume, with a ``tag`` that is free."""
    consumer = new_consumer(channel, queue, tag, method)
    table = encode_table(method.arguments)[_LENGTH_OCTETS:]
    terms = Terms(tag, consumer.no_ack, consumer.exclusive, table)
    attached: list[Attachment] = []

    def steps() -> Steps:
        attached.append((yield from queue.attach(consumer, terms)))

    def answer() -> None:
        if channel.state is not ChannelState.OPEN:
            queue.remove_consumer(consumer)
            return
        channel.add_consumer(consumer)
        if not method.nowait:
            channel.reply(BasicConsumeOk(consumer_tag=tag))
        attached[0].begin()

    _perform(channel, queue, method, steps(), answer)


def cancel_elsewhere(channel: Channel, consumer: Consumer, method: BasicCancel) -> None:
    """basic.cancel of a consumer that was removed from its queue here."""
    assert isinstance(consumer.queue, RemoteQueue)

    def answer() -> None:
        if channel.state is ChannelState.OPEN and not method.nowait:
            channel.reply(BasicCancelOk(consumer_tag=method.consumer_tag))

    _perform(channel, consumer.queue, method, consumer.queue.until_left(consumer), answer)


def get_elsewhere(channel: Channel, queue: RemoteQueue, method: BasicGet) -> None:
    """basic.get. A message that comes for a channel that has ended goes back unseen."""
    found: list[tuple[Lease | None, int]] = []

    def steps() -> Steps:
        found.append((yield from queue.fetch(channel, no_ack=method.no_ack)))

    def answer() -> None:
        lease, left = found[0]
        if channel.state is not ChannelState.OPEN:
            if lease is not None:
                queue.give_back_unseen(lease)
        elif lease is None:
            channel.note_got_empty()
            channel.reply(BasicGetEmpty())
        else:
            send_got(channel, lease, lease.content, left, no_ack=method.no_ack)
            lease.content = NO_CONTENT  # the home has the message as long as it is unacked

    _perform(channel, queue, method, steps(), answer)


def count_elsewhere(
    channel: Channel,
    queue: RemoteQueue,
    method: QueueDeclare,
    answer_with: Callable[[int, int], None],
) -> None:
    """The home's counts for the answer to queue.declare: messages, and consumers."""

    found: list[Counts] = []

    def steps() -> Steps:
        found.append((yield from queue.count()))

    def answer() -> None:
        if channel.state is ChannelState.OPEN:
            answer_with(found[0].ready, found[0].declared_consumers)

    _perform(channel, queue, method, steps(), answer)


def purge_elsewhere(channel: Channel, queue: RemoteQueue, method: QueuePurge) -> None:
    """queue.purge."""
    purged: list[int] = []

    def steps() -> Steps:
        purged.append((yield from queue.purge()))

    def answer() -> None:
        if channel.state is ChannelState.OPEN and not method.nowait:
            channel.reply(QueuePurgeOk(message_count=purged[0]))

    _perform(channel, queue, method, steps(), answer)


def delete_elsewhere(channel: Channel, queue: RemoteQueue, method: QueueDelete) -> None:
    """queue.delete: the conditions are the home's to know, and the definition is everybody's."""
    counted: list[int] = []
    delete = partial(channel.vhost.delete_queue, queue.name, owner=channel.connection)

    def steps() -> Steps:
        counts = yield from queue.require_deletable(
            if_unused=method.if_unused, if_empty=method.if_empty
        )
        counted.append(counts.ready)
        yield from agreed(delete)

    def answer() -> None:
        if channel.state is ChannelState.OPEN and not method.nowait:
            ok = QueueDeleteOk(message_count=counted[0])
            channel.reply_defined(ok, durable=queue.durable)

    channel.hold_notices()
    _perform(channel, queue, method, steps(), answer)


def _perform(
    channel: Channel,
    queue: RemoteQueue,
    method: _AskingMethod,
    steps: Steps,
    answer: Callable[[], None],
) -> None:
    """Take the steps of a method, and then answer it, or handle it again."""
    is_gone = False

    def until_answered() -> Steps:
        nonlocal is_gone
        try:
            yield from steps
        except QueueGone:
            is_gone = True
            while not queue.deleted:
                yield queue.ended

    def then() -> None:
        if not is_gone:
            answer()
        elif channel.state is ChannelState.OPEN:
            channel.handle_again(method)

    channel.perform(until_answered(), then, (method.CLASS_ID, method.METHOD_ID))


_LENGTH_OCTETS = 4
"""Octets of a field table's length, with which it begins."""
