"""Publishing while the journal has no room: the message waits, and nobody else does."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from mqkit.wire import Properties, content_frames
from mqkit.wire.methods import (
    BasicAck,
    BasicGet,
    BasicGetEmpty,
    BasicGetOk,
    BasicPublish,
    ChannelClose,
    ConnectionBlocked,
    ConnectionUnblocked,
    ExchangeDeclare,
    Method,
    QueueBind,
    QueueDeclare,
    QueueDeclareOk,
    TxCommit,
    TxCommitOk,
    TxSelect,
)
from reference_broker.core.base.limits import PARKED_BYTES_MAX
from reference_broker.core.exchange.definitions import QueueDefinition
from reference_broker.core.journal.journal import Entry
from reference_broker.core.message.content import Content
from reference_broker.testing.homes.scripted_home import ScriptedHome
from reference_broker.testing.lone_broker import LoneBroker, LoneClient
from reference_broker.testing.recording_journal import RecordingJournal

PERSISTENT = Properties(delivery_mode=2)


class ToldSpace:
    """Room for as many bytes and entries as the test says; who asked, and what for."""

    plain_bytes = 1_000
    plain_entries = 2

    def __init__(self) -> None:
        self.scarce = False
        self.left_bytes = 1 << 30
        self.asked: list[tuple[int, int, int]] = []
        self.somebody_waits = False
        self._became_scarce: Callable[[], None] = lambda: None

    def listen(self, became_scarce: Callable[[], None]) -> None:
        self._became_scarce = became_scarce

    def admits(self, size_bytes: int, entries: int, messages: int = 1) -> bool:
        self.asked.append((size_bytes, entries, messages))
        admitted = size_bytes <= self.left_bytes
        self.somebody_waits |= not admitted
        return admitted

    def nobody_waits(self) -> None:
        self.somebody_waits = False

    def is_for(self, left_bytes: int) -> None:
        self.left_bytes = left_bytes
        self.scarce = True
        self._became_scarce()

    def is_plenty(self) -> None:
        self.scarce = False
        self.left_bytes = 1 << 30


class Place:
    """A broker on a journal with such a room, and one durable queue."""

    def __init__(self) -> None:
        self.journal = RecordingJournal()
        self.journal.free_space = self.room = ToldSpace()
        self.lone = LoneBroker(self.journal)
        self.client = self.lone.client(channels=(1, 2))
        self.declare("q")

    def declare(self, *names: str) -> None:
        for name in names:
            self.client.send(1, QueueDeclare(name, durable=True))
            self.lone.sync()
        self.client.output()

    def ready(self, name: str = "q") -> int:
        return self.lone.broker.vhosts["/"].queues[name].ready

    def publish(self, body: bytes, client: LoneClient | None = None, channel: int = 1) -> None:
        (client or self.client).publish("q", body, channel=channel, properties=PERSISTENT)


@pytest.fixture
def place() -> Place:
    return Place()


def test_while_there_is_plenty_only_large_messages_ask(place: Place) -> None:
    for body in (b"", bytes(900), bytes(900)):
        place.publish(body)
    assert place.room.asked == []
    place.publish(bytes(1_001))
    ((size_bytes, entries, messages),) = place.room.asked
    assert (entries, messages) == (1, 1)
    assert 1_001 < size_bytes < 1_050
    place.publish(bytes(900))
    assert len(place.room.asked) == 1
    assert place.ready() == 5


def test_one_that_goes_to_many_queues_asks_each_time(place: Place) -> None:
    place.client.send(1, ExchangeDeclare("all", "fanout"))
    place.declare("a", "b", "c")
    for queue in "abc":
        place.client.send(1, QueueBind(queue, "all"))
        place.lone.sync()
    for _ in range(2):
        place.client.publish("", exchange="all", properties=PERSISTENT)
    assert [entries for _, entries, _ in place.room.asked] == [3, 3]
    assert place.ready("c") == 2


def test_while_it_is_scarce_each_message_asks(place: Place) -> None:
    place.room.is_for(100)
    for _ in range(3):
        place.publish(b"small")
    assert len(place.room.asked) == 3
    place.room.is_plenty()
    for _ in range(3):
        place.publish(b"small")
    assert len(place.room.asked) == 3
    assert place.ready() == 6


def test_a_message_for_another_node_needs_no_room_here(place: Place) -> None:
    """It waited for the log all the same: while a large message was written, for instance."""
    home = ScriptedHome()
    there = QueueDefinition(7, "there", False, {}, durable=True)
    place.lone.broker.vhosts["/"].enter_queue(there, home)
    for queue in ("q", "there"):
        place.client.send(1, QueueBind(queue, "amq.fanout"))
        place.lone.sync()
    place.client.send(2, TxSelect())
    place.room.is_for(0)
    place.client.publish("there", b"small", properties=PERSISTENT)
    place.client.publish("there", bytes(2_000), properties=PERSISTENT)
    place.client.publish("there", b"in a transaction", channel=2, properties=PERSISTENT)
    place.client.send(2, TxCommit())
    place.lone.complete()
    assert place.room.asked == []
    assert len(home.published) == 3
    place.client.publish("", b"to both", exchange="amq.fanout", properties=PERSISTENT)
    assert [entries for _, entries, _ in place.room.asked] == [1]
    assert len(home.published) == 3


@pytest.mark.parametrize("frame_max", [131_072, 60], ids=["whole", "in frames"])
def test_a_publisher_waits_in_order_and_goes_on_after_a_sync(place: Place, frame_max: int) -> None:
    place.client.select_confirms()
    place.publish(b"its route is known")
    place.lone.sync()
    place.room.is_for(100)
    for size in (200, 10):
        place.client.publish("q", bytes(size), properties=PERSISTENT, frame_max=frame_max)
    place.client.send(1, QueueDeclare("later", durable=True))
    place.lone.sync()
    assert place.ready() == 1, "the small one must not overtake the large one"
    assert place.client.methods() == [BasicAck(1)]
    assert place.room.somebody_waits
    place.room.is_plenty()
    place.lone.sync()
    assert place.ready() == 3
    assert not place.room.somebody_waits
    place.lone.sync()
    answers: list[Method] = [QueueDeclareOk("later"), BasicAck(3, multiple=True)]
    assert place.client.methods() == answers
    assert place.client.connection.channels[1].published == 3


def test_acks_and_other_channels_do_not_wait(place: Place) -> None:
    place.publish(b"first")
    place.room.is_for(0)
    place.publish(b"second")
    place.client.send(2, BasicGet("q"))
    (got,) = place.client.methods()
    assert isinstance(got, BasicGetOk)
    place.client.send(2, BasicAck(1), BasicGet("q"))
    assert place.client.methods() == [BasicGetEmpty()]
    assert place.journal.records[-1][0] == "ack"
    assert place.ready() == 0


def test_what_the_log_does_not_keep_needs_no_room(place: Place) -> None:
    place.client.send(1, QueueDeclare("transient"))
    place.client.output()
    place.room.is_for(0)
    place.client.publish("transient", properties=PERSISTENT)
    place.client.publish("nowhere", properties=PERSISTENT)
    assert place.room.asked == []
    assert place.ready("transient") == 1


def test_who_waits_longest_is_asked_first_and_holds_up_nobody(place: Place) -> None:
    other = place.lone.client()
    place.room.is_for(0)
    place.publish(bytes(500))
    place.publish(bytes(50), other)
    place.room.asked.clear()
    place.room.left_bytes = 300
    place.lone.sync()
    assert [size // 100 for size, _, _ in place.room.asked] == [5, 0]
    assert place.ready() == 1
    assert place.room.somebody_waits


class FillingJournal(RecordingJournal):
    """Takes so many messages of runs; then it is asked for one, and room gets scarce."""

    def __init__(self, messages: int) -> None:
        super().__init__()
        self.told = self.free_space = ToldSpace()
        self.left = messages

    def publish(self, entries: Sequence[Entry], content: Content) -> None:
        super().publish(entries, content)
        if not self.left:
            self.told.is_for(0)

    def publish_run(self, entry: Entry, contents: Sequence[Content]) -> int:
        count = super().publish_run(entry, contents[: self.left])
        self.left -= count
        return count


@pytest.mark.parametrize("last", ["q", "other", ""], ids=["alike", "elsewhere", "refused"])
@pytest.mark.parametrize("taken", [1, 2, 5])
def test_a_run_ends_where_room_gets_scarce(taken: int, last: str) -> None:
    """The rest of the read waits, and is taken up where it was left."""
    journal = FillingJournal(taken)
    lone = LoneBroker(journal)
    client = lone.client()
    for name in ("q", "other"):
        client.send(1, QueueDeclare(name, durable=True))
        lone.sync()
    client.output()
    client.select_confirms()
    bodies = [b"0", b"11", b"", b"333", b"4", b"55", b"", b"7"]
    read = [content_frames(1, BasicPublish("", "q"), PERSISTENT, body, 4_096) for body in bodies]
    exchange = "" if last else "missing"
    read.append(content_frames(1, BasicPublish(exchange, last), PERSISTENT, b"last", 4_096))
    client.send_bytes(b"".join(read))
    queues = lone.broker.vhosts["/"].queues
    # One by publish, whose route is then known, and one by which the journal found out.
    assert queues["q"].ready == 1 + taken + 1
    assert not journal.told.asked or journal.told.somebody_waits
    lone.sync()
    assert client.methods() == [BasicAck(2 + taken, multiple=True)]
    journal.left = 100
    journal.told.is_plenty()
    lone.sync()
    assert [bytes(each.body) for each in queues["q"].contents.values()][: len(bodies)] == bodies
    assert queues["q"].ready == len(bodies) + (last == "q")
    assert queues["other"].ready == (last == "other")
    lone.sync()
    if last:
        assert client.methods() == [BasicAck(9, multiple=True)]
    else:
        assert isinstance(client.methods()[-1], ChannelClose)


def test_a_connection_is_read_until_it_has_parked_its_bound(place: Place) -> None:
    place.room.is_for(0)
    place.publish(b"waits")
    assert place.client.connection.wants_reading
    while place.client.connection.parked_bytes <= PARKED_BYTES_MAX:
        place.publish(bytes(100_000))
    assert not place.client.connection.wants_reading
    place.room.is_plenty()
    place.lone.sync()
    assert place.client.connection.wants_reading
    assert place.client.connection.parked_bytes == 0


def test_who_is_gone_is_not_waited_for(place: Place) -> None:
    other = place.lone.client()
    place.room.is_for(0)
    place.publish(b"waits", other)
    other.disconnect()
    place.lone.sync()
    assert not place.room.somebody_waits
    place.room.is_plenty()
    place.lone.sync()
    assert place.ready() == 0


def test_a_transaction_is_committed_as_a_whole_or_waits(place: Place) -> None:
    place.client.send(1, TxSelect())
    place.room.is_for(150)
    for _ in range(2):
        place.publish(bytes(100))
    assert place.room.asked == [], "nothing is logged yet"
    place.client.send(1, TxCommit())
    place.lone.sync()
    assert place.ready() == 0
    assert place.room.asked[0][1:] == (2, 2)
    place.room.left_bytes = 5_000
    place.client.output()
    place.lone.sync()
    place.lone.sync()
    assert place.ready() == 2
    assert place.client.methods() == [TxCommitOk()]
    place.room.is_for(0)
    place.client.send(1, TxCommit())
    assert place.client.methods() == [TxCommitOk()], "of nothing"


def test_those_that_wait_are_told_of_an_alarm_that_comes_later(place: Place) -> None:
    place.room.is_for(0)
    place.publish(b"waits")
    assert place.client.methods() == []
    place.lone.broker.disk_low(place.lone.now_s, place.lone.wall_ms)
    assert place.client.methods() == [ConnectionBlocked("low on disk")]
    place.room.is_plenty()
    place.lone.broker.disk_recovered(place.lone.now_s, place.lone.wall_ms)
    place.lone.sync()
    assert place.client.methods() == [ConnectionUnblocked()]
    assert place.ready() == 1


def test_one_that_waited_and_is_refused_then_closes_its_channel(place: Place) -> None:
    place.client.send(1, ExchangeDeclare("e", "fanout"), QueueBind("q", "e"))
    place.lone.sync()
    place.client.output()
    place.room.is_for(0)
    place.client.publish("", b"in pieces" * 10, exchange="e", properties=PERSISTENT, frame_max=60)
    broker = place.lone.broker
    broker.begin(place.lone.now_s, place.lone.wall_ms)
    vhost = broker.vhosts["/"]
    vhost.delete_exchange("e")
    broker.finish()
    place.lone.sync()
    (closed,) = place.client.methods()
    assert isinstance(closed, ChannelClose)
    assert (closed.reply_code, closed.class_id, closed.method_id) == (404, 60, 40)
