"""delayed: messages that an exchange holds until their time, on a clock that the test moves."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.wire import Properties, decode_header
from mqkit.wire.methods import (
    BasicAck,
    BasicGet,
    BasicGetEmpty,
    BasicGetOk,
    ChannelClose,
    ExchangeDeclare,
    ExchangeDelete,
)
from reference_broker.core.index.memory_window import MemoryWindow
from reference_broker.core.journal import clock_mark
from reference_broker.core.journal.clock_mark import AHEAD_MS, STEP_MS, encode_mark
from reference_broker.core.queue.queue import Queue
from reference_broker.testing.lone_broker import LoneBroker, LoneClient
from reference_broker.testing.recording_journal import RecordingJournal


@pytest.fixture
def journal() -> RecordingJournal:
    return RecordingJournal()


@pytest.fixture
def lone(journal: RecordingJournal) -> LoneBroker:
    """Its clock mark is far ahead, so that nothing waits for that."""
    lone = LoneBroker(journal)
    far = encode_mark(lone.wall_ms << 1)
    lone.broker.vhosts["/"].clock_mark.restore({clock_mark.KEY: far})
    return lone


@pytest.fixture
def client(lone: LoneBroker) -> LoneClient:
    return client_of(lone)


def client_of(lone: LoneBroker) -> LoneClient:
    vhost = lone.broker.vhosts["/"]
    arguments = {"x-delayed-type": "direct"}
    vhost.declare_exchange("later", "x-delayed-message", durable=True, arguments=arguments)
    vhost.declare_queue("q", durable=True)
    vhost.bind("later", "q", "k", destination_is_queue=True)
    return lone.client()


def declare(client: LoneClient, name: str = "later", inner: Any = "direct", **more: Any) -> None:
    arguments = {"x-delayed-type": inner, **more}
    client.send(1, ExchangeDeclare(name, "x-delayed-message", durable=True, arguments=arguments))


def publish(
    client: LoneClient, body: bytes, delay: Any, *, key: str = "k", mode: int = 2, **more: Any
) -> None:
    headers = {"x-delay": delay} if delay is not None else {}
    properties = Properties(delivery_mode=mode, headers=headers, **more)
    client.publish(key, body, exchange="later", properties=properties)


def held(lone: LoneBroker, exchange: str = "later") -> Queue:
    queue = lone.broker.vhosts["/"].exchanges[exchange].delays
    assert queue is not None
    return queue


def answer_fetches(lone: LoneBroker) -> int:
    journal = lone.journal
    assert isinstance(journal, RecordingJournal)
    count = 0
    while journal.fetches:
        count += 1
        lone.broker.fetched([journal.answer()], lone.now_s, lone.wall_ms)
    return count


def drained(client: LoneClient, queue: str = "q") -> list[bytes]:
    bodies: list[bytes] = []
    while True:
        client.send(1, BasicGet(queue, no_ack=True))
        (got,) = client.received()
        if isinstance(got.method, BasicGetEmpty):
            return bodies
        assert isinstance(got.method, BasicGetOk)
        bodies.append(got.body)


def test_each_message_comes_at_its_own_time(lone: LoneBroker, client: LoneClient) -> None:
    for body, delay in ((b"3", 3000), (b"1", 1000), (b"now", None), (b"2", "2000"), (b"0", 0)):
        publish(client, body, delay)
    assert drained(client) == [b"now", b"0"]
    assert (held(lone).ready, held(lone).ready_bytes) == (3, 3)
    lone.pass_time(0.999)
    assert drained(client) == []
    lone.pass_time(0.02)
    assert drained(client) == [b"1"]
    lone.pass_time(2)
    answer_fetches(lone)
    assert drained(client) == [b"2", b"3"]
    assert held(lone).ready == 0
    assert lone.broker.deadlines.next_ms() is None


def test_it_arrives_as_it_was_sent_but_for_the_sign(lone: LoneBroker, client: LoneClient) -> None:
    publish(client, b"x", 500, message_id="m", expiration="100")
    lone.pass_time(0.51)
    client.send(1, BasicGet("q"))
    (got,) = client.received()
    assert isinstance(got.method, BasicGetOk)
    assert (got.method.exchange, got.method.routing_key) == ("later", "k")
    assert not got.method.redelivered
    properties = decode_header(got.header)[1]
    assert (properties.message_id, properties.expiration) == ("m", "100")
    assert properties.headers == {"x-delay": -500}


def test_its_time_to_live_begins_when_it_arrives(lone: LoneBroker, client: LoneClient) -> None:
    publish(client, b"x", 1000, expiration="500")
    lone.pass_time(1.4)
    queue = lone.broker.vhosts["/"].queues["q"]
    assert queue.ready == 1
    lone.pass_time(0.2)
    assert queue.ready == 0


def test_bindings_count_that_are_there_at_the_end(lone: LoneBroker, client: LoneClient) -> None:
    publish(client, b"x", 1000, key="other")
    publish(client, b"nowhere", 1000, key="nobody's")
    lone.broker.vhosts["/"].bind("later", "q", "other", destination_is_queue=True)
    lone.pass_time(1.1)
    answer_fetches(lone)
    assert drained(client) == [b"x"]
    assert held(lone).ready == 0


def test_held_back_behind_another_exchange_and_only_once(
    lone: LoneBroker, client: LoneClient
) -> None:
    vhost = lone.broker.vhosts["/"]
    arguments = {"x-delayed-type": "fanout"}
    vhost.declare_exchange("second", "x-delayed-message", arguments=arguments)
    vhost.bind("later", "second", "k", destination_is_queue=False)
    vhost.bind("amq.fanout", "later", "", destination_is_queue=False)
    vhost.declare_queue("end", durable=True)
    vhost.bind("second", "end", "", destination_is_queue=True)
    properties = Properties(headers={"x-delay": 1000})
    client.publish("k", b"x", exchange="amq.fanout", properties=properties)
    assert (held(lone).ready, held(lone, "second").ready) == (1, 0)
    lone.pass_time(1.1)
    client.received()
    assert (drained(client), drained(client, "end")) == ([b"x"], [b"x"])


def test_an_inner_headers_exchange_sees_the_headers(lone: LoneBroker, client: LoneClient) -> None:
    vhost = lone.broker.vhosts["/"]
    vhost.declare_exchange("h", "x-delayed-message", arguments={"x-delayed-type": "headers"})
    vhost.bind("h", "q", "", {"colour": "red"}, destination_is_queue=True)
    for colour in ("red", "blue"):
        properties = Properties(headers={"x-delay": 10, "colour": colour})
        client.publish("", colour.encode(), exchange="h", properties=properties)
    lone.pass_time(0.1)
    assert drained(client) == [b"red"]


def test_copies_go_with_it(lone: LoneBroker, client: LoneClient) -> None:
    vhost = lone.broker.vhosts["/"]
    vhost.declare_queue("copy")
    vhost.bind("later", "copy", "c", destination_is_queue=True)
    properties = Properties(headers={"x-delay": 10, "CC": ["c"]})
    client.publish("k", b"x", exchange="later", properties=properties)
    assert held(lone).ready == 1
    lone.pass_time(0.1)
    assert (drained(client), drained(client, "copy")) == ([b"x"], [b"x"])


def test_one_record_takes_it_from_here_to_there(
    lone: LoneBroker, client: LoneClient, journal: RecordingJournal
) -> None:
    client.select_confirms()
    publish(client, b"x", 1000)
    assert client.methods() == []
    lone.sync()
    assert client.methods() == [BasicAck(1)]
    queue = held(lone)
    (entry,) = journal.records[-1][1]
    assert (entry.queue_id, entry.expires_at_ms) == (queue.id, lone.wall_ms + 1000)
    lone.pass_time(1.1)
    answer_fetches(lone)
    assert journal.records[-1][:2] == ("move", queue.id)
    assert len(journal.live()) == 1
    assert drained(client) == [b"x"]
    assert journal.live() == []


def test_bodies_of_far_messages_are_on_disk_only(lone: LoneBroker, client: LoneClient) -> None:
    for number in range(50):
        publish(client, b"%d" % number, 10_000)
    publish(client, b"soon", 500)
    publish(client, b"not stored", 10_000, mode=1)
    assert len(held(lone).contents) == 2
    assert held(lone).backlog.absent == 50
    lone.pass_time(10.1)
    assert drained(client) == [b"soon"]  # order is kept: the last one waits for those before it
    answer_fetches(lone)
    assert drained(client) == [b"%d" % number for number in range(50)] + [b"not stored"]
    assert held(lone).memory_bytes == 0


def test_a_message_that_is_damaged_on_disk_holds_nobody_up(
    lone: LoneBroker, client: LoneClient, journal: RecordingJournal
) -> None:
    for body in (b"a", b"b", b"c"):
        publish(client, body, 5000)
    journal.damaged[journal.tail - 2] = None
    lone.pass_time(5.1)
    answer_fetches(lone)
    assert drained(client) == [b"a", b"c"]
    assert held(lone).lost == 1


def test_many_at_once_are_routed_in_portions() -> None:
    lone = LoneBroker(RecordingJournal(), units=100)
    client = client_of(lone)
    for number in range(25):
        publish(client, b"%d" % number, 500)
    lone.sync()
    lone.wall_ms += 500
    lone.now_s += 0.5
    queue = lone.broker.vhosts["/"].queues["q"]
    lone.broker.tick(lone.now_s, lone.wall_ms)
    seen = [queue.ready]
    while not lone.turn():
        seen.append(queue.ready)
    assert 0 < seen[0] <= 20, "no more than the turn has time for"
    assert queue.ready == 25
    assert len(seen) >= 2
    assert drained(client) == [b"%d" % number for number in range(25)]


def marks(journal: RecordingJournal) -> list[bytes]:
    return [record[2] for record in journal.records if record[:2] == ("define", clock_mark.KEY)]


def test_it_comes_when_a_mark_above_its_time_is_on_the_disk(journal: RecordingJournal) -> None:
    lone = LoneBroker(journal)
    client = client_of(lone)
    lone.sync()
    publish(client, b"a", 100)
    assert marks(journal) == [encode_mark(lone.wall_ms + STEP_MS)]
    lone.pass_time(0.2)
    assert held(lone).ready == 1
    assert lone.broker.deadlines.next_ms() is None, "time is not what it waits for"
    lone.sync()
    assert drained(client) == [b"a"]


def test_the_mark_is_there_before_a_later_message_needs_it(journal: RecordingJournal) -> None:
    lone = LoneBroker(journal)
    client = client_of(lone)
    publish(client, b"a", 60_000)
    assert marks(journal) == []
    lone.pass_time((60_000 - AHEAD_MS) / 1_000)
    assert marks(journal) == [encode_mark(lone.wall_ms + STEP_MS)]
    lone.sync()
    lone.pass_time(AHEAD_MS / 1_000)
    answer_fetches(lone)
    assert drained(client) == [b"a"]


def test_one_mark_is_for_the_messages_of_some_seconds(journal: RecordingJournal) -> None:
    lone = LoneBroker(journal)
    client = client_of(lone)
    for delay_ms in range(0, 30_000, 100):
        publish(client, b"", delay_ms + 1)
    for second in range(1, 31):
        lone.sync()
        lone.pass_time(1)
        answer_fetches(lone)
        assert len(drained(client)) == 10, second
    assert len(marks(journal)) == 4


def test_what_no_log_keeps_needs_no_mark(journal: RecordingJournal) -> None:
    lone = LoneBroker(journal)
    client = client_of(lone)
    vhost = lone.broker.vhosts["/"]
    arguments = {"x-delayed-type": "direct"}
    vhost.declare_exchange("passing", "x-delayed-message", durable=False, arguments=arguments)
    vhost.bind("passing", "q", "k", destination_is_queue=True)
    properties = Properties(delivery_mode=2, headers={"x-delay": 100})
    client.publish("k", b"a", exchange="passing", properties=properties)
    lone.pass_time(0.2)
    assert drained(client) == [b"a"]
    assert marks(journal) == []


def test_an_exchange_is_deleted_while_what_is_due_waits_for_the_mark(
    journal: RecordingJournal,
) -> None:
    lone = LoneBroker(journal)
    client = client_of(lone)
    publish(client, b"a", 100)
    lone.pass_time(0.2)
    lone.broker.vhosts["/"].delete_exchange("later")
    lone.sync()
    assert drained(client) == []


def test_a_full_queue_refuses_what_is_released(lone: LoneBroker, client: LoneClient) -> None:
    arguments = {"x-max-length": 1, "x-overflow": "reject-publish"}
    vhost = lone.broker.vhosts["/"]
    vhost.declare_queue("full", arguments=arguments)
    vhost.bind("later", "full", "f", destination_is_queue=True)
    for body in (b"a", b"b"):
        publish(client, body, 100, key="f")
    lone.pass_time(0.2)
    assert drained(client, "full") == [b"a"]
    assert held(lone).ready == 0


def test_deleting_the_exchange_drops_what_it_holds(
    lone: LoneBroker, client: LoneClient, journal: RecordingJournal
) -> None:
    publish(client, b"x", 1000)
    queue = held(lone)
    client.send(1, ExchangeDelete("later"))
    assert journal.live() == []
    assert queue.id not in lone.broker.queues_by_id
    lone.pass_time(2)
    lone.sync()
    client.received()
    assert drained(client) == []
    defined = {record[1]: record[2] for record in journal.records if record[0] == "define"}
    assert defined["delayed/%2F/later"] is None


def test_auto_delete_drops_it_too(lone: LoneBroker, client: LoneClient) -> None:
    vhost = lone.broker.vhosts["/"]
    arguments = {"x-delayed-type": "fanout"}
    vhost.declare_exchange("auto", "x-delayed-message", auto_delete=True, arguments=arguments)
    vhost.bind("auto", "q", "", destination_is_queue=True)
    client.publish("", b"x", exchange="auto", properties=Properties(headers={"x-delay": 50}))
    queue = held(lone, "auto")
    vhost.unbind("auto", "q", "", destination_is_queue=True)
    assert queue.deleted
    lone.pass_time(1)
    assert drained(client) == []


def test_memory_counts_what_is_held() -> None:
    lone = LoneBroker(window=MemoryWindow())
    client = lone.client()
    declare(client)
    publish(client, bytes(5000), 60_000)
    assert held(lone).memory_bytes > 5000
    assert held(lone) in lone.broker.queues_by_id.values()


@pytest.mark.parametrize(
    ("inner", "text"),
    [
        (5, "Invalid argument, 'x-delayed-type' must bean existing exchnage type"),
        (None, "Invalid argument, 'x-delayed-type' must bean existing exchnage type"),
        (
            "x-delayed-message",
            "Invalid argument, 'x-delayed-type' must bean existing exchnage type",
        ),
        ("nope", "unknown exchange type 'nope'"),
        ("", "invalid exchange type ''"),
    ],
)
def test_refused_inner_types(lone: LoneBroker, inner: Any, text: str) -> None:
    client = lone.client()
    declare(client, "new", inner)
    (answer,) = client.methods()
    assert isinstance(answer, ChannelClose)
    assert answer.reply_text == f"PRECONDITION_FAILED - {text}"
    assert "new" not in lone.broker.vhosts["/"].exchanges


def test_the_checks_of_the_inner_type(lone: LoneBroker) -> None:
    client = lone.client()
    declare(client, "h", "x-consistent-hash", **{"hash-property": "foo"})
    (answer,) = client.methods()
    assert isinstance(answer, ChannelClose)
    assert answer.reply_text == "PRECONDITION_FAILED - Unsupported property: foo"


def test_declared_again(client: LoneClient, lone: LoneBroker) -> None:
    before = held(lone)
    declare(client, inner="fanout")  # the argument is not compared
    assert held(lone) is before
