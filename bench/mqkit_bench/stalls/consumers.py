"""Actions with very many consumers, channels or unacked messages."""

from __future__ import annotations

from mqkit import wire
from mqkit.wire import methods
from mqkit_bench.session import Session
from mqkit_bench.stalls import frames
from mqkit_bench.stalls.action import Play
from mqkit_bench.stalls.tenant import PLAY_TIMEOUT_S, Tenant, drain, write

CHANNELS = 2_000
"""Of one connection: 2,047 is the most that RabbitMQ's clients are offered."""
CONSUMERS_PER_CHANNEL = 4_000
"""The reference broker takes 4,096."""
RECOVERS = 20
EXTRA = 20
"""Messages beyond what all consumers hold."""


def consume(tenant: Tenant) -> Play:
    session = tenant.prepare([frames.declare("watched")])
    channels = _open_channels(session, tenant.count(40_000))
    octets = _watchers(tenant.count(40_000))

    def play() -> str:
        session.socket.sendall(octets)
        return _barriers(session, channels)

    return play


def publish_to_busy_consumers(tenant: Tenant) -> Play:
    """Messages into a queue whose very many consumers each hold all that they may."""
    consumers = tenant.count(40_000)
    watcher = tenant.prepare([frames.declare("watched")])
    channels = _open_channels(watcher, consumers)
    for number in channels:
        watcher.call(number, methods.BasicQos(prefetch_count=1), methods.BasicQosOk)
    watcher.socket.sendall(_watchers(consumers))
    session = tenant.prepare(consumers * [frames.publish("", "watched")])
    drain(watcher.socket, frames.BODY_ON_ANY_CHANNEL, consumers)
    octets = EXTRA * frames.publish("", "watched")

    def play() -> str:
        write(session, octets)
        return tenant.await_ready(session, "watched", EXTRA)

    return play


def consume_and_cancel(tenant: Tenant) -> Play:
    session = tenant.prepare([frames.declare("watched")])
    pairs = (frames.consume("watched", t) + frames.cancel(t) for t in _tags(tenant.count(50_000)))
    octets = b"".join(pairs)
    return lambda: write(session, octets)


def consumers_leave(tenant: Tenant) -> Play:
    """A connection ends whose consumers were the last of 20,000 auto-delete queues."""
    queues = [f"left.{number}" for number in range(tenant.count(20_000))]
    declared = (frames.declare(queue, auto_delete=True) for queue in queues)
    watcher = tenant.prepare(declared)
    channels = _open_channels(watcher, len(queues))
    watcher.socket.sendall(b"".join(_consume(n, queue) for n, queue in enumerate(queues)))
    _barriers(watcher, channels)
    return lambda: _close(tenant, watcher, queues[-1])


def exclusive_queues(tenant: Tenant) -> Play:
    """They are deleted with their connection."""
    queues = [f"own.{number}" for number in range(tenant.count(20_000))]
    owner = tenant.prepare(frames.declare(queue, exclusive=True) for queue in queues)
    return lambda: _close(tenant, owner, queues[-1])


def unacked_close(tenant: Tenant) -> Play:
    messages = tenant.count(960_000)
    session = tenant.prepare([frames.declare("held")])
    tenant.fill("held", messages)
    holder = tenant.hold("held", messages)

    def play() -> str:
        holder.close()
        return tenant.await_ready(session, "held", messages)

    return play


def recover(tenant: Tenant) -> Play:
    messages = tenant.count(65_000)
    tenant.prepare([frames.declare("held")])
    tenant.fill("held", messages)
    holder = tenant.hold("held", messages)
    octets = RECOVERS * wire.method_frame(1, methods.BasicRecover(requeue=True))
    answer = wire.method_frame(1, methods.BasicRecoverOk())

    def play() -> str:
        holder.socket.settimeout(PLAY_TIMEOUT_S)
        holder.socket.sendall(octets)
        drain(holder.socket, answer, RECOVERS)
        return ""

    return play


def channels(tenant: Tenant) -> Play:
    """Channels are opened and closed, five times 2,000 in one write."""
    session = tenant.prepare([])
    numbers = range(2, 2 + tenant.count(CHANNELS))
    opened = b"".join(wire.method_frame(number, methods.ChannelOpen()) for number in numbers)
    closed = b"".join(wire.method_frame(number, methods.ChannelClose()) for number in numbers)
    return lambda: write(session, 5 * (opened + closed))


def channels_with_unacked(tenant: Tenant) -> Play:
    """A connection ends whose 2,000 channels hold ten messages each."""
    numbers = range(2, 2 + tenant.count(CHANNELS))
    queues = [f"held.{number}" for number in numbers]
    publisher = tenant.prepare(map(frames.declare, queues))
    write(publisher, b"".join(10 * frames.publish("", queue) for queue in queues))
    holder = tenant.session()
    for number, queue in zip(numbers, queues, strict=True):
        holder.call(number, methods.ChannelOpen(), methods.ChannelOpenOk)
        holder.socket.sendall(frames.on_channel(number, frames.consume(queue)))
        drain(holder.socket, frames.on_channel(number, frames.BODY_FRAME), 10)

    def play() -> str:
        holder.close()
        return tenant.await_ready(publisher, queues[-1], 10)

    return play


def _close(tenant: Tenant, session: Session, queue: str) -> str:
    """Close the connection, and wait until its last queue is gone."""
    session.close()
    return tenant.await_gone(queue)


def _open_channels(session: Session, consumers: int) -> range:
    """As many channels as so many consumers need; the first one is there."""
    channels = range(1, 2 + (consumers - 1) // CONSUMERS_PER_CHANNEL)
    for number in channels[1:]:
        session.call(number, methods.ChannelOpen(), methods.ChannelOpenOk)
    return channels


def _barriers(session: Session, channels: range) -> str:
    """Wait until all that was sent on these channels is handled. No remark."""
    session.socket.settimeout(PLAY_TIMEOUT_S)
    for number in channels:
        session.call(number, methods.BasicQos(), methods.BasicQosOk)
    return ""


def _watchers(count: int) -> bytes:
    return b"".join(_consume(number, "watched") for number in range(count))


def _consume(number: int, queue: str) -> bytes:
    """Consumer ``number`` of its connection, on the channel that has room for it."""
    channel = 1 + number // CONSUMERS_PER_CHANNEL
    return frames.on_channel(channel, frames.consume(queue, f"c{number}"))


def _tags(count: int) -> list[str]:
    return [f"c{number}" for number in range(count)]
