"""The kind of consumer for each mode of acking, and for order by key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from mqkit.consumer.acks.before import AckBeforeConsumer
from mqkit.consumer.acks.manual import ManualConsumer
from mqkit.consumer.acks.mode import AckMode
from mqkit.consumer.acks.none import UnackedConsumer
from mqkit.consumer.consumer import Consumer
from mqkit.consumer.partitions.key import PartitionBy, key_of
from mqkit.consumer.partitions.partitioned_consumer import PartitionedConsumer
from mqkit.errors import ConfigurationError

CONSUMERS: Mapping[AckMode, type[Consumer]] = {
    AckMode.AFTER: Consumer,
    AckMode.BEFORE: AckBeforeConsumer,
    AckMode.MANUAL: ManualConsumer,
    AckMode.NONE: UnackedConsumer,
}


def consumer_of(mode: AckMode, partition_by: PartitionBy | None) -> Callable[..., Consumer]:
    """The class of the consumer, its options for order bound. Raises
    :exc:`~mqkit.errors.ConfigurationError` for order with another ack than after the handler."""
    if partition_by is None:
        return CONSUMERS[mode]
    if mode is not AckMode.AFTER:
        raise ConfigurationError(
            f'partition_by with ack="{mode}": a retry that is waited for is a message that is not'
            ' settled, so order goes with ack="after" only'
        )
    return partial(PartitionedConsumer, key_of=key_of(partition_by))
