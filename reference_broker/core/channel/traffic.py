"""Message counts of one channel, put together from the attributes in which the hot paths count."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from reference_broker.core.vhost.traffic import Traffic

if TYPE_CHECKING:
    from reference_broker.core.channel.channel import Channel


def traffic_of(channel: Channel) -> Traffic:
    """The counts of a channel so far."""
    confirms = channel.confirms
    got = channel.got + channel.got_no_ack
    handed_out = channel.next_delivery_tag - 1
    return Traffic(
        publish=channel.published,
        confirm=0 if confirms is None else confirms.confirmed,
        return_unroutable=channel.returned,
        drop_unroutable=channel.unroutable,
        ack=channel.acked,
        deliver=handed_out - got - channel.delivered_no_ack,
        deliver_no_ack=channel.delivered_no_ack,
        get=channel.got,
        get_no_ack=channel.got_no_ack,
        get_empty=channel.got_empty,
        redeliver=channel.redelivered,
    )


def traffic_of_all(channels: Collection[Channel]) -> Traffic:
    """The counts of ``channels`` so far, together: column by column, as a connection that ends has
    two thousand of them at once."""
    got = sum([channel.got for channel in channels])
    got_no_ack = sum([channel.got_no_ack for channel in channels])
    deliver_no_ack = sum([channel.delivered_no_ack for channel in channels])
    handed_out = sum([channel.next_delivery_tag - 1 for channel in channels])
    confirms = [channel.confirms for channel in channels if channel.confirms is not None]
    return Traffic(
        publish=sum([channel.published for channel in channels]),
        confirm=sum([each.confirmed for each in confirms]),
        return_unroutable=sum([channel.returned for channel in channels]),
        drop_unroutable=sum([channel.unroutable for channel in channels]),
        ack=sum([channel.acked for channel in channels]),
        deliver=handed_out - got - got_no_ack - deliver_no_ack,
        deliver_no_ack=deliver_no_ack,
        get=got,
        get_no_ack=got_no_ack,
        get_empty=sum([channel.got_empty for channel in channels]),
        redeliver=sum([channel.redelivered for channel in channels]),
    )
