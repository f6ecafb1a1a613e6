"""basic.consume: the kind of consumer that a queue gets by its type, and the checks before that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_broker.core.arguments.queue_type import QueueType, check_global_qos
from reference_broker.core.base.names import described
from reference_broker.core.channel.consume_arguments import ConsumeArguments
from reference_broker.core.channel.consumer import Consumer, CountingConsumer
from reference_broker.core.queue.rest import require_no_leaving

if TYPE_CHECKING:
    from mqkit.wire.methods import BasicConsume
    from reference_broker.core.channel.channel import Channel
    from reference_broker.core.queue.queue import Queue


def consume(channel: Channel, queue: Queue, tag: str, method: BasicConsume) -> None:
    """Add the consumer that ``method`` asks for to queue and channel, under a tag that is free.

    Raises what :func:`new_consumer` raises, 403 where the queue is not to be had, and
    :exc:`NotYet` where that hangs on consumers that are leaving; nothing is changed then.
    """
    consumer = new_consumer(channel, queue, tag, method)
    if queue.auto_delete or queue.rotation.refuses(consumer):
        require_no_leaving(queue)
    queue.add_consumer(consumer)
    channel.add_consumer(consumer)


def new_consumer(channel: Channel, queue: Queue, tag: str, method: BasicConsume) -> Consumer:
    """The consumer that ``method`` asks for. A quorum queue takes no notice of ``exclusive``
    (RabbitMQ).

    Raises :exc:`ChannelException` 406 for a bad argument, and :exc:`ConnectionException` 540 for a
    quorum queue on a channel with a global prefetch.
    """
    queue_type, vhost_name = queue.limits.queue_type, channel.vhost.name
    where = described("queue", queue.name, vhost_name)
    asked = ConsumeArguments.parse(method.arguments, where, queue_type.module)
    check_global_qos(queue_type, queue.name, vhost_name, channel.global_prefetch)
    kind = Consumer if queue.delivery_counts is None else CountingConsumer
    return kind(
        channel,
        queue,
        tag,
        no_ack=method.no_ack,
        exclusive=method.exclusive and queue_type is QueueType.CLASSIC,
        prefetch=channel.consumer_prefetch,
        arguments=method.arguments,
        asked=asked,
    )
