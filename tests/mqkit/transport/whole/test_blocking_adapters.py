"""Promises that the blocking adapters share: against real brokers, and against a peer that does as
told."""

from __future__ import annotations

import os
import pickle
import queue
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from datetime import UTC, datetime
from typing import Any, Protocol

import pamqp.base
import pamqp.frame
import pytest
from pamqp import commands

from mqkit.declaration import Binding, Exchange, Queue
from mqkit.errors import (
    ChannelError,
    Closed,
    ConfigurationError,
    ConnectionLost,
    ConnectionRefused,
    DeadlineExceeded,
    MqkitError,
    StaleDelivery,
    Unreachable,
)
from mqkit.message import Delivery, Message, Properties
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason, Unknown
from mqkit.transport.blocking import BlockingChannel, BlockingConnection, BlockingTransport
from mqkit.transport.native.over_sockets.transport import NativeBlockingTransport
from mqkit.transport.over_pika.adapter import PikaTransport
from mqkit.transport.window_size import WindowSize
from mqkit.url import parse

TIMEOUT_S = 20.0


class Make(Protocol):
    """Both adapters have the same options."""

    def __call__(
        self, window: WindowSize = ..., call_timeout_s: float = ...
    ) -> BlockingTransport: ...


@pytest.fixture(params=[PikaTransport, NativeBlockingTransport], ids=["pika", "native"])
def make(request: pytest.FixtureRequest) -> Make:
    made: Make = request.param
    return made


def connect(url: str, transport: BlockingTransport) -> BlockingConnection:
    return transport.connect(parse(url), name="test_blocking_adapters", timeout_s=TIMEOUT_S)


def results(futures: list[Future[Outcome]]) -> list[Outcome]:
    return [future.result(TIMEOUT_S) for future in futures]


# ---- against RabbitMQ


@pytest.fixture
def url(broker: Any) -> str:
    broker_url: str = broker.url
    return broker_url


@pytest.fixture
def connection(make: Make, url: str) -> Iterator[BlockingConnection]:
    opened = connect(url, make())
    yield opened
    opened.close()


@pytest.fixture
def channel(connection: BlockingConnection) -> BlockingChannel:
    return connection.channel(confirms=True)


@pytest.fixture
def queue_name(connection: BlockingConnection) -> Iterator[str]:
    name = f"test-blocking-{uuid.uuid4()}"
    connection.channel().declare_queue(Queue(name))
    yield name
    if connection.is_open:
        connection.channel().delete_queue(name)


def test_thousands_in_flight_come_back_in_order(channel: BlockingChannel, queue_name: str) -> None:
    messages = [
        Message("", queue_name, b"%d" % n, Properties(message_id=str(n))) for n in range(5000)
    ]
    outcomes = results(channel.publish_many(messages))
    assert outcomes == [Confirmed(str(n)) for n in range(5000)]
    assert channel.declare_queue(Queue(queue_name), passive=True).message_count == 5000


def test_a_window_smaller_than_the_batch_only_slows_it_down(make: Make, url: str) -> None:
    transport = make(window=WindowSize(messages=3, bytes=2000))
    connection = connect(url, transport)
    for confirms in (True, False):
        channel = connection.channel(confirms=confirms)
        name = channel.declare_queue(Queue("", exclusive=True)).name
        outcomes = results(channel.publish_many([Message("", name, b"x" * 900)] * 50))
        assert [bool(outcome) for outcome in outcomes] == [confirms] * 50
        assert channel.purge(name) == 50
    connection.close()


def test_unroutable_ones_are_named_among_equal_ids(
    channel: BlockingChannel, queue_name: str
) -> None:
    messages = [
        Message("", "no-such-queue" if n % 3 == 0 else queue_name, b"x", Properties(message_id="1"))
        for n in range(1000)
    ]
    outcomes = results(channel.publish_many(messages))
    assert [bool(outcome) for outcome in outcomes] == [n % 3 != 0 for n in range(1000)]
    assert outcomes[0] == Rejected(RejectReason.UNROUTABLE, "312 NO_ROUTE", "1")


def test_a_full_queue_nacks(channel: BlockingChannel) -> None:
    arguments = {"x-max-length": 1, "x-overflow": "reject-publish"}
    name = channel.declare_queue(Queue("", exclusive=True, arguments=arguments)).name
    first = results(channel.publish_many([Message("", name, b"1")]))
    rest = results(channel.publish_many([Message("", name, b"2")] * 20))
    assert first == [Confirmed()]
    assert {o.reason for o in rest if isinstance(o, Rejected)} == {RejectReason.NACKED}


def test_a_missing_exchange_is_told_from_those_that_are_in_doubt(
    connection: BlockingConnection, queue_name: str
) -> None:
    channel = connection.channel(confirms=True)
    closed: queue.Queue[MqkitError | None] = queue.Queue()
    channel.on_closed(closed.put)
    missing = Message("no-such-exchange", "x", b"", Properties(message_id="m"))
    outcomes = results(channel.publish_many([missing] + [Message("", queue_name, b"")] * 10))
    assert isinstance(outcomes[0], Rejected)
    assert outcomes[0].reason is RejectReason.NO_EXCHANGE
    assert all(isinstance(outcome, Unknown) for outcome in outcomes[1:])
    reason = closed.get(timeout=TIMEOUT_S)
    assert isinstance(reason, ChannelError)
    assert (reason.reply_code, reason.class_id, reason.method_id) == (404, 60, 40)
    assert not channel.is_open
    after = results(channel.publish_many([Message("", queue_name, b"")]))
    assert isinstance(after[0], Unknown)
    assert "not sent" in after[0].detail
    assert not after[0].sent
    with pytest.raises(ChannelError, match="404"):
        channel.qos(1)
    with pytest.raises(StaleDelivery):
        channel.ack(1)
    assert connection.is_open
    assert connection.channel().is_open


def test_values_that_amqp_has_no_place_for_are_refused_and_the_rest_goes_on(
    channel: BlockingChannel, queue_name: str
) -> None:
    good = Message("", queue_name, b"good")
    outcomes = results(
        channel.publish_many(
            [
                Message("", "k" * 300, b""),
                Message("", queue_name, b"", Properties(headers={"x": object()})),
                Message("", queue_name, b"", Properties(headers={"x": 2**70})),
                good,
            ]
        )
    )
    for outcome in outcomes[:3]:
        assert isinstance(outcome, Rejected)
        assert outcome.reason is RejectReason.REFUSED
        assert "not sent" in outcome.detail
    assert outcomes[3] == Confirmed()


def test_everything_of_a_message_arrives(channel: BlockingChannel, queue_name: str) -> None:
    properties = Properties(
        content_type="application/json",
        content_encoding="identity",
        headers={"n": 1, "text": "ä", "list": [1, True], "none": None, "nested": {"b": b"\x00"}},
        persistent=False,
        priority=3,
        correlation_id="c",
        reply_to="r",
        expiration_ms=60000,
        message_id="m",
        timestamp=datetime(2001, 1, 1, 0, 47, tzinfo=UTC),
        type="t",
        user_id="guest",
        app_id="a",
    )
    results(channel.publish_many([Message("", queue_name, b"\x00body", properties)]))
    got = channel.get(queue_name)
    assert got is not None
    assert got == Delivery("", queue_name, b"\x00body", properties, got.delivery_tag, False)
    assert channel.get(queue_name) is None
    channel.nack(got.delivery_tag, requeue=True)
    again = channel.get(queue_name)
    assert again is not None
    assert again.redelivered
    channel.ack(again.delivery_tag)
    assert channel.get(queue_name, no_ack=True) is None


def test_consuming_settling_in_the_callback_and_the_brokers_cancel(
    channel: BlockingChannel, connection: BlockingConnection
) -> None:
    name = f"test-blocking-{uuid.uuid4()}"
    channel.declare_queue(Queue(name))
    results(channel.publish_many([Message("", name, b"%d" % n) for n in range(10)]))
    consumer = connection.channel()
    consumer.qos(3)
    got: queue.Queue[bytes] = queue.Queue()
    cancelled: queue.Queue[str] = queue.Queue()

    def on_delivery(delivery: Delivery) -> None:
        got.put(delivery.body)
        consumer.ack(delivery.delivery_tag)
        raise RuntimeError("what a handler raises is logged, and ends nothing")

    tag = consumer.consume(name, on_delivery, on_cancel=cancelled.put)
    assert [got.get(timeout=TIMEOUT_S) for _ in range(10)] == [b"%d" % n for n in range(10)]
    consumer.cancel("somebody-else")
    channel.delete_queue(name)
    assert cancelled.get(timeout=TIMEOUT_S) == tag
    consumer.cancel(tag)
    assert consumer.is_open


def test_a_verb_that_would_wait_for_its_own_thread_says_so(
    channel: BlockingChannel, queue_name: str
) -> None:
    raised: queue.Queue[BaseException] = queue.Queue()

    def on_delivery(_: Delivery) -> None:
        for verb in (lambda: channel.purge(queue_name), lambda: channel.publish_many([])):
            try:
                verb()
            except ConfigurationError as error:
                raised.put(error)

    channel.consume(queue_name, on_delivery, no_ack=True)
    results(channel.publish_many([Message("", queue_name, b"")]))
    assert "callback" in str(raised.get(timeout=TIMEOUT_S))
    assert "callback" in str(raised.get(timeout=TIMEOUT_S))


def test_declaring_binding_unbinding_deleting(channel: BlockingChannel) -> None:
    source, other = f"test-{uuid.uuid4()}", f"test-{uuid.uuid4()}"
    channel.declare_exchange(Exchange(source, "topic"))
    channel.declare_exchange(Exchange(source, "topic"), passive=True)
    channel.declare_exchange(Exchange(other, "fanout", auto_delete=True))
    queued = channel.declare_queue(Queue("", durable=False, exclusive=True))
    assert queued.name
    assert (queued.message_count, queued.consumer_count) == (0, 0)
    to_exchange = Binding(source, other, "a.#", to_exchange=True)
    to_queue = Binding(other, queued.name)
    channel.bind(to_exchange)
    channel.bind(to_queue)
    assert results(channel.publish_many([Message(source, "a.b", b"")])) == [Confirmed()]
    channel.unbind(to_exchange)
    assert not results(channel.publish_many([Message(source, "a.b", b"")]))[0]
    channel.unbind(to_queue)
    assert channel.delete_queue(queued.name, if_unused=True) == 1
    channel.delete_exchange(source)
    with pytest.raises(ChannelError) as error:
        channel.declare_exchange(Exchange(source), passive=True)
    assert (error.value.reply_code, error.value.scope.value) == (404, "channel")


def test_a_refused_login_and_a_missing_vhost_carry_the_brokers_code(make: Make, url: str) -> None:
    with pytest.raises(ConnectionRefused) as error:
        connect(url.replace("guest:guest", "guest:wrong-password"), make())
    assert error.value.reply_code == 403
    assert "wrong-password" not in str(error.value)
    with pytest.raises(ConnectionRefused) as error:
        connect(url.rstrip("/") + "/no-such-vhost", make())
    assert error.value.reply_code == 530


def test_the_connection_is_named_closed_once_and_says_so(make: Make, url: str) -> None:
    connection = connect(url, make())
    assert connection.server_properties["product"] == "RabbitMQ"
    channel = connection.channel(confirms=True)
    told: queue.Queue[MqkitError | None] = queue.Queue()
    connection.on_closed(told.put)
    channel.on_closed(told.put)
    connection.close()
    connection.close()
    channel.close()
    assert [told.get(timeout=TIMEOUT_S), told.get(timeout=TIMEOUT_S)] == [None, None]
    connection.on_closed(told.put)
    assert told.get(timeout=TIMEOUT_S) is None
    assert not connection.is_open
    with pytest.raises(Closed):
        connection.channel()
    with pytest.raises(Closed):
        channel.purge("x")
    assert isinstance(results(channel.publish_many([Message("", "x", b"")]))[0], Unknown)


def test_a_forked_child_is_refused_and_opens_its_own(make: Make, url: str, queue_name: str) -> None:
    connection = connect(url, make())
    channel = connection.channel(confirms=True)
    child = os.fork()
    if child == 0:  # the child reports by its exit code only
        code = 1
        try:
            channel.publish_many([Message("", queue_name, b"")])
        except Closed:
            connection.close()
            own = connect(url, make())
            outcome = own.channel(confirms=True).publish_many([Message("", queue_name, b"")])
            code = 0 if results(outcome)[0] else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert results(channel.publish_many([Message("", queue_name, b"")])) == [Confirmed()]
    assert channel.purge(queue_name) == 2
    connection.close()


# ---- against a peer that does as told


class Peer:
    """An AMQP server of one connection that opens what it is asked to open, and else is silent."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"amqp://127.0.0.1:{self.listener.getsockname()[1]}/"
        self.published: queue.Queue[int] = queue.Queue()
        self.socket: socket.socket | None = None
        self._count = 0
        self._answers: dict[str, Callable[[], pamqp.base.Frame]] = {
            "ProtocolHeader": lambda: commands.Connection.Start(
                server_properties={"capabilities": {"publisher_confirms": True, "basic.nack": True}}
            ),
            "Connection.StartOk": lambda: commands.Connection.Tune(10, 131072, 0),
            "Connection.Open": commands.Connection.OpenOk,
            "Channel.Open": commands.Channel.OpenOk,
            "Confirm.Select": commands.Confirm.SelectOk,
        }
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def send(self, frame: pamqp.base.Frame, channel: int = 0) -> None:
        assert self.socket is not None
        self.socket.sendall(pamqp.frame.marshal(frame, channel))

    def end(self) -> None:
        for each in (self.socket, self.listener):
            if each is not None:
                try:
                    each.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
                each.close()
        self._thread.join(TIMEOUT_S)

    def _serve(self) -> None:
        try:
            self.socket, _ = self.listener.accept()
            received = b""
            while data := self.socket.recv(65536):
                received += data
                while received:
                    try:
                        size, channel, frame = pamqp.frame.unmarshal(received)
                    except pamqp.exceptions.UnmarshalingException:
                        break
                    received = received[size:]
                    self._handle(frame, channel)
        except OSError:
            pass

    def _handle(self, frame: object, channel: int) -> None:
        name = str(getattr(frame, "name", type(frame).__name__))
        if name == "Basic.Publish":
            self._count += 1
            self.published.put(self._count)
        elif name in self._answers:
            self.send(self._answers[name](), channel)

    def wait_for_publishes(self, count: int) -> None:
        while self.published.get(timeout=TIMEOUT_S) < count:
            pass


@pytest.fixture
def peer() -> Iterator[Peer]:
    made = Peer()
    yield made
    made.end()


def test_when_the_stream_is_lost_everything_in_flight_is_unknown(make: Make, peer: Peer) -> None:
    connection = connect(peer.url, make())
    channel = connection.channel(confirms=True)
    told: queue.Queue[MqkitError | None] = queue.Queue()
    connection.on_closed(told.put)
    futures = channel.publish_many([Message("", "x", b"", Properties(message_id="1"))] * 100)
    peer.wait_for_publishes(100)
    peer.send(commands.Basic.Ack(40, multiple=True), 1)
    futures[39].result(TIMEOUT_S)
    peer.end()
    outcomes = results(futures)
    assert outcomes[:40] == [Confirmed("1")] * 40
    assert all(isinstance(o, Unknown) and o.message_id == "1" for o in outcomes[40:])
    assert isinstance(told.get(timeout=TIMEOUT_S), ConnectionLost)
    with pytest.raises(ConnectionLost):
        channel.qos(1)


def test_a_close_from_the_broker_is_told_with_its_code(make: Make, peer: Peer) -> None:
    connection = connect(peer.url, make())
    channel = connection.channel(confirms=True)
    told: queue.Queue[MqkitError | None] = queue.Queue()
    connection.on_closed(told.put)
    futures = channel.publish_many([Message("", "x", b"")])
    peer.wait_for_publishes(1)
    peer.send(commands.Connection.Close(320, "CONNECTION_FORCED - maintenance", 0, 0))
    assert isinstance(results(futures)[0], Unknown)
    reason = told.get(timeout=TIMEOUT_S)
    assert isinstance(reason, ConnectionRefused)
    assert reason.reply_code == 320


def test_a_blocked_connection_sends_nothing_goes_on_reading_and_counts(
    make: Make, peer: Peer
) -> None:
    connection = connect(peer.url, make())
    channel = connection.channel(confirms=True)
    blocked: queue.Queue[str | None] = queue.Queue()
    connection.on_blocked(blocked.put)
    before = channel.publish_many([Message("", "x", b"")])
    peer.wait_for_publishes(1)
    peer.send(commands.Connection.Blocked("low on memory"))
    assert blocked.get(timeout=TIMEOUT_S) == "low on memory"
    waiting = channel.publish_many([Message("", "x", b"")] * 10)
    later = connection.channel(confirms=True)  # the answer shows that the thread had its turn
    waiting += later.publish_many([Message("", "x", b"")] * 10)
    peer.send(commands.Basic.Ack(1), 1)
    assert results(before) == [Confirmed()], "what comes in is still read"
    assert peer.published.empty()
    assert not wait(waiting, 0).done
    assert connection.blocked_s > 0
    peer.send(commands.Connection.Unblocked())
    assert blocked.get(timeout=TIMEOUT_S) is None
    peer.wait_for_publishes(21)
    peer.send(commands.Basic.Ack(0, multiple=True), 1)
    peer.send(commands.Basic.Ack(0, multiple=True), 2)
    assert all(results(waiting))
    assert connection.blocked_s == connection.blocked_s, "the clock stands while unblocked"


def test_a_full_window_waits_and_gives_up_in_time_without_sending(make: Make, peer: Peer) -> None:
    connection = connect(peer.url, make(window=WindowSize(messages=5, bytes=10**6)))
    channel = connection.channel(confirms=True)
    futures = channel.publish_many([Message("", "x", b"")] * 8, timeout_s=0.05)
    late = results(futures[5:])
    assert all(isinstance(o, Unknown) and "not sent" in o.detail and not o.sent for o in late)
    peer.wait_for_publishes(5)
    assert not wait(futures[:5], 0).done
    peer.send(commands.Basic.Ack(5, multiple=True), 1)
    assert all(results(futures[:5]))


def test_closing_a_channel_with_messages_in_flight_leaves_no_future_open(
    make: Make, peer: Peer
) -> None:
    connection = connect(peer.url, make(window=WindowSize(messages=5, bytes=10**6)))
    channel = connection.channel(confirms=True)
    got: queue.Queue[list[Outcome]] = queue.Queue()
    publisher = threading.Thread(
        target=lambda: got.put(results(channel.publish_many([Message("", "x", b"")] * 50)))
    )
    publisher.start()
    peer.wait_for_publishes(5)
    peer.end()
    assert all(isinstance(outcome, Unknown) for outcome in got.get(timeout=TIMEOUT_S))
    publisher.join(TIMEOUT_S)


def test_no_answer_is_an_error_in_time(make: Make, peer: Peer) -> None:
    connection = connect(peer.url, make(call_timeout_s=0.05))
    channel = connection.channel()
    with pytest.raises(DeadlineExceeded, match="queue 'q'"):
        channel.declare_queue(Queue("q"))


def test_garbage_ends_the_connection_with_an_error_and_not_the_thread_in_silence(
    make: Make,
    peer: Peer,
) -> None:
    connection = connect(peer.url, make())
    channel = connection.channel(confirms=True)
    told: queue.Queue[MqkitError | None] = queue.Queue()
    connection.on_closed(told.put)
    futures = channel.publish_many([Message("", "x", b"")])
    peer.wait_for_publishes(1)
    assert peer.socket is not None
    peer.socket.sendall(b"\x01\x00\x01\x00\x00\x00\x04\xff\xff\xff\xff\xce")
    assert isinstance(told.get(timeout=TIMEOUT_S), ConnectionLost)
    assert isinstance(results(futures)[0], Unknown)


def test_nobody_there_and_nobody_answering(make: Make) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(DeadlineExceeded, match=r"127\.0\.0\.1"):
            make().connect(parse(f"amqp://127.0.0.1:{port}/"), name="test", timeout_s=0.1)
    with pytest.raises(Unreachable, match=f"127.0.0.1:{port}"):
        connect(f"amqp://me:secret@127.0.0.1:{port}/", make())


def test_a_server_of_another_protocol_is_named_as_such(make: Make) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            accepted, _ = listener.accept()
            with accepted:
                accepted.recv(8)
                accepted.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(Unreachable, match="does not speak AMQP"):
            connect(f"amqp://127.0.0.1:{listener.getsockname()[1]}/", make())
        thread.join(TIMEOUT_S)


def test_the_transport_is_a_plain_value(make: Make) -> None:
    transport = make(window=WindowSize(messages=7))
    assert pickle.loads(pickle.dumps(transport)) == transport
