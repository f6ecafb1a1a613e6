"""The answer to basic.get that found a message."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from reference_broker.core.channel.ack_timeout import timeout_of

if TYPE_CHECKING:
    from reference_broker.core.channel.channel import Channel
    from reference_broker.core.message.content import Content
    from reference_broker.core.queue.lease import Lease

_GET_OK = struct.Struct(">HHQ?")
"""The payload of basic.get-ok, up to the exchange name and routing key; :data:`_COUNT` follows
those."""
_COUNT = struct.Struct(">I")


def send_got(channel: Channel, lease: Lease, content: Content, left: int, *, no_ack: bool) -> None:
    """Send ``content``, the message of ``lease`` as its holder is to see it, to the client;
    ``left`` are ready behind it. Unless ``no_ack`` it is unacked from now on."""
    delivery_tag = channel.allot_tag()
    got = _GET_OK.pack(60, 71, delivery_tag, lease.redelivered)
    channel.send_content(got + content.route + _COUNT.pack(left), content)
    channel.note_got(delivery_tag, lease, no_ack=no_ack)
    if channel.vhost.firehose is not None:
        channel.vhost.firehose.delivered((lease,))
    if not no_ack:
        channel.ack_timeout.watch(timeout_of(channel, channel, lease.queue))
