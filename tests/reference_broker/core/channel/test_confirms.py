"""Law 3, on the one ledger: nothing leaves before the disk has it, and everything leaves after."""

from __future__ import annotations

import pytest

from mqkit.wire import Properties, content_frames
from mqkit.wire.methods import (
    BasicAck,
    BasicNack,
    BasicPublish,
    BasicReturn,
    ChannelClose,
    ConnectionClose,
    ExchangeDeclare,
    ExchangeDeclareOk,
    QueueBind,
    QueueBindOk,
    QueueDeclare,
    QueueDeclareOk,
    QueueDelete,
    QueueDeleteOk,
)
from reference_broker.core.channel.confirms import ConfirmLedger
from reference_broker.testing.lone_broker import LoneBroker, LoneClient
from reference_broker.testing.recording_journal import RecordingJournal

PERSISTENT = Properties(delivery_mode=2)


def slow_disk() -> tuple[LoneBroker, LoneClient]:
    """A broker with a durable queue ``d`` and a transient one ``t``, a client with confirms, and a
    disk that is done only when told so."""
    lone = LoneBroker(RecordingJournal())
    client = lone.client(channels=(1, 2))
    client.send(1, QueueDeclare("d", durable=True), QueueDeclare("t"))
    lone.sync()
    client.select_confirms(1)
    client.select_confirms(2)
    return lone, client


def test_a_persistent_message_is_confirmed_when_it_is_synced_and_not_before() -> None:
    lone, client = slow_disk()
    client.publish("d", properties=PERSISTENT)
    assert client.methods() == []
    assert len(lone.broker.ledger) == 1
    lone.broker.synced(lone.journal.tail - 1, lone.now_s, lone.wall_ms)
    assert client.methods() == []
    lone.sync()
    assert client.methods() == [BasicAck(1, False)]
    assert len(lone.broker.ledger) == 0


def test_the_journal_is_told_that_somebody_waits_and_for_how_far() -> None:
    """It would not sync acks at once otherwise, and a declare-ok may come right behind some."""
    lone, client = slow_disk()
    lone.sync()
    before = lone.journal.awaited
    client.publish("t")
    assert lone.journal.awaited == before, "nothing waits for the disk"
    client.send(2, QueueDelete("d"))
    assert lone.journal.awaited == lone.journal.tail > before


def test_a_read_of_many_publishes_is_one_line_and_one_ack() -> None:
    lone, client = slow_disk()
    publisher = lone.client()
    publisher.select_confirms()
    frames = [_publish_frames("d") for _ in range(50)]
    publisher.send_bytes(b"".join(frames))
    assert len(lone.broker.ledger) == 1
    lone.sync()
    assert publisher.methods() == [BasicAck(50, True)]
    publisher.send_bytes(frames[0])
    lone.sync()
    assert publisher.methods() == [BasicAck(51, False)]
    assert client.methods() == []


def test_what_needs_no_disk_is_confirmed_at_the_end_of_the_read() -> None:
    lone, client = slow_disk()
    client.publish("t", properties=PERSISTENT)
    client.publish("d")
    assert client.methods() == [BasicAck(1, False), BasicAck(2, False)]
    assert len(lone.broker.ledger) == 0


def test_a_transient_message_is_not_confirmed_together_with_an_unsynced_one_before_it() -> None:
    lone, client = slow_disk()
    client.publish("d", properties=PERSISTENT)
    client.publish("t")
    assert client.methods() == []
    lone.sync()
    assert client.methods() == [BasicAck(1, False), BasicAck(2, False)]


def test_channels_are_confirmed_each_for_itself() -> None:
    lone, client = slow_disk()
    client.publish("d", properties=PERSISTENT, channel=1)
    first = lone.journal.tail
    client.publish("d", properties=PERSISTENT, channel=2)
    lone.broker.synced(first, lone.now_s, lone.wall_ms)
    assert [(r.channel, r.method) for r in client.received()] == [(1, BasicAck(1, False))]
    lone.sync()
    assert [(r.channel, r.method) for r in client.received()] == [(2, BasicAck(1, False))]


def test_an_unroutable_message_is_confirmed_and_if_mandatory_returned_before() -> None:
    _, client = slow_disk()
    client.publish("nowhere")
    assert client.methods() == [BasicAck(1, False)]
    client.publish("nowhere", b"back", mandatory=True, properties=PERSISTENT)
    returned, ack = client.received()
    assert returned.method == BasicReturn(312, "NO_ROUTE", "", "nowhere")
    assert returned.body == b"back"
    assert ack.method == BasicAck(2, False)


def test_a_return_comes_behind_the_confirms_of_what_was_published_before_it() -> None:
    lone, client = slow_disk()
    client.send_bytes(
        b"".join(_publish_frames("nowhere", mandatory=number > 1) for number in range(4))
    )
    returned = BasicReturn(312, "NO_ROUTE", "", "nowhere")
    expected = [BasicAck(2, True), returned, BasicAck(3, False), returned, BasicAck(4, False)]
    assert client.methods() == expected
    client.send_bytes(_publish_frames("d") + _publish_frames("nowhere", mandatory=True))
    assert client.methods() == [returned], "the one before it waits for the disk"
    lone.sync()
    assert client.methods() == [BasicAck(6, True)]


def test_a_refused_message_is_nacked_and_no_ack_covers_it_alone() -> None:
    _, client = slow_disk()
    full = {"x-max-length": 1, "x-overflow": "reject-publish"}
    client.send(1, QueueDeclare("full", arguments=full))
    client.received()
    client.publish("full")
    assert client.methods() == [BasicAck(1, False)]
    client.publish("full")
    assert client.methods() == [BasicNack(2, False, True)]
    client.publish("t")
    assert client.methods() == [BasicAck(3, False)]


def test_a_nack_in_the_middle_of_a_read() -> None:
    lone, client = slow_disk()
    full = {"x-max-length": 1, "x-overflow": "reject-publish"}
    client.send(1, QueueDeclare("full", arguments=full))
    client.publish("full", channel=2)
    client.received()
    frames = [_publish_frames(key) for key in ("d", "full", "d", "full", "full")]
    client.send_bytes(b"".join(frames))
    assert [m.delivery_tag for m in client.methods() if isinstance(m, BasicNack)] == [2, 4, 5]
    lone.sync()
    assert client.methods() == [BasicAck(3, True)]


def test_without_confirm_select_nothing_is_confirmed() -> None:
    lone, _ = slow_disk()
    client = lone.client()
    client.publish("d", properties=PERSISTENT)
    lone.sync()
    assert client.methods() == []
    assert len(lone.broker.ledger) == 0


def test_a_channel_that_is_gone_gets_no_confirm() -> None:
    lone, client = slow_disk()
    client.publish("d", properties=PERSISTENT)
    client.send(1, ChannelClose())
    client.received()
    lone.sync()
    assert client.methods() == []


def test_a_connection_that_is_gone_gets_no_confirm() -> None:
    lone, client = slow_disk()
    client.publish("d", properties=PERSISTENT)
    client.disconnect()
    lone.sync()
    assert client.output() == b""


def test_when_the_disk_fails_everything_unconfirmed_is_nacked_and_stays_so() -> None:
    lone, client = slow_disk()
    client.send_bytes(b"".join(_publish_frames("d") for _ in range(3)))
    client.publish("d", properties=PERSISTENT, channel=2)
    lone.broker.disk_failed(lone.now_s, lone.wall_ms)
    assert [(r.channel, r.method) for r in client.received()] == [
        (1, BasicNack(3, True, True)),
        (2, BasicNack(1, False, True)),
    ]
    client.publish("d", properties=PERSISTENT)
    assert client.methods() == [BasicNack(4, False, True)]
    lone.sync()
    assert client.methods() == []


def test_when_the_disk_fails_a_definition_is_refused() -> None:
    lone, client = slow_disk()
    client.send(1, QueueDeclare("d2", durable=True))
    lone.broker.disk_failed(lone.now_s, lone.wall_ms)
    [close] = client.methods()
    assert isinstance(close, ConnectionClose)
    assert close.reply_code == 541


def test_when_the_disk_is_full_publishes_are_nacked_and_a_sync_brings_confirms_back() -> None:
    lone, client = slow_disk()
    client.publish("d", properties=PERSISTENT)
    lone.broker.disk_full(lone.now_s, lone.wall_ms)
    assert client.methods() == [BasicNack(1, False, True)]
    assert client.connection.wants_reading
    client.publish("d", properties=PERSISTENT)  # waits for the end of the alarm
    assert [method.NAME for method in client.methods()] == ["connection.blocked"]
    assert not client.connection.wants_reading
    lone.sync()
    assert [method.NAME for method in client.methods()] == ["connection.unblocked"]
    assert client.connection.wants_reading
    lone.pass_time(0)
    lone.sync()
    assert client.methods() == [BasicAck(2, False)]
    client.publish("d", properties=PERSISTENT)
    lone.sync()
    assert client.methods() == [BasicAck(3, False)]


def test_the_ok_of_a_durable_definition_waits_for_the_disk() -> None:
    lone = LoneBroker(RecordingJournal())
    client = lone.client()
    for method, ok in (
        (QueueDeclare("d", durable=True), QueueDeclareOk("d", 0, 0)),
        (ExchangeDeclare("x", durable=True), ExchangeDeclareOk()),
        (QueueBind("d", "x", "k"), QueueBindOk()),
        (QueueDelete("d"), QueueDeleteOk(0)),
    ):
        client.send(1, method)
        assert client.methods() == []
        lone.sync()
        assert client.methods() == [ok]


def test_the_ok_of_a_transient_definition_does_not_wait() -> None:
    _, client = slow_disk()
    client.publish("d", properties=PERSISTENT)
    client.send(2, QueueDeclare("q"), ExchangeDeclare("x"), QueueBind("q", "x", "k"))
    assert client.methods() == [QueueDeclareOk("q", 0, 0), ExchangeDeclareOk(), QueueBindOk()]


def test_declaring_what_somebody_else_just_declared_waits_for_the_same_sync() -> None:
    lone = LoneBroker(RecordingJournal())
    first, second = lone.client(), lone.client()
    first.send(1, QueueDeclare("d", durable=True))
    second.send(1, QueueDeclare("d", durable=True))
    assert (first.methods(), second.methods()) == ([], [])
    lone.sync()
    assert first.methods() == second.methods() == [QueueDeclareOk("d", 0, 0)]


def test_a_promise_never_leaves_for_less_than_it_asked() -> None:
    class Note:
        def __init__(self, name: str) -> None:
            self.name = name

        def kept(self) -> None:
            kept.append(self.name)

        def broken(self) -> None:
            raise AssertionError

    kept: list[str] = []
    journal = RecordingJournal()
    journal.tail = 100
    ledger = ConfirmLedger(journal)
    for name, position in (("a", 50), ("b", 80), ("early", 10), ("c", 90)):
        ledger.promise(position, Note(name))
    ledger.reached(50)
    assert kept == ["a"]
    ledger.reached(79)
    assert kept == ["a"]
    ledger.reached(80)
    assert kept == ["a", "b", "early"]
    ledger.reached(200)
    assert kept == ["a", "b", "early", "c"]


@pytest.mark.parametrize("cut", [1, 7, 40, 63])
def test_a_publish_that_is_cut_by_a_read_is_confirmed_with_the_read_that_completes_it(
    cut: int,
) -> None:
    lone, client = slow_disk()
    data = _publish_frames("d") + _publish_frames("d")
    client.send_bytes(data[:cut])
    client.send_bytes(data[cut:])
    lone.sync()
    acks = client.methods()
    assert acks[-1] in (BasicAck(2, True), BasicAck(2, False))


def _publish_frames(routing_key: str, mandatory: bool = False) -> bytes:
    method = BasicPublish("", routing_key, mandatory=mandatory)
    return content_frames(1, method, PERSISTENT, b"body", 131_072)
