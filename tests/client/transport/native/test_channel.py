"""The native channel over bytes: who is told what, and when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mqkit.errors import (
    ChannelError,
    Closed,
    ConfigurationError,
    ConnectionLost,
    MqkitError,
    StaleDelivery,
)
from mqkit.message import Delivery, Message, Properties
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason, Unknown
from mqkit.transport.native.channel import Consumer, NativeChannel
from mqkit.wire import Properties as WireProperties
from mqkit.wire import encode_header, header_frame, method_frame, methods

ANSWER = Callable[[], Any]
MEGABYTE = 2**20


def publish(channel: NativeChannel, *keys: str) -> list[tuple[str, Outcome]]:
    settled: list[tuple[str, Outcome]] = []
    messages = [Message("", key, b"x", Properties(message_id=key)) for key in keys]
    assert channel.publish(messages, keys, settled.extend, octets_max=MEGABYTE) == len(keys)
    return settled


def consume(
    channel: NativeChannel, played: Any, answer: ANSWER, *, no_ack: bool = False
) -> list[Delivery]:
    deliveries: list[Delivery] = []
    request = methods.BasicConsume(queue="q", consumer_tag="c", no_ack=no_ack)
    channel.consume(request, Consumer(deliveries.append, None, no_ack), answer())
    played.says(methods.BasicConsumeOk("c"), channel=channel.number)
    played.written()
    return deliveries


def deliver(played: Any, *tags: int, consumer: str = "c") -> None:
    for tag in tags:
        played.sends(methods.BasicDeliver(consumer, tag, False, "x", "k"), b"%d" % tag)


# -- calls -----------------------------------------------------------------------------------


def test_calls_are_answered_in_order(played: Any, answer: ANSWER) -> None:
    channel, first, second = played.channel(), answer(), answer()
    channel.call(methods.QueuePurge("a"), first)
    channel.call(methods.QueuePurge("b"), second)
    assert played.written() == [methods.QueuePurge("a"), methods.QueuePurge("b")]
    played.says(methods.QueuePurgeOk(1), methods.QueuePurgeOk(2), channel=1)
    assert (first.result.message_count, second.result.message_count) == (1, 2)


def test_what_cant_be_encoded_is_not_sent(played: Any, answer: ANSWER) -> None:
    channel, promise = played.channel(), answer()
    for arguments in ({"a": object()}, {"a": "x" * 200_000}):
        with pytest.raises(ConfigurationError):
            channel.call(methods.QueueDeclare("q", arguments=arguments), promise)
        with pytest.raises(ConfigurationError):
            request = methods.BasicConsume("q", "c", arguments=arguments)
            channel.consume(request, Consumer(print, None, False), promise)
    assert played.written() == []
    assert not channel.has_consumer("c")


def test_a_get_brings_a_delivery_or_nothing(played: Any, answer: ANSWER) -> None:
    channel, empty, full = played.channel(), answer(), answer()
    channel.call(methods.BasicGet("q"), empty)
    channel.call(methods.BasicGet("q"), full)
    played.says(methods.BasicGetEmpty(), channel=1)
    played.sends(methods.BasicGetOk(1, True, "x", "k", 7), b"body", WireProperties(message_id="m"))
    assert isinstance(empty.result, methods.BasicGetEmpty)
    expected = Properties(message_id="m", persistent=False)
    assert full.result == Delivery("x", "k", b"body", expected, 1, True)
    channel.ack(1, multiple=False)
    played.written()
    assert channel.is_open


def test_a_refusal_fails_the_call_that_it_is_about(played: Any, answer: ANSWER) -> None:
    channel, waiting = played.channel(), answer()
    reasons: list[MqkitError | None] = []
    channel.on_closed(reasons.append)
    channel.call(methods.QueuePurge("q"), waiting)
    played.written()
    played.says(methods.ChannelClose(404, "NOT_FOUND - no queue 'q'", 50, 30), channel=1)
    assert played.written() == [methods.ChannelCloseOk()]
    assert isinstance(waiting.error, ChannelError)
    assert (waiting.error.reply_code, waiting.error.class_id, waiting.error.method_id) == (
        404,
        50,
        30,
    )
    assert reasons == [waiting.error]
    with pytest.raises(ChannelError):
        channel.call(methods.QueuePurge("q"), answer())
    late: list[Any] = []
    channel.on_closed(late.append)
    assert late == [waiting.error]
    assert played.channel().number == 1


# -- publishing ------------------------------------------------------------------------------


def test_confirms_are_told_by_the_range(played: Any) -> None:
    channel = played.channel(confirms=True)
    ranges: list[list[tuple[str, Outcome]]] = []
    messages = [Message("", "q", b"x")] * 5
    channel.publish(messages, "abcde", ranges.append, octets_max=MEGABYTE)
    assert channel.unconfirmed == 5
    played.says(methods.BasicAck(3, multiple=True), channel=1)
    played.says(methods.BasicNack(4), methods.BasicAck(5), channel=1)
    assert [[slot for slot, _ in each] for each in ranges] == [["a", "b", "c"], ["d"], ["e"]]
    [(_, nacked)] = ranges[1]
    assert isinstance(nacked, Rejected)
    assert nacked.reason is RejectReason.NACKED
    assert channel.unconfirmed == 0


def test_a_range_over_two_publishers_is_told_to_each(played: Any) -> None:
    channel = played.channel(confirms=True)
    first, second = publish(channel, "a", "b"), publish(channel, "c")
    played.says(methods.BasicAck(0, multiple=True), channel=1)
    assert first == [("a", Confirmed("a")), ("b", Confirmed("b"))]
    assert second == [("c", Confirmed("c"))]


def test_a_return_belongs_to_its_publish(played: Any) -> None:
    channel = played.channel(confirms=True)
    settled = publish(channel, "there", "nowhere")
    back = WireProperties(message_id="nowhere", delivery_mode=2)
    played.sends(methods.BasicReturn(312, "NO_ROUTE", "", "nowhere"), b"x", back)
    played.says(methods.BasicAck(2, multiple=True), channel=1)
    [(_, there), (_, nowhere)] = settled
    assert there == Confirmed("there")
    assert nowhere == Rejected(RejectReason.UNROUTABLE, "312 NO_ROUTE", "nowhere")


def test_publishing_stops_at_the_bound_on_octets_and_goes_on(played: Any) -> None:
    channel = played.channel(confirms=True)
    messages = [Message("", "q", bytes(1000))] * 5
    sink: list[Any] = []
    assert channel.publish(messages, range(5), sink.extend, octets_max=2000) == 2
    assert played.connection.output_octets > 2000
    assert len(played.written()) == 2
    assert played.connection.output_octets == 0
    assert channel.publish(messages, range(5), sink.extend, start=2, octets_max=MEGABYTE) == 5
    assert len(played.written()) == 3


def test_what_amqp_cant_carry_is_rejected_alone(played: Any) -> None:
    channel = played.channel(confirms=True)
    settled = publish(channel, "a", "k" * 256, "c")
    [(_, refused)] = settled
    assert isinstance(refused, Rejected)
    assert refused.reason is RejectReason.REFUSED
    assert [command.method.routing_key for command in played.commands()] == ["a", "c"]
    played.says(methods.BasicAck(2, multiple=True), channel=1)
    assert settled[1:] == [("a", Confirmed("a")), ("c", Confirmed("c"))]


def test_without_confirms_nobody_knows(played: Any) -> None:
    [(_, outcome)] = publish(played.channel(), "a")
    assert isinstance(outcome, Unknown)
    assert "without publisher confirms" in outcome.detail


def test_the_guilty_publish_is_rejected_and_the_others_are_in_doubt(
    played: Any, answer: ANSWER
) -> None:
    channel, quiet = played.channel(confirms=True), answer()
    settled = publish(channel, "a")
    channel.publish([Message("gone", "k", b"")], ["b"], settled.extend, octets_max=MEGABYTE)
    channel.wait_quiescent(quiet)
    text = "NOT_FOUND - no exchange 'gone' in vhost '/'"
    played.says(methods.ChannelClose(404, text, 60, 40), channel=1)
    assert quiet.done()
    [(_, doubt), (_, guilty)] = settled
    assert isinstance(doubt, Unknown)
    assert isinstance(guilty, Rejected)
    assert guilty.reason is RejectReason.NO_EXCHANGE
    [(_, unsent)] = publish(channel, "c")
    assert isinstance(unsent, Unknown)
    assert "not sent" in unsent.detail


def test_quiescence_comes_with_the_last_confirm(played: Any, answer: ANSWER) -> None:
    channel, quiet = played.channel(confirms=True), answer()
    publish(channel, "a", "b")
    channel.wait_quiescent(quiet)
    played.says(methods.BasicAck(1), channel=1)
    assert not quiet.done()
    played.says(methods.BasicAck(2), channel=1)
    assert quiet.done()


# -- consuming -------------------------------------------------------------------------------


def test_a_delivery_right_behind_consume_ok_is_not_lost(played: Any, answer: ANSWER) -> None:
    channel = played.channel()
    deliveries: list[Delivery] = []
    request = methods.BasicConsume(queue="q", consumer_tag="c")
    channel.consume(request, Consumer(deliveries.append, None, False), answer())
    played.sends(methods.BasicDeliver("c", 1, True, "x", "k"), b"early")
    assert deliveries == [Delivery("x", "k", b"early", Properties(persistent=False), 1, True, "c")]


def test_a_body_in_many_frames_arrives_whole(played: Any, answer: ANSWER) -> None:
    deliveries = consume(played.channel(), played, answer)
    body = bytes(range(256)) * 64
    played.sends(methods.BasicDeliver("c", 1, False, "x", "k"), body, frame_max=4096)
    assert deliveries[0].body == body


def test_the_acks_of_a_turn_are_one_frame_before_whatever_else_is_written(
    played: Any, answer: ANSWER
) -> None:
    channel = played.channel()
    consume(channel, played, answer)
    deliver(played, 1, 2, 3, 4)
    before = played.wakes
    for tag in (1, 2, 3):
        channel.ack(tag, multiple=False)
    assert played.wakes == before + 1
    channel.call(methods.BasicCancel("c"), answer())
    channel.ack(4, multiple=False)
    assert played.written() == [
        methods.BasicAck(3, multiple=True),
        methods.BasicCancel("c"),
        methods.BasicAck(4),
    ]


def test_a_nack_stands_between_the_acks(played: Any, answer: ANSWER) -> None:
    channel = played.channel()
    consume(channel, played, answer)
    deliver(played, 1, 2, 3)
    channel.ack(1, multiple=False)
    channel.nack(2, multiple=False, requeue=False)
    channel.ack(3, multiple=False)
    assert played.written() == [
        methods.BasicAck(1),
        methods.BasicNack(2, False, False),
        methods.BasicAck(3),
    ]


def test_an_ack_of_nothing_is_the_brokers_to_judge(played: Any, answer: ANSWER) -> None:
    channel = played.channel()
    consume(channel, played, answer)
    deliver(played, 1)
    channel.ack(1, multiple=False)
    channel.ack(1, multiple=False)
    channel.ack(99, multiple=False)
    sent = [methods.BasicAck(1), methods.BasicAck(1), methods.BasicAck(99)]
    assert played.written() == sent


def test_who_settles_for_all_settles_what_was_held_back_too(played: Any, answer: ANSWER) -> None:
    channel = played.channel()
    consume(channel, played, answer)
    deliver(played, 1, 2, 3)
    channel.ack(2, multiple=False)
    channel.ack(3, multiple=True)
    assert played.written() == [methods.BasicAck(2), methods.BasicAck(3, multiple=True)]


def test_deliveries_without_ack_need_none(played: Any, answer: ANSWER) -> None:
    channel = played.channel()
    consume(channel, played, answer, no_ack=True)
    deliver(played, 1, 2)
    assert played.written() == []


def test_a_delivery_that_nobody_takes_goes_back(played: Any) -> None:
    played.channel()
    deliver(played, 1, consumer="somebody")
    assert played.written() == [methods.BasicNack(1, False, True)]


def test_a_callback_that_raises_ends_nothing(
    played: Any, answer: ANSWER, caplog: pytest.LogCaptureFixture
) -> None:
    channel, seen = played.channel(), []

    def fails_once(delivery: Delivery) -> None:
        seen.append(delivery.body)
        if len(seen) == 1:
            raise ValueError("a user's mistake")

    request = methods.BasicConsume(queue="q", consumer_tag="c")
    channel.consume(request, Consumer(fails_once, None, False), answer())
    deliver(played, 1, 2)
    assert seen == [b"1", b"2"]
    assert "a user's mistake" in caplog.text


def test_a_consumer_that_the_broker_cancels_is_told_and_the_broker_answered(
    played: Any, answer: ANSWER
) -> None:
    channel = played.channel()
    cancelled: list[str] = []
    request = methods.BasicConsume(queue="q", consumer_tag="c")
    channel.consume(request, Consumer(print, cancelled.append, False), answer())
    played.says(methods.BasicConsumeOk("c"), channel=1)
    played.written()
    played.says(methods.BasicCancel("c", True), channel=1)
    assert cancelled == ["c"]
    assert played.written() == [methods.BasicCancelOk("c")]
    assert not channel.has_consumer("c")


def test_a_tag_is_used_once_at_a_time(played: Any, answer: ANSWER) -> None:
    channel = played.channel()
    consume(channel, played, answer)
    request = methods.BasicConsume(queue="q", consumer_tag="c")
    with pytest.raises(ConfigurationError, match="'c' already"):
        channel.consume(request, Consumer(print, None, False), answer())
    channel.forget_consumer("c")
    channel.consume(request, Consumer(print, None, False), answer())


def test_a_method_in_the_middle_of_a_content_is_a_breach(played: Any, answer: ANSWER) -> None:
    consume(played.channel(), played, answer)
    header = header_frame(1, encode_header(5, WireProperties()))
    announced = method_frame(1, methods.BasicDeliver("c", 1))
    played.connection.receive(announced + header + method_frame(1, methods.BasicAck(1)))
    assert "in the middle of a content" in str(played.connection.error)


# -- closing ---------------------------------------------------------------------------------


def test_closing_throws_away_what_still_comes(played: Any, answer: ANSWER) -> None:
    channel, waiting, closed = played.channel(), answer(), answer()
    reasons: list[MqkitError | None] = []
    deliveries = consume(channel, played, answer)
    channel.on_closed(reasons.append)
    deliver(played, 1)
    channel.ack(1, multiple=False)
    channel.call(methods.QueuePurge("q"), waiting)
    played.written()
    channel.close(closed)
    channel.close()
    assert played.written() == [methods.ChannelClose(200)]
    assert isinstance(waiting.error, Closed)
    deliver(played, 2)
    played.says(methods.QueuePurgeOk(3), channel=1)
    assert len(deliveries) == 1
    with pytest.raises(StaleDelivery):
        channel.ack(1, multiple=False)
    with pytest.raises(StaleDelivery):
        channel.nack(1, multiple=False, requeue=True)
    assert (closed.done(), reasons) == (False, [])
    played.says(methods.ChannelCloseOk(), channel=1)
    assert closed.done()
    assert reasons == [None]
    late = answer()
    channel.close(late)
    assert late.done()


def test_two_closes_that_cross_are_both_answered(played: Any, answer: ANSWER) -> None:
    channel, closed = played.channel(), answer()
    channel.close(closed)
    played.written()
    played.says(methods.ChannelClose(406, "PRECONDITION_FAILED"), channel=1)
    assert played.written() == [methods.ChannelCloseOk()]
    assert not closed.done()
    played.says(methods.ChannelCloseOk(), channel=1)
    assert closed.done()


def test_a_close_that_is_never_answered_keeps_its_number(played: Any, answer: ANSWER) -> None:
    channel, closed = played.channel(confirms=True), answer()
    settled = publish(channel, "a")
    channel.close(closed)
    channel.give_up()
    assert closed.done()
    [(_, outcome)] = settled
    assert isinstance(outcome, Unknown)
    assert played.channel().number == 2
    played.says(methods.ChannelCloseOk(), channel=1)
    assert played.channel().number == 1


def test_a_lost_connection_is_told_to_all_that_wait(played: Any, answer: ANSWER) -> None:
    channel, waiting, quiet = played.channel(confirms=True), answer(), answer()
    settled = publish(channel, "a")
    channel.call(methods.QueuePurge("q"), waiting)
    channel.wait_quiescent(quiet)
    played.connection.lost(ConnectionResetError(104, "Connection reset by peer"))
    assert isinstance(waiting.error, ConnectionLost)
    assert quiet.done()
    assert isinstance(settled[0][1], Unknown)
    with pytest.raises(ConnectionLost):
        channel.raise_if_closed()
