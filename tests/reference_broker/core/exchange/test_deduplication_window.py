"""seen_keys: each message once, with confirms that are as good as the first one's."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.wire import Properties
from mqkit.wire.methods import BasicAck, BasicGet, BasicGetOk, BasicNack, BasicReject, BasicReturn
from reference_broker.core.exchange.deduplication_window import DeduplicationWindow
from reference_broker.core.vhost.vhost import VHost
from reference_broker.errors import ChannelException
from reference_broker.testing.lone_broker import LoneBroker, LoneClient
from reference_broker.testing.lone_queue import purge_now
from reference_broker.testing.recording_journal import RecordingJournal


@pytest.fixture
def journal() -> RecordingJournal:
    return RecordingJournal()


@pytest.fixture
def lone(journal: RecordingJournal) -> LoneBroker:
    lone = LoneBroker(journal)
    vhost = lone.broker.vhosts["/"]
    arguments = {"x-cache-size": 3, "x-cache-ttl": 10_000}
    vhost.declare_exchange("once", "x-message-deduplication", durable=True, arguments=arguments)
    arguments = {"x-message-id-window": 3, "x-message-id-window-ms": 10_000}
    vhost.declare_exchange("ids", "direct", durable=True, arguments=arguments)
    vhost.declare_queue("q", durable=True)
    vhost.bind("once", "q", "", destination_is_queue=True)
    vhost.bind("ids", "q", "k", destination_is_queue=True)
    return lone


@pytest.fixture
def vhost(lone: LoneBroker) -> VHost:
    return lone.broker.vhosts["/"]


@pytest.fixture
def client(lone: LoneBroker) -> LoneClient:
    client = lone.client()
    client.select_confirms()
    return client


def publish(client: LoneClient, value: Any, body: bytes = b"body", **more: Any) -> None:
    headers = {} if value is None else {"x-deduplication-header": value}
    headers |= more.pop("headers", {})
    mandatory = more.pop("mandatory", False)
    exchange = more.pop("exchange", "once")
    properties = Properties(delivery_mode=more.pop("mode", 2), headers=headers, **more)
    client.publish("k", body, exchange=exchange, properties=properties, mandatory=mandatory)


def seen(vhost: VHost, name: str = "once") -> DeduplicationWindow:
    found = vhost.exchanges[name].deduplication
    assert found is not None
    return found


def ready(vhost: VHost, name: str = "q") -> int:
    return vhost.queues[name].ready


@pytest.mark.parametrize("mode", [1, 2])
def test_a_second_one_goes_nowhere(client: LoneClient, vhost: VHost, mode: int) -> None:
    for value in ("a", "b", "a", 5, "b", None, None):
        publish(client, value, mode=mode)
    assert ready(vhost) == 5
    assert len(seen(vhost)) == 3


def test_by_message_id_on_any_exchange(client: LoneClient, vhost: VHost) -> None:
    for message_id in ("a", "b", "a", None, None):
        publish(client, None, exchange="ids", message_id=message_id)
    assert ready(vhost) == 4


def test_it_is_bounded_in_number(client: LoneClient, vhost: VHost) -> None:
    for value in (1, 2, 3, 4):
        publish(client, value)
    assert (ready(vhost), len(seen(vhost)), seen(vhost).queue.ready) == (4, 3, 3)
    publish(client, 2)
    assert ready(vhost) == 4
    publish(client, 1)
    assert ready(vhost) == 5
    assert len(seen(vhost)) == 3


def test_and_in_time(client: LoneClient, vhost: VHost, lone: LoneBroker) -> None:
    publish(client, "a")
    lone.pass_time(9)
    publish(client, "a")
    assert ready(vhost) == 1
    lone.pass_time(1.1)
    assert (len(seen(vhost)), seen(vhost).queue.ready) == (0, 0)
    publish(client, "a")
    assert ready(vhost) == 2


def test_a_time_of_its_own(client: LoneClient, vhost: VHost, lone: LoneBroker) -> None:
    publish(client, "long")
    publish(client, "short", headers={"x-cache-ttl": 1000})
    lone.pass_time(2)
    publish(client, "short", headers={"x-cache-ttl": 1000})
    publish(client, "long")
    assert ready(vhost) == 3
    lone.pass_time(10)
    assert seen(vhost).queue.ready == 0


def test_one_record_has_both_and_another_the_key_alone(
    client: LoneClient, vhost: VHost, journal: RecordingJournal
) -> None:
    start = journal.tail
    publish(client, "a", b"large body")
    queue, window = vhost.queues["q"], seen(vhost).queue
    published, moved = journal.records[start:]
    assert [entry.queue_id for entry in published[1]] == [queue.id, window.id]
    assert moved[:2] == ("move", window.id)
    assert moved[-1] == b""
    assert window.memory_bytes < 200
    assert window.backlog.absent == 1


def test_a_repetition_is_confirmed_when_the_first_one_is_on_disk(
    client: LoneClient, lone: LoneBroker
) -> None:
    publish(client, "a")
    publish(client, "a")
    other = lone.client()
    other.select_confirms()
    publish(other, "a")
    assert client.methods() == other.methods() == []
    lone.sync()
    confirmed = client.methods()
    assert isinstance(confirmed[-1], BasicAck)
    assert confirmed[-1].delivery_tag == 2
    assert other.methods() == [BasicAck(1)]
    publish(other, "a")
    assert other.methods() == [BasicAck(2)]


def test_and_nacked_if_that_fails(client: LoneClient, lone: LoneBroker) -> None:
    publish(client, "a")
    other = lone.client()
    other.select_confirms()
    publish(other, "a")
    lone.broker.disk_failed(lone.now_s, lone.wall_ms)
    for each in (client, other):
        (answer,) = each.methods()
        assert isinstance(answer, BasicNack)


def test_a_mandatory_repetition_is_returned(client: LoneClient) -> None:
    publish(client, "a", mandatory=True)
    assert client.methods() == []
    publish(client, "a", mandatory=True)
    (answer,) = client.methods()
    assert isinstance(answer, BasicReturn)


def test_what_a_queue_refused_may_come_again(client: LoneClient, vhost: VHost) -> None:
    arguments = {"x-max-length": 0, "x-overflow": "reject-publish"}
    vhost.declare_queue("full", arguments=arguments)
    vhost.bind("once", "full", "", destination_is_queue=True)
    publish(client, "a")
    (answer,) = client.methods()
    assert isinstance(answer, BasicNack)
    assert len(seen(vhost)) == 0
    vhost.delete_queue("full")
    publish(client, "a")
    assert ready(vhost) == 2
    assert len(seen(vhost)) == 1


def test_what_went_nowhere_was_not_seen(client: LoneClient, vhost: VHost) -> None:
    vhost.unbind("once", "q", "", destination_is_queue=True)
    publish(client, "a")
    assert len(seen(vhost)) == 0
    vhost.bind("once", "q", "", destination_is_queue=True)
    publish(client, "a")
    assert ready(vhost) == 1


def test_behind_another_exchange_and_with_copies(client: LoneClient, vhost: VHost) -> None:
    vhost.bind("amq.fanout", "once", "", destination_is_queue=False)
    for _ in range(2):
        publish(client, "a", exchange="amq.fanout", headers={"CC": ["x", "y"]})
    assert ready(vhost) == 1


def test_deleting_the_exchange_forgets(
    client: LoneClient, vhost: VHost, journal: RecordingJournal
) -> None:
    publish(client, "a")
    window = seen(vhost).queue
    vhost.delete_exchange("once")
    assert window.id not in vhost.queues_by_id
    assert window.id not in {queue_id for queue_id, _ in journal.live()}


def test_in_memory_alone(client: LoneClient, vhost: VHost, journal: RecordingJournal) -> None:
    arguments = {"x-cache-size": 3, "x-cache-persistence": "memory"}
    vhost.declare_exchange("m", "x-message-deduplication", durable=True, arguments=arguments)
    vhost.bind("m", "q", "", destination_is_queue=True)
    assert not any("seen/%2F/m" in record for record in journal.records)
    for _ in range(2):
        publish(client, "a", b"x" * 10_000, exchange="m")
    assert ready(vhost) == 1
    assert len(journal.live()) == 1
    assert seen(vhost, "m").queue.memory_bytes < 1000


WINDOW = {"x-message-id-window": 3, "x-message-id-window-ms": 10_000}


def test_of_a_queue(client: LoneClient, vhost: VHost, journal: RecordingJournal) -> None:
    vhost.declare_queue("w", durable=True, arguments=WINDOW)
    vhost.bind("amq.fanout", "w", "", destination_is_queue=True)
    vhost.bind("amq.fanout", "q", "", destination_is_queue=True)
    properties = [Properties(delivery_mode=2, message_id=name) for name in "aab"]
    for each in (*properties, Properties()):
        client.publish("w", b"body", properties=each)
        client.publish("", b"body", exchange="amq.fanout", properties=each)
    assert (ready(vhost, "w"), ready(vhost)) == (4, 4)
    assert vhost.depends_on_headers(vhost.exchanges[""], "w")
    assert not vhost.depends_on_headers(vhost.exchanges[""], "q")

    window = vhost.queues["w"].deduplication
    assert window is not None
    assert (len(window), window.queue.id in vhost.queues_by_id) == (2, True)
    vhost.delete_queue("w")
    assert window.queue.id not in vhost.queues_by_id
    assert {queue_id for queue_id, _ in journal.live()} == {vhost.queues["q"].id}
    defined = {record[1]: record[2] for record in journal.records if record[0] == "define"}
    assert defined["queue-seen/%2F/w"] is None


def test_a_queue_that_is_full_has_not_seen_it(client: LoneClient, vhost: VHost) -> None:
    arguments = WINDOW | {"x-max-length": 1, "x-overflow": "reject-publish"}
    vhost.declare_queue("w", arguments=arguments)
    for name in "ab":
        client.publish("w", b"body", properties=Properties(message_id=name))
    assert (ready(vhost, "w"), len(client.methods())) == (1, 2)
    purge_now(vhost.queues["w"])
    for name in "ab":
        client.publish("w", b"body", properties=Properties(message_id=name))
    assert ready(vhost, "w") == 1


def test_a_bad_window_is_refused(vhost: VHost) -> None:
    with pytest.raises(ChannelException, match="'x-message-id-window' must be an integer"):
        vhost.declare_queue("bad", arguments={"x-message-id-window": "x"})
    assert "bad" not in vhost.queues


RETRIED = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "wait"}
WAITING = {"x-dead-letter-exchange": "", "x-message-ttl": 1_000}


def reject_head(client: LoneClient, queue: str) -> None:
    client.send(1, BasicGet(queue))
    got = client.methods()[-1]
    assert isinstance(got, BasicGetOk)
    client.send(1, BasicReject(got.delivery_tag, requeue=False))


def test_a_dead_letter_passes_the_window_of_the_queue_that_it_comes_back_to(
    client: LoneClient, vhost: VHost, lone: LoneBroker
) -> None:
    vhost.declare_queue("w", durable=True, arguments=WINDOW | RETRIED)
    back = WAITING | {"x-dead-letter-routing-key": "w"}
    vhost.declare_queue("wait", durable=True, arguments=back)
    client.publish("w", b"body", properties=Properties(delivery_mode=2, message_id="a"))
    for _ in range(3):
        reject_head(client, "w")
        assert (ready(vhost, "w"), ready(vhost, "wait")) == (0, 1)
        lone.pass_time(1)
        assert (ready(vhost, "w"), ready(vhost, "wait")) == (1, 0)
    client.publish("w", b"body", properties=Properties(delivery_mode=2, message_id="a"))
    assert ready(vhost, "w") == 1


def test_and_that_of_an_exchange(client: LoneClient, vhost: VHost, lone: LoneBroker) -> None:
    vhost.declare_queue("r", durable=True, arguments=RETRIED)
    vhost.bind("once", "r", "", destination_is_queue=True)
    back = WAITING | {"x-dead-letter-exchange": "once"}
    vhost.declare_queue("wait", durable=True, arguments=back)
    publish(client, "a")
    window = len(seen(vhost))
    reject_head(client, "r")
    lone.pass_time(1)
    assert (ready(vhost, "r"), ready(vhost), len(seen(vhost))) == (1, 2, window)


def test_a_dead_letter_is_noted_nowhere(client: LoneClient, vhost: VHost) -> None:
    vhost.declare_queue("first", durable=True, arguments=RETRIED)
    vhost.declare_queue("wait", durable=True, arguments=WINDOW)
    properties = Properties(delivery_mode=2, message_id="a")
    client.publish("first", b"body", properties=properties)
    reject_head(client, "first")
    client.publish("wait", b"body", properties=properties)
    assert ready(vhost, "wait") == 2
    client.publish("wait", b"body", properties=properties)
    assert ready(vhost, "wait") == 2


def test_a_dead_letter_that_a_delayed_exchange_holds_passes_when_it_is_due(
    client: LoneClient, vhost: VHost, lone: LoneBroker
) -> None:
    vhost.declare_exchange(
        "later", "x-delayed-message", durable=True, arguments={"x-delayed-type": "fanout"}
    )
    vhost.declare_queue("w", durable=True, arguments=WINDOW | {"x-dead-letter-exchange": "later"})
    vhost.bind("later", "w", "", destination_is_queue=True)
    properties = Properties(delivery_mode=2, message_id="a", headers={"x-delay": 1_000})
    client.publish("w", b"body", properties=properties)
    reject_head(client, "w")
    assert ready(vhost, "w") == 0
    lone.sync()
    lone.pass_time(1)
    assert ready(vhost, "w") == 1


def test_a_delayed_message_is_asked_about_when_it_is_due(
    client: LoneClient, vhost: VHost, lone: LoneBroker
) -> None:
    arguments = {"x-delayed-type": "fanout"} | WINDOW
    vhost.declare_exchange("later", "x-delayed-message", durable=True, arguments=arguments)
    full = WINDOW | {"x-max-length": 1, "x-overflow": "reject-publish"}
    vhost.declare_queue("w", durable=True, arguments=full)
    vhost.bind("later", "w", "", destination_is_queue=True)
    for name in "aab":  # the last one is refused, and seen by neither window
        headers = {"x-delay": 1_000}
        properties = Properties(delivery_mode=2, message_id=name, headers=headers)
        client.publish("", b"body", exchange="later", properties=properties)
    lone.sync()
    lone.pass_time(1)
    window = vhost.queues["w"].deduplication
    assert window is not None
    assert (ready(vhost, "w"), len(seen(vhost, "later")), len(window)) == (1, 1, 1)
