"""Message counts of one channel, put together from the attributes in which the hot paths count."""

from __future__ import annotations

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
