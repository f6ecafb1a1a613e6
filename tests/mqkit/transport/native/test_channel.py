"""The native channel over bytes: who is told what, and when."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
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


class Told:
    """Who hears of publishes: each call's position and outcomes."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, list[Outcome]]] = []

    def __call__(self, position: int, outcomes: Sequence[Outcome]) -> None:
        self.calls.append((position, list(outcomes)))

    @property
    def outcomes(self) -> list[Outcome]:
        """By position; each has one."""
        told = [
            (position, outcome)
            for start, outcomes in self.calls
            for position, outcome in enumerate(outcomes, start)
        ]
        assert sorted(position for position, _ in told) == list(range(len(told)))
        return [outcome for _, outcome in sorted(told, key=itemgetter(0))]


def publish(channel: NativeChannel, *keys: str, exchange: str = "") -> Told:
    told = Told()
    messages = [Message(exchange, key, b"x", Properties(message_id=key)) for key in keys]
    assert channel.publish(messages, told, octets_max=MEGABYTE) == len(keys)
    return told


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
    told = publish(channel, "a", "b", "c", "d", "e")
    assert channel.unconfirmed == 5
    played.says(methods.BasicAck(3, multiple=True), channel=1)
    played.says(methods.BasicNack(4), methods.BasicAck(5), channel=1)
    assert [(position, len(outcomes)) for position, outcomes in told.calls] == [
        *((0, 3), (3, 1), (4, 1))
    ]
    nacked = told.outcomes[3]
    assert isinstance(nacked, Rejected)
    assert nacked.reason is RejectReason.NACKED
    assert channel.unconfirmed == 0


def test_acks_out_of_order_split_a_range(played: Any) -> None:
    channel = played.channel(confirms=True)
    told = publish(channel, "a", "b", "c", "d", "e")
    played.says(methods.BasicAck(3), methods.BasicAck(5), channel=1)
    assert told.calls == [(2, [Confirmed("c")]), (4, [Confirmed("e")])]
    played.says(methods.BasicAck(4, multiple=True), channel=1)
    assert told.calls[2:] == [(0, [Confirmed("a"), Confirmed("b")]), (3, [Confirmed("d")])]
    assert channel.unconfirmed == 0


def test_a_refusal_in_the_middle_of_a_range_leaves_the_rest_in_doubt(played: Any) -> None:
    channel = played.channel(confirms=True)
    told = publish(channel, "a", "b", "c")
    guilty = publish(channel, "d", exchange="gone")
    played.says(methods.BasicAck(2), channel=1)
    text = "NOT_FOUND - no exchange 'gone' in vhost '/'"
    played.says(methods.ChannelClose(404, text, 60, 40), channel=1)
    assert [type(outcome) for outcome in told.outcomes] == [Unknown, Confirmed, Unknown]
    [outcome] = guilty.outcomes
    assert isinstance(outcome, Rejected)


def test_a_range_over_two_publishers_is_told_to_each(played: Any) -> None:
    channel = played.channel(confirms=True)
    first, second = publish(channel, "a", "b"), publish(channel, "c")
    played.says(methods.BasicAck(0, multiple=True), channel=1)
    assert first.calls == [(0, [Confirmed("a"), Confirmed("b")])]
    assert second.calls == [(0, [Confirmed("c")])]


def test_a_return_belongs_to_its_publish(played: Any) -> None:
    channel = played.channel(confirms=True)
    settled = publish(channel, "there", "nowhere")
    back = WireProperties(message_id="nowhere", delivery_mode=2)
    played.sends(methods.BasicReturn(312, "NO_ROUTE", "", "nowhere"), b"x", back)
    played.says(methods.BasicAck(2, multiple=True), channel=1)
    assert settled.outcomes == [
        Confirmed("there"),
        Rejected(RejectReason.UNROUTABLE, "312 NO_ROUTE", "nowhere"),
    ]


def test_publishing_stops_at_the_bound_on_octets_and_goes_on(played: Any) -> None:
    channel = played.channel(confirms=True)
    messages = [Message("", "q", bytes(1000))] * 5
    told = Told()
    assert channel.publish(messages, told, octets_max=2000) == 2
    assert played.connection.output_octets > 2000
    assert len(played.written()) == 2
    assert played.connection.output_octets == 0
    assert channel.publish(messages, told, start=2, octets_max=MEGABYTE) == 5
    assert len(played.written()) == 3
    played.says(methods.BasicAck(4, multiple=True), channel=1)
    assert [(position, len(outcomes)) for position, outcomes in told.calls] == [(0, 2), (2, 2)]


def test_what_amqp_cant_carry_is_rejected_alone(played: Any) -> None:
    channel = played.channel(confirms=True)
    told = publish(channel, "a", "k" * 256, "c", "l" * 256)
    assert [position for position, _ in told.calls] == [1, 3]
    [refused] = told.calls[0][1]
    assert isinstance(refused, Rejected)
    assert refused.reason is RejectReason.REFUSED
    assert [command.method.routing_key for command in played.commands()] == ["a", "c"]
    played.says(methods.BasicAck(2, multiple=True), channel=1)
    assert told.calls[2:] == [(0, [Confirmed("a")]), (2, [Confirmed("c")])]


def test_without_confirms_nobody_knows(played: Any) -> None:
    unheard, refused = publish(played.channel(), "a", "k" * 256).outcomes
    assert isinstance(unheard, Unknown)
    assert "without publisher confirms" in unheard.detail
    assert isinstance(refused, Rejected)


def test_the_guilty_publish_is_rejected_and_the_others_are_in_doubt(
    played: Any, answer: ANSWER
) -> None:
    channel, quiet = played.channel(confirms=True), answer()
    told = publish(channel, "a")
    gone = publish(channel, "b", exchange="gone")
    channel.wait_quiescent(quiet)
    text = "NOT_FOUND - no exchange 'gone' in vhost '/'"
    played.says(methods.ChannelClose(404, text, 60, 40), channel=1)
    assert quiet.done()
    [doubt], [guilty] = told.outcomes, gone.outcomes
    assert isinstance(doubt, Unknown)
    assert isinstance(guilty, Rejected)
    assert guilty.reason is RejectReason.NO_EXCHANGE
    [unsent] = publish(channel, "c").outcomes
    assert isinstance(unsent, Unknown)
    assert "not sent" in unsent.detail
    assert (doubt.sent, unsent.sent) == (True, False)


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
    [outcome] = settled.outcomes
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
    assert isinstance(settled.outcomes[0], Unknown)
    with pytest.raises(ConnectionLost):
        channel.raise_if_closed()


def test_why_a_channel_closed_is_told_before_what_came_of_its_publishes(played: Any) -> None:
    channel = played.channel(confirms=True)
    told: list[Any] = []
    channel.on_closed(told.append)
    messages = [Message("x", "k", b"")]
    channel.publish(messages, lambda _, outcomes: told.extend(outcomes), octets_max=1000)
    played.says(methods.ChannelClose(406, "PRECONDITION_FAILED", 60, 40), channel=1)
    error, outcome = told
    assert isinstance(error, ChannelError)
    assert not outcome
