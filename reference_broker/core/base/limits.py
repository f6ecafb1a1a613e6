"""Every bound on what a peer can make the broker hold or do, with its reason (law 7).

What an operator may want to move is in :class:`Limits`; the rest are constants.
"""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20

FRAME_SIZE_BEFORE_TUNE = 8192
"""Until connection.tune-ok, since nobody has logged in yet: RabbitMQ 4's ``initial_frame_max``. The
specification's 4,096 (section 4.2.3) is too little for a token as the password. It bounds the SASL
response too, and what a client may send ahead while its login is checked."""

FRAME_SIZE_MIN = 4096
"""A smaller frame_max in tune-ok is refused: it could make one message a million frames."""

HANDSHAKE_S = 10.0
"""From the accepted socket to connection.open, in all and not per read (as RabbitMQ)."""

LOGIN_REFUSED_S = 3.0
"""From a refused login to the end of the socket, where the client is not told or does not answer:
RabbitMQ's silent_close_delay. A client that is told, and answers close-ok, is closed then."""

CLOSE_OK_S = 10.0
"""Seconds that the broker waits for close-ok after its own connection.close."""

LEAVING_S = 30.0
"""Seconds in which a client that has closed must close its socket too, if no heartbeat is shorter
(RabbitMQ's closing timeout)."""

MISSED_HEARTBEATS_MAX = 2
"""A peer that was silent for this many heartbeat intervals is gone (spec section 4.2.7)."""

MESSAGE_SIZE_MAX = 128 * MIB
"""Above this no operator may set ``Limits.message_size_max``: a body is one block of memory from
its first frame to its last delivery. (RabbitMQ 3's default; what is larger belongs in a file.)"""

UNACKED_MAX = 65_535
"""Deliveries that one channel may hold unacknowledged: as many as basic.qos can ask for at all.
A consumer without a prefetch gets no more than this before it acknowledges."""

TRANSACTIONS_PER_WATERMARK = 4
"""All uncommitted transactions together may hold this part of the memory watermark. (RabbitMQ has
no bound, and a broker that is full of them stays blocked.)"""

CONSUMERS_MAX = 4_096
"""Consumers of one channel: each is looked at whenever its queue has something to hand out."""

CHANNEL_TARGETS_MAX = 256
"""Resolved (exchange, routing key) pairs that any channel may remember, each about half a KiB."""

SHARED_TARGETS_MAX = 32_768
"""Resolved pairs that all channels together may remember beyond that. Who has more keys pays
for routing, as it would anywhere."""

DELIVERY_OUTPUT_BYTES_MAX = 1 * MIB
"""Bytes that wait for one client's socket before it is sent no more deliveries: two to four round
trips of a fast network. What is not handed out stays in the queue, for somebody who reads."""

REPLY_OUTPUT_BYTES_MAX = 8 * MIB
"""Bytes that wait for one client's socket before no more of its requests are read, and those that
were read already wait too: a last answer (and a last delivery) may go over it."""

PARKED_BYTES_MAX = 1 * MIB
"""Frames of suspended channels that a connection may have parked before it is read no further.
(One read may carry it over this by the size of a read.)"""

PARKED_FRAME_OVERHEAD_BYTES = 128
"""Accounted for each parked frame beside its payload, which may be empty: the objects around it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds that an operator may set. The defaults are RabbitMQ 4's where it has one."""

    connections_max: int = 10_000
    """Accepted sockets, whether they have logged in or not. About 30 KiB each when idle."""
    handshakes_per_address_max: int = 2_500
    """Sockets from one address that have not opened their virtual host yet. A quarter of all, so
    that one host that says nothing leaves room for others, and all clients behind one proxy can
    still come back at the same moment."""
    channel_max: int = 2_047
    """Channels of one connection."""
    frame_max: int = 131_072
    """Bytes of one frame, header and end octet included."""
    heartbeat_s: int = 60
    """Seconds that connection.tune suggests; the client's answer holds. 0 is none."""
    message_size_max: int = 16 * MIB
    """Bytes of one message's body."""
    memory_high_watermark_bytes: int = 1_024 * MIB
    """Bytes of messages that the broker holds before it stops reading from publishers."""
    consumer_timeout_ms: int = 1_800_000
    """The time in which a client must settle a message, where neither its consumer nor the
    queue says another time. 0 is for ever."""
    disk_free_limit_bytes: int = 50_000_000
    """Free on the data folder's disk before it stops reading from publishers. 0 is no limit."""
