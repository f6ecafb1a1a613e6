"""The watermark: publishers are stopped and told, consumers go on, and it ends by itself."""

from __future__ import annotations

import pytest

from mqkit.wire import Properties, content_frames, method_frame
from mqkit.wire.methods import (
    BasicAck,
    BasicConsume,
    BasicGet,
    BasicNack,
    BasicPublish,
    BasicReject,
    ConnectionBlocked,
    ConnectionUnblocked,
    QueueDeclare,
    QueueDeclareOk,
    QueuePurge,
)
from reference_broker.core.alarms import Alarm
from reference_broker.core.base.limits import Limits
from reference_broker.core.memory_watermark import held_bytes
from reference_broker.core.work.budget import Budget
from reference_broker.core.work.portions import Job
from reference_broker.testing.lone_broker import LoneBroker
from reference_broker.testing.recording_journal import RecordingJournal

WATERMARK = 100_000
BLOCKED = ConnectionBlocked("low on memory")


def small_broker() -> LoneBroker:
    return LoneBroker(limits=Limits(memory_high_watermark_bytes=WATERMARK))


def test_what_is_held_counts_messages_with_their_overhead_and_both_buffers() -> None:
    lone = small_broker()
    client = lone.client()
    client.send(1, QueueDeclare("q"))
    client.publish("q")
    client.send(1, BasicGet("q", no_ack=True))
    client.received()
    before = held_bytes(lone.broker)
    client.publish("q", b"x" * 1000)
    assert 1300 <= held_bytes(lone.broker) - before <= 1400
    client.send(1, BasicGet("q"))
    client.output()
    assert 1500 <= held_bytes(lone.broker) - before <= 1900, "there is a lease, too, and its time"
    client.send(1, BasicAck(2, False))
    lone.broker.timers.fire(1 << 60, Budget())
    assert held_bytes(lone.broker) <= before


def test_large_headers_are_counted_for_as_long_as_the_message_is_held() -> None:
    lone = small_broker()
    client = lone.client()
    client.send(1, QueueDeclare("q", arguments={"x-max-length": 3}))
    large = Properties(headers={"large": "x" * 5_000})
    client.publish("q", b"")
    client.send(1, QueuePurge("q"))
    before = held_bytes(lone.broker)
    for _ in range(4):
        client.publish("q", b"", properties=large)
    client.output()
    assert 3 * 5_250 <= held_bytes(lone.broker) - before <= 3 * 5_500
    client.send(1, BasicGet("q"), BasicGet("q"), BasicNack(1, False, True))
    client.output()
    assert 3 * 5_250 <= held_bytes(lone.broker) - before <= 3 * 5_500
    client.send(1, BasicAck(2, False))
    client.output()
    assert 2 * 5_250 <= held_bytes(lone.broker) - before <= 2 * 5_500
    client.send(1, QueuePurge("q"))
    client.output()
    assert held_bytes(lone.broker) - before < 1_000
    client.publish("q", b"", properties=large)
    client.send(1, BasicGet("q"), BasicReject(3, False))
    client.output()
    assert held_bytes(lone.broker) - before < 1_000


def test_what_is_half_published_is_counted_and_its_publisher_blocked() -> None:
    lone = small_broker()
    empty = held_bytes(lone.broker)
    client = lone.client(channels=(1, 2))
    before = held_bytes(lone.broker)
    for number in (1, 2):
        body = b"x" * (6 * 9_992 + 1)
        whole = content_frames(number, BasicPublish("", "q"), Properties(), body, frame_max=10_000)
        client.send_bytes(whole[:-9])  # without the last frame
    assert 2 * 59_000 <= held_bytes(lone.broker) - before <= 2 * 61_000
    assert client.methods() == [BLOCKED]
    client.disconnect()
    lone.pass_time(1)
    assert held_bytes(lone.broker) - empty < 1_000
    assert lone.broker.alarms.on == []


def test_publishers_are_blocked_above_the_watermark_and_consumers_are_not() -> None:
    lone = small_broker()
    publisher, consumer, idle = lone.client(), lone.client(), lone.client()
    publisher.send(1, QueueDeclare("q"))
    for _ in range(7):
        publisher.publish("q", b"x" * 10_000)
    assert publisher.connection.wants_reading
    publisher.received()
    publisher.publish("q", b"x" * 20_000)
    assert publisher.methods() == [BLOCKED]
    assert not publisher.connection.wants_reading
    assert lone.broker.alarms.on == [Alarm.MEMORY]
    assert idle.connection.wants_reading

    consumer.send(1, BasicConsume("q", "t", no_ack=True))
    assert len(consumer.received()) == 9
    lone.pass_time(1)
    assert publisher.methods() == [ConnectionUnblocked()]
    assert publisher.connection.wants_reading
    assert lone.broker.alarms.on == []
    assert idle.methods() == []


def test_who_publishes_for_the_first_time_during_an_alarm_is_blocked_then() -> None:
    lone = small_broker()
    first, second = lone.client(), lone.client()
    first.send(1, QueueDeclare("q"))
    first.publish("q", b"x" * WATERMARK)
    assert second.connection.wants_reading
    second.publish("q")
    assert second.methods() == [BLOCKED]


def test_who_has_published_before_an_alarm_is_served_until_it_publishes_again() -> None:
    lone = small_broker()
    client = lone.client()
    client.send(1, QueueDeclare("q"))
    client.publish("q")
    lone.broker.alarms.sound(Alarm.MEMORY)
    client.received()
    client.send(1, BasicGet("q", no_ack=True))
    (got,) = client.received()
    assert got.body == b"body"
    assert client.connection.wants_reading
    client.publish("q")
    assert client.methods() == [BLOCKED]
    assert not client.connection.wants_reading


def test_a_publish_in_an_alarm_waits_for_its_end_with_all_that_was_sent_behind_it() -> None:
    lone = LoneBroker()
    client, other = lone.client(), lone.client()
    client.send(1, QueueDeclare("q"))
    client.received()
    lone.broker.alarms.hold(Alarm.MEMORY)
    answered = method_frame(1, QueueDeclare("before"))
    message = content_frames(1, BasicPublish("", "q"), Properties(), b"body", frame_max=4096)
    unanswered = method_frame(1, QueueDeclare("behind"))
    client.send_bytes(answered + message + unanswered[:-1])
    assert client.methods() == [QueueDeclareOk("before", 0, 0), BLOCKED]
    other.send(1, QueueDeclare("q", passive=True))
    assert other.methods() == [QueueDeclareOk("q", 0, 0)]

    lone.broker.alarms.release(Alarm.MEMORY)
    lone.pass_time(0)
    client.send_bytes(unanswered[-1:])
    assert client.methods() == [ConnectionUnblocked(), QueueDeclareOk("behind", 0, 0)]
    other.send(1, QueueDeclare("q", passive=True))
    assert other.methods() == [QueueDeclareOk("q", 1, 0)]


def test_input_that_is_faster_than_the_end_of_an_alarm_comes_behind_what_waited() -> None:
    lone = LoneBroker()
    client = lone.client()
    client.send(1, QueueDeclare("q"))
    lone.broker.alarms.hold(Alarm.MEMORY)
    client.publish("q", b"first")
    lone.broker.alarms.release(Alarm.MEMORY)
    client.publish("q", b"second")
    lone.pass_time(0)
    client.received()
    client.send(1, BasicGet("q", no_ack=True), BasicGet("q", no_ack=True))
    assert [reply.body for reply in client.received()] == [b"first", b"second"]


def test_an_alarm_that_is_back_before_what_waited_was_taken() -> None:
    lone = LoneBroker()
    client = lone.client()
    client.send(1, QueueDeclare("q"))
    client.received()
    lone.broker.alarms.hold(Alarm.MEMORY)
    client.publish("q")
    lone.broker.alarms.release(Alarm.MEMORY)
    lone.broker.alarms.hold(Alarm.MEMORY)
    lone.pass_time(0)
    assert client.methods() == [BLOCKED, ConnectionUnblocked(), BLOCKED]
    assert not client.connection.wants_reading
    lone.broker.alarms.release(Alarm.MEMORY)
    lone.pass_time(0)
    client.send(1, QueueDeclare("q", passive=True))
    assert client.methods() == [ConnectionUnblocked(), QueueDeclareOk("q", 1, 0)]


def test_a_message_in_many_frames_is_stopped_at_the_next_of_them() -> None:
    lone = small_broker()
    client = lone.client()
    client.send(1, QueueDeclare("q"))
    body = b"x" * (4 * 9_992)
    whole = content_frames(1, BasicPublish("", "q"), Properties(), body, frame_max=10_000)
    client.send_bytes(whole[:-20_000])
    lone.broker.alarms.hold(Alarm.MEMORY)
    client.received()
    assert client.connection.wants_reading
    client.send_bytes(whole[-20_000:-10_000])
    assert client.methods() == [BLOCKED]
    assert not client.connection.wants_reading


def test_who_publishes_behind_an_answer_that_waits_is_stopped_when_that_is_there() -> None:
    lone = LoneBroker(RecordingJournal(), limits=Limits(memory_high_watermark_bytes=WATERMARK))
    client = lone.client()
    client.send(1, QueueDeclare("q", durable=True))
    lone.sync()
    client.send(1, QueueDeclare("q2", durable=True))
    client.publish("q", b"parked")
    lone.broker.alarms.sound(Alarm.MEMORY)
    assert client.connection.wants_reading
    lone.sync()
    assert BLOCKED in client.methods()
    assert not client.connection.wants_reading


def test_a_client_that_was_not_told_is_stopped_all_the_same() -> None:
    lone = small_broker()
    client = lone.client(capabilities={})
    client.send(1, QueueDeclare("q"))
    client.received()
    client.publish("q", b"x" * WATERMARK)
    assert client.methods() == []
    assert not client.connection.wants_reading


def test_an_alarm_that_comes_again() -> None:
    lone = small_broker()
    publisher, other = lone.client(), lone.client()
    publisher.send(1, QueueDeclare("q"))
    for _ in range(3):
        publisher.received()
        publisher.publish("q", b"x" * WATERMARK)
        assert publisher.methods() == [BLOCKED]
        other.send(1, QueuePurge("q"))
        lone.pass_time(0.2)
        assert publisher.methods() == [ConnectionUnblocked()]


def test_one_alarm_of_two_keeps_publishers_blocked() -> None:
    lone = small_broker()
    publisher, other = lone.client(), lone.client()
    publisher.send(1, QueueDeclare("q"))
    publisher.publish("q", b"x" * WATERMARK)
    lone.broker.disk_full(lone.now_s, lone.wall_ms)
    other.send(1, QueuePurge("q"))
    lone.pass_time(0.2)
    assert not publisher.connection.wants_reading
    lone.sync()
    assert publisher.connection.wants_reading


def test_a_connection_that_ends_while_blocked() -> None:
    lone = small_broker()
    publisher = lone.client()
    publisher.send(1, QueueDeclare("q"))
    publisher.publish("q", b"x" * WATERMARK)
    publisher.disconnect()
    lone.pass_time(10)
    assert lone.broker.alarms.on == [Alarm.MEMORY]


def test_a_low_disk_blocks_publishers_and_goes_on_confirming() -> None:
    lone = small_broker()
    publisher = lone.client()
    publisher.send(1, QueueDeclare("q"))
    publisher.select_confirms()
    publisher.received()
    lone.broker.disk_low(lone.now_s, lone.wall_ms)
    lone.broker.disk_low(lone.now_s, lone.wall_ms)
    publisher.publish("q", b"x")
    assert not publisher.connection.wants_reading
    lone.sync()
    assert ConnectionBlocked("low on disk") in publisher.methods()
    assert not publisher.connection.wants_reading, "a sync alone doesn't end it"
    lone.broker.disk_recovered(lone.now_s, lone.wall_ms)
    lone.broker.disk_recovered(lone.now_s, lone.wall_ms)
    assert publisher.methods() == [ConnectionUnblocked()]
    assert lone.broker.alarms.on == []


def test_both_alarms_are_named_to_whoever_publishes_then() -> None:
    lone = LoneBroker()
    early, late = lone.client(), lone.client()
    lone.broker.alarms.sound(Alarm.MEMORY)
    early.publish("nowhere")
    lone.broker.alarms.sound(Alarm.DISK)
    late.publish("nowhere")
    assert early.methods() == [ConnectionBlocked("low on memory")]
    assert late.methods() == [ConnectionBlocked("low on disk & memory")]
    lone.broker.alarms.clear(Alarm.MEMORY)
    assert late.methods() == []
    lone.broker.alarms.clear(Alarm.DISK)
    assert late.methods() == early.methods() == [ConnectionUnblocked()]


def test_what_is_measured_and_what_an_operator_holds_are_two_reasons() -> None:
    lone = small_broker()
    client = lone.client()
    client.send(1, QueueDeclare("q"))
    client.received()
    alarms = lone.broker.alarms
    alarms.hold(Alarm.MEMORY)
    client.publish("q")
    alarms.sound(Alarm.MEMORY)
    alarms.clear(Alarm.MEMORY)
    assert client.methods() == [BLOCKED]
    alarms.sound(Alarm.MEMORY)
    alarms.release(Alarm.MEMORY)
    assert client.methods() == []
    alarms.clear(Alarm.MEMORY)
    assert client.methods() == [ConnectionUnblocked()]


def test_a_publisher_that_an_alarm_had_stopped_is_listed_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lone = LoneBroker()
    client = lone.client()
    client.send(1, QueueDeclare("q"))
    lone.broker.budget.units = 5
    lone.turn()
    publishes = b"".join(
        content_frames(1, BasicPublish("", key), Properties(), b"x", 4096)
        for key in ("q", "nowhere") * 20
    )
    lone.broker.alarms.sound(Alarm.MEMORY)
    client.feed(publishes)
    lone.complete()
    listed: list[object] = []
    add = lone.broker.work.add

    def note(job: Job) -> None:
        listed.append(job)
        add(job)

    monkeypatch.setattr(lone.broker.work, "add", note)
    lone.broker.alarms.clear(Alarm.MEMORY)
    client.feed(publishes)
    lone.broker.tick(lone.now_s, lone.wall_ms)
    assert listed.count(client.connection) == 1, "its new input was, and the end of the alarm not"
    lone.complete()
    assert lone.broker.vhosts["/"].queues["q"].ready == 40


def test_an_alarm_of_another_node_blocks_as_an_own_one_and_is_none() -> None:
    lone = LoneBroker()
    alarms = lone.broker.alarms
    client = lone.client()
    client.send(1, QueueDeclare("q"))
    client.received()
    alarms.hear("b", (Alarm.DISK,))
    assert (alarms.sounding, alarms.on, dict(alarms.elsewhere)) == (True, [], {"b": (Alarm.DISK,)})
    client.publish("q")
    assert client.methods() == [ConnectionBlocked("low on disk")]
    alarms.hear("c", (Alarm.MEMORY, Alarm.DISK))
    alarms.sound(Alarm.MEMORY)
    assert alarms.reason == "low on disk & memory"
    alarms.hear("b", ())
    alarms.clear(Alarm.MEMORY)
    assert client.methods() == [], "c is short yet"
    alarms.hear("c", ())
    assert client.methods() == [ConnectionUnblocked()]
    assert (alarms.sounding, dict(alarms.elsewhere)) == (False, {})
    alarms.hear("c", ())
    alarms.hear("never heard of", ())
    assert client.methods() == []


def test_whoever_follows_hears_of_own_alarms_alone() -> None:
    alarms = LoneBroker().broker.alarms
    told: list[list[Alarm]] = []
    alarms.follow(lambda: told.append(alarms.on))
    alarms.hear("b", (Alarm.DISK,))
    for act in (alarms.sound, alarms.sound, alarms.hold, alarms.clear, alarms.clear):
        act(Alarm.MEMORY)
    alarms.hear("b", ())
    alarms.release(Alarm.MEMORY)
    alarms.release(Alarm.MEMORY)
    assert told == [[Alarm.MEMORY]] * 3 + [[]]
