"""The memory that is accounted, compared with the memory that is held: what a client can make the
broker keep, in whatever way, counts against the watermark."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import pytest

from mqkit.wire import Properties, method_frame
from mqkit.wire.methods import (
    BasicAck,
    BasicConsume,
    BasicGet,
    BasicNack,
    ChannelClose,
    ChannelCloseOk,
    ChannelOpen,
    ExchangeDeclare,
    QueueBind,
    QueueDeclare,
    QueuePurge,
    QueueUnbind,
    TxCommit,
    TxSelect,
)
from reference_broker.core.memory_watermark import held_bytes
from reference_broker.testing.lone_broker import LoneBroker, LoneClient
from reference_broker.testing.object_graph import graph_bytes
from reference_broker.testing.recording_journal import RecordingJournal

COUNT = 1_000
TOLERANCE = 0.2
FAR = 1 << 40
"""A log that is not new: positions are large numbers, and each is an object."""

PERSISTENT = Properties(delivery_mode=2)


def targets(client: LoneClient) -> None:
    for number in range(COUNT):
        client.publish(f"key {number}")


def targets_with_long_names(client: LoneClient) -> None:
    for number in range(COUNT):
        client.publish(f"{number:0250d}", exchange="amq.direct")


def targets_of_many_channels(client: LoneClient) -> None:
    for number in range(2, 12):
        client.send(number, ChannelOpen())
        for key in range(COUNT // 10):
            client.publish(f"key {key}", channel=number)


def channels(client: LoneClient) -> None:
    client.send_bytes(b"".join(method_frame(number, ChannelOpen()) for number in range(2, COUNT)))


def reply_consumers(client: LoneClient) -> None:
    channels(client)
    for number in range(2, COUNT):
        client.send(number, BasicConsume("amq.rabbitmq.reply-to", "", no_ack=True))


def consumers(client: LoneClient) -> None:
    client.send(1, QueueDeclare("q"))
    for number in range(COUNT):
        client.send(1, BasicConsume("q", f"consumer {number}"))


def consumers_with_arguments(client: LoneClient) -> None:
    client.send(1, QueueDeclare("q"))
    for number in range(COUNT):
        arguments = {"x-priority": number % 3, "note": "x" * 500, "list": [1, {"a": "b" * 50}]}
        client.send(1, BasicConsume("q", f"consumer {number}", arguments=arguments))


def queues(client: LoneClient) -> None:
    for number in range(COUNT):
        client.send(1, QueueDeclare(f"queue {number}"))


def queues_with_arguments(client: LoneClient) -> None:
    arguments = {"x-max-length": 1_000, "x-dead-letter-exchange": "amq.direct", "x-expires": 9_999}
    for number in range(COUNT):
        more = {"x-message-ttl": 1_000 + number, "x-queue-type": "quorum"}
        client.send(1, QueueDeclare(f"queue {number}", durable=True, arguments=arguments | more))


def exclusive_queues(client: LoneClient) -> None:
    for _ in range(COUNT):
        client.send(1, QueueDeclare("", exclusive=True))


def exchanges(client: LoneClient) -> None:
    for number in range(COUNT):
        client.send(1, ExchangeDeclare(f"exchange {number}", "fanout", durable=True))


def bindings(client: LoneClient) -> None:
    client.send(1, QueueDeclare("q"))
    for number in range(COUNT):
        client.send(1, QueueBind("q", "amq.direct", f"key {number}"))


def bindings_of_words(client: LoneClient) -> None:
    client.send(1, QueueDeclare("q"))
    for number in range(COUNT):
        client.send(1, QueueBind("q", "amq.topic", f"a.*.{number}." + "b." * 20))


def bindings_with_arguments(client: LoneClient) -> None:
    client.send(1, QueueDeclare("q"))
    for number in range(COUNT):
        client.send(1, QueueBind("q", "amq.headers", "", arguments={"h": f"value {number}"}))


def bindings_of_many_queues(client: LoneClient) -> None:
    for number in range(COUNT):
        name = f"queue {number}"
        client.send(1, QueueDeclare(name), QueueBind(name, "amq.fanout", ""))


def messages(client: LoneClient) -> None:
    client.send(1, QueueDeclare("q", durable=True))
    for _ in range(COUNT):
        client.publish("q", b"x" * 100, properties=PERSISTENT)


def messages_with_headers(client: LoneClient) -> None:
    client.send(1, QueueDeclare("q"))
    for number in range(COUNT):
        client.publish("q", b"x" * 10, properties=Properties(headers={"number": number}))


def unacked(client: LoneClient) -> None:
    client.send(1, QueueDeclare("q", durable=True), BasicConsume("q", "t"))
    for _ in range(COUNT):
        client.publish("q", b"x" * 1_000, properties=PERSISTENT)
        client.received()


def unacked_far_apart(client: LoneClient) -> None:
    """A chunk of the index is there as a whole, for one message that is not settled."""
    client.send(1, QueueDeclare("q"))
    for number in range(20 * COUNT):
        client.publish("q", b"")
        client.send(1, BasicGet("q", no_ack=number % 5_000 != 0))
        client.received()


def transactions(client: LoneClient) -> None:
    client.send(1, QueueDeclare("q", durable=True), TxSelect())
    for _ in range(COUNT):
        client.publish("q", b"x" * 100, properties=PERSISTENT)


def settled_in_a_transaction(client: LoneClient) -> None:
    client.send(1, QueueDeclare("q", durable=True), TxSelect())
    for _ in range(COUNT):
        client.publish("q", b"x" * 100, properties=PERSISTENT)
    client.send(1, TxCommit(), *[BasicGet("q")] * COUNT)
    client.received()
    client.send(1, BasicAck(0, True))


def returned(client: LoneClient) -> None:
    client.send(1, QueueDeclare("q", durable=True, arguments={"x-queue-type": "quorum"}))
    for _ in range(COUNT):
        client.publish("q", b"x" * 100, properties=PERSISTENT)
    client.send(1, *[BasicGet("q")] * COUNT)
    client.received()
    client.send(1, BasicNack(0, True, True))


def returned_for_later(client: LoneClient) -> None:
    later = {"x-requeue-position": "back", "x-requeue-delay": 100_000}
    client.send(1, QueueDeclare("q", arguments=later))
    for _ in range(COUNT):
        client.publish("q", b"x" * 100)
    client.send(1, *[BasicGet("q")] * COUNT)
    client.received()
    client.send(1, BasicNack(0, True, True))


def delayed(client: LoneClient) -> None:
    arguments = {"x-delayed-type": "fanout"}
    client.send(1, ExchangeDeclare("d", "x-delayed-message", arguments=arguments))
    for _ in range(COUNT):
        headers = {"x-delay": 1_000_000}
        client.publish("", b"x" * 100, exchange="d", properties=Properties(headers=headers))


def seen_keys(client: LoneClient) -> None:
    arguments = {"x-cache-size": COUNT}
    client.send(1, ExchangeDeclare("s", "x-message-deduplication", arguments=arguments))
    client.send(1, QueueDeclare("q"), QueueBind("q", "s", ""))
    for number in range(COUNT):
        headers = {"x-deduplication-header": f"message {number}"}
        client.publish("", b"", exchange="s", properties=Properties(headers=headers))
    client.send(1, QueuePurge("q"))


def granted(client: LoneClient) -> None:
    for number in range(COUNT):
        client.send(1, BasicGet(f"{number:0200d}"), ChannelCloseOk(), ChannelOpen())


def parked_frames(client: LoneClient) -> None:
    journal = client.connection.broker.moment  # nothing is synced until the test says so
    assert journal is not None
    client.send(1, QueueDeclare("q", durable=True))
    for number in range(COUNT):
        client.send(1, QueueDeclare(f"queue {number}", durable=True))


@pytest.mark.parametrize(
    "scenario",
    [
        targets,
        targets_with_long_names,
        targets_of_many_channels,
        channels,
        reply_consumers,
        consumers,
        consumers_with_arguments,
        queues,
        queues_with_arguments,
        exclusive_queues,
        exchanges,
        bindings,
        bindings_of_words,
        bindings_with_arguments,
        bindings_of_many_queues,
        messages,
        messages_with_headers,
        unacked,
        unacked_far_apart,
        transactions,
        settled_in_a_transaction,
        returned,
        returned_for_later,
        delayed,
        seen_keys,
        granted,
    ],
)
def test_what_is_held_is_accounted(scenario: Callable[[LoneClient], None]) -> None:
    lone = LoneBroker()
    lone.journal.tail = lone.journal.synced = FAR
    grown, held = growth(lone, lone.client(), scenario)
    assert grown > 25 * COUNT, "there is something to be accounted"
    assert held == pytest.approx(grown, rel=TOLERANCE)


def growth(
    lone: LoneBroker, client: LoneClient, scenario: Callable[[LoneClient], None]
) -> tuple[int, int]:
    """Bytes by which the broker grows, without its journal, and the accounts."""
    journal = (lone.journal,)
    graph, held = graph_bytes(lone.broker, journal), held_bytes(lone.broker)
    scenario(client)
    client.output()
    lone.broker.take_dirty_connections()
    gc.collect()
    return graph_bytes(lone.broker, journal) - graph, held_bytes(lone.broker) - held


def test_parked_frames_are_accounted() -> None:
    journal = RecordingJournal()
    lone = LoneBroker(journal)
    client = lone.client()
    grown, held = growth(lone, client, parked_frames)
    assert client.connection.channels[1].parked
    # What the log has not written yet is in the log, which is left out of the graph.
    assert held - (journal.tail - journal.synced) == pytest.approx(grown, rel=TOLERANCE)


def test_connections_are_accounted() -> None:
    lone = LoneBroker()
    grown, held = growth(lone, lone.client(), lambda _: several(lone))
    assert held == pytest.approx(grown, rel=TOLERANCE)


def several(lone: LoneBroker) -> None:
    for _ in range(COUNT // 10):
        lone.client(heartbeat_s=60, capabilities={"note": "x" * 1_000, "basic.nack": True})


def test_the_bypass_is_closed() -> None:
    """Channels that remember targets for messages that go nowhere: what is held is as it was with
    many connections at 1,321 MiB, when the alarm said that nothing was."""
    lone = LoneBroker()
    client = lone.client()
    grown, held = growth(lone, client, targets_of_many_channels)
    assert grown > 300 * COUNT
    assert held > 0.8 * grown


def ends(client: LoneClient) -> Iterator[None]:
    for _ in range(2):
        for scenario in (targets, consumers, queues, exchanges, bindings, bindings_of_words):
            scenario(client)
        client.send(1, ChannelClose(200, "", 0, 0), ChannelOpen())
        vhost = client.connection.vhost
        assert vhost is not None
        for number in range(0, COUNT, 2):
            client.send(1, QueueUnbind("q", "amq.topic", f"a.*.{number}." + "b." * 20))
        yield
        for name in [name for name in vhost.exchanges if name.startswith("exchange")]:
            vhost.delete_exchange(name)
        for name in list(vhost.queues):
            vhost.delete_queue(name)
        client.output()
        yield


def test_what_ends_is_accounted_no_more() -> None:
    lone = LoneBroker()
    client = lone.client()
    vhost = lone.broker.vhosts["/"]
    held = []
    for _ in ends(client):
        held.append((vhost.memory_bytes, lone.broker.targets.held_bytes))
        lone.pass_time(1)
    assert held[0] == held[2]
    assert held[1] == held[3] == (0, 0)
    assert held[0][0] > 3_000 * COUNT
