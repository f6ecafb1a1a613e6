"""The blocking shell of the native client: it has one end of a socket pair, the test the other."""

from __future__ import annotations

import linecache
import queue
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from types import FrameType as PythonFrame
from typing import Any

import pytest

from mqkit.errors import (
    ConfigurationError,
    ConnectionLost,
    ConnectionRefused,
    DeadlineExceeded,
    MqkitError,
)
from mqkit.message import Delivery, Message
from mqkit.outcome import Confirmed, Outcome, Unknown
from mqkit.transport.native.connection import NativeConnection
from mqkit.transport.native.over_sockets import connection as connection_module
from mqkit.transport.native.over_sockets import driver, publisher
from mqkit.transport.native.over_sockets.channel import NativeBlockingChannel
from mqkit.transport.native.over_sockets.connection import NativeBlockingConnection
from mqkit.transport.native.over_sockets.driver import SocketDriver
from mqkit.transport.native.over_sockets.stream import Stream
from mqkit.transport.seam import Endpoint
from mqkit.transport.waiters import Waiters
from mqkit.transport.window_size import WindowSize
from mqkit.wire import (
    HEARTBEAT_FRAME,
    Frame,
    FrameParser,
    FrameType,
    Properties,
    content_frames,
    decode_method,
    method_frame,
    methods,
)
from mqkit.wire.methods import Method

WAIT_S = 20.0
MESSAGE = Message("", "q", b"x")


class Broker:
    """The other end: says what the test wants, and tells what it was sent."""

    def __init__(self, heartbeat_s: int = 0) -> None:
        theirs, self.socket = socket.socketpair()
        self.socket.settimeout(WAIT_S)
        self.driver = SocketDriver(Endpoint(), "a test", 60)
        self._frames = FrameParser(131_072)
        self._skipped_header = False
        self.driver.start(lambda: Stream(theirs))
        self.says(
            methods.ConnectionStart(server_properties={}, mechanisms=b"PLAIN"),
            methods.ConnectionTune(10, 131_072, heartbeat_s),
            methods.ConnectionOpenOk(),
        )
        self.driver.opened.result(WAIT_S)

    def says(self, *sent: Method, channel: int = 0) -> None:
        self.socket.sendall(b"".join(method_frame(channel, method) for method in sent))

    def hears(self, kind: type[Method]) -> Any:
        """The next method of that kind; others before it are dropped."""
        while True:
            frame = self.frame()
            if frame.type is FrameType.METHOD:
                method = decode_method(frame.payload)
                if isinstance(method, kind):
                    return method

    def frame(self) -> Frame:
        while (frame := self._frames.next_frame()) is None:
            data = self.socket.recv(1 << 20)
            assert data, "the connection is closed"
            if not self._skipped_header:
                data, self._skipped_header = data[8:], True
            self._frames.receive_data(data)
        return frame

    def answers(self, *sent: Method) -> None:
        """Says these to the first channel, from a thread, after whatever it is sent next."""

        def answer() -> None:
            self.frame()
            self.says(*sent, channel=1)

        threading.Thread(target=answer).start()

    def connection(
        self, window: WindowSize | None = None, call_timeout_s: float = WAIT_S
    ) -> NativeBlockingConnection:
        return NativeBlockingConnection(self.driver, window or WindowSize(), call_timeout_s)

    def channel(self, window: WindowSize | None = None, *, confirms: bool) -> NativeBlockingChannel:
        self.hears(methods.ConnectionOpen)
        answers: list[Method] = [methods.ChannelOpenOk()]
        if confirms:
            answers.append(methods.ConfirmSelectOk())
        self.answers(*answers)
        channel = self.connection(window).channel(confirms=confirms)
        if confirms:
            self.hears(methods.ConfirmSelect)
        return channel


class CtrlC:
    """Comes at the so-and-so-many-th place of the driver and the publisher where it can."""

    def __init__(self, after: int) -> None:
        self._left = after
        self.came_at = ""

    def trace(self, frame: PythonFrame, event: str, argument: object) -> Any:
        code = frame.f_code
        if code.co_filename not in (driver.__file__, publisher.__file__):
            return None
        line = linecache.getline(code.co_filename, frame.f_lineno).strip()
        # Tracing has places where no signal comes: between a ``with`` and what ends it, at a "try".
        if event in ("call", "line") and not line.startswith(("with ", "try:")):
            if not self._left:
                self.came_at = f"{code.co_name}: {line}"
                sys.settrace(None)
                raise KeyboardInterrupt
            self._left -= 1
        return self.trace


@pytest.fixture
def made() -> Iterator[Callable[..., Broker]]:
    brokers: list[Broker] = []

    def make(heartbeat_s: int = 0) -> Broker:
        brokers.append(Broker(heartbeat_s))
        return brokers[-1]

    yield make
    for broker in brokers:
        broker.driver.abort()
        broker.driver.join(WAIT_S)
        broker.socket.close()


@pytest.fixture
def broker(made: Callable[..., Broker]) -> Broker:
    return made()


def results(futures: list[Future[Outcome]]) -> list[Outcome]:
    return [future.result(WAIT_S) for future in futures]


def closing(connection: NativeBlockingConnection | NativeBlockingChannel) -> queue.Queue[Any]:
    told: queue.Queue[MqkitError | None] = queue.Queue()
    connection.on_closed(told.put)
    return told


# -- heartbeats ------------------------------------------------------------------------------


def test_heartbeats_are_sent_while_nobody_calls(made: Callable[..., Broker]) -> None:
    broker = made(heartbeat_s=1)
    broker.hears(methods.ConnectionOpen)
    frame = broker.frame()
    assert frame.type is FrameType.HEARTBEAT


@pytest.mark.slow
def test_a_broker_without_a_heartbeat_is_gone(made: Callable[..., Broker]) -> None:
    told = closing(made(heartbeat_s=1).connection())
    error = told.get(timeout=WAIT_S)
    assert isinstance(error, ConnectionLost)
    assert "heartbeat" in str(error)


# -- turns -----------------------------------------------------------------------------------


def test_callbacks_run_without_the_lock(broker: Broker) -> None:
    channel = broker.channel(confirms=True)
    others: queue.Queue[bool] = queue.Queue()

    def on_done(_: object) -> None:
        other = threading.Thread(target=lambda: channel.on_closed(lambda _: None), daemon=True)
        other.start()
        other.join(WAIT_S / 4)
        others.put(not other.is_alive())

    [future] = channel.publish_many([MESSAGE])
    future.add_done_callback(on_done)
    broker.says(methods.BasicAck(1), channel=1)
    assert others.get(timeout=WAIT_S)
    channel_closed = closing(channel)
    broker.socket.close()
    channel_closed.get(timeout=WAIT_S)
    seen: list[bool] = []
    channel.on_closed(lambda _: seen.append(broker.driver.lock.locked()))
    assert seen == [False]


def test_acks_given_in_callbacks_go_out_together(broker: Broker) -> None:
    channel = broker.channel(confirms=False)
    broker.answers(methods.BasicConsumeOk("c"))
    channel.consume("q", lambda delivery: channel.ack(delivery.delivery_tag), consumer_tag="c")
    broker.socket.sendall(b"".join(_delivery(tag) for tag in (1, 2, 3)))
    assert broker.hears(methods.BasicAck) == methods.BasicAck(3, multiple=True)


def test_what_was_delivered_before_the_cancel_is_told_before_it_returns(broker: Broker) -> None:
    channel = broker.channel(confirms=False)
    returned = threading.Event()
    too_late: list[bool] = []
    broker.answers(methods.BasicConsumeOk("c"))

    def on_delivery(delivery: Delivery) -> None:
        too_late.append(returned.wait(0.2 if delivery.delivery_tag == 1 else 0))

    channel.consume("q", on_delivery, consumer_tag="c", no_ack=True)

    def answer() -> None:
        broker.hears(methods.BasicCancel)
        last = [_delivery(tag) for tag in range(1, 101)]
        broker.socket.sendall(b"".join(last) + method_frame(1, methods.BasicCancelOk("c")))

    threading.Thread(target=answer).start()
    channel.cancel("c")
    returned.set()
    assert too_late == [False] * 100


def test_an_interrupted_turn_ends_the_connection_and_leaves_it_usable_by_nobody(
    broker: Broker,
) -> None:
    channel = broker.channel(confirms=True)
    told = closing(channel)

    class Messages(list[Message]):
        """Is interrupted as soon as one of them is looked at under the lock."""

        def __getitem__(self, index: Any) -> Any:
            raise KeyboardInterrupt

    before = channel.publish_many([MESSAGE])
    with pytest.raises(KeyboardInterrupt):
        channel.publish_many(Messages([MESSAGE]))
    assert isinstance(results(before)[0], Unknown)
    error = told.get(timeout=WAIT_S)
    assert isinstance(error, ConnectionLost)
    assert "KeyboardInterrupt" in str(error)
    assert isinstance(results(channel.publish_many([MESSAGE]))[0], Unknown)


def test_a_signal_handler_can_not_come_in_between_a_turn(broker: Broker) -> None:
    channel = broker.channel(confirms=True)
    refused: list[str] = []

    class Interrupted(list[Message]):
        """A signal handler that publishes, called when an item is looked at under the lock."""

        def __getitem__(self, index: Any) -> Any:
            try:
                channel.publish_many([MESSAGE])
            except ConfigurationError as error:
                refused.append(str(error))
            return super().__getitem__(index)

    futures = channel.publish_many(Interrupted([MESSAGE]))
    assert "signal handler" in refused[0]
    broker.says(methods.BasicAck(1), channel=1)
    assert results(futures) == [Confirmed()]


def test_a_full_window_keeps_nobody_else_out(broker: Broker) -> None:
    channel = broker.channel(WindowSize(messages=1), confirms=True)
    futures = channel.publish_many([MESSAGE])
    waiting: queue.Queue[list[Future[Outcome]]] = queue.Queue()
    threading.Thread(target=lambda: waiting.put(channel.publish_many([MESSAGE]))).start()
    broker.hears(methods.BasicPublish)
    channel.on_closed(lambda _: None)  # takes a turn
    assert waiting.empty()
    broker.says(methods.BasicAck(1), channel=1)
    assert results(futures) == [Confirmed()]
    broker.hears(methods.BasicPublish)
    broker.says(methods.BasicAck(2), channel=1)
    assert results(waiting.get(timeout=WAIT_S)) == [Confirmed()]


def test_who_is_interrupted_while_waiting_has_interrupted_no_turn(broker: Broker) -> None:
    def interrupted() -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broker.driver.wait_until(interrupted, Waiters(), None)
    channel = broker.channel(confirms=True)
    futures = channel.publish_many([MESSAGE])
    broker.says(methods.BasicAck(1), channel=1)
    assert results(futures) == [Confirmed()]


def test_ctrl_c_leaves_the_lock_to_others_wherever_it_comes(made: Callable[..., Broker]) -> None:
    interruptions = 0
    is_through = False
    while not is_through:
        broker = made()
        channel = broker.channel(confirms=True)
        ctrl_c = CtrlC(after=interruptions)
        sys.settrace(ctrl_c.trace)
        try:
            channel.publish_many([MESSAGE])
            is_through = True
        except KeyboardInterrupt:
            interruptions += 1
        finally:
            sys.settrace(None)
        assert broker.driver.lock.acquire(timeout=1), f"taken for ever: {ctrl_c.came_at}"
        broker.driver.lock.release()
        broker.driver.turn(lambda _: None)
    assert interruptions > 20


def test_a_thread_with_the_ident_of_an_ended_one_is_not_taken_for_it(broker: Broker) -> None:
    channel = broker.channel(confirms=True)
    broker.driver.abort()
    broker.driver.join(WAIT_S)
    # The system gives idents again as it likes; this thread stands for the one that got it.
    broker.driver._thread._ident = threading.get_ident()  # type: ignore[attr-defined]
    assert isinstance(results(channel.publish_many([MESSAGE]))[0], Unknown)
    with pytest.raises(ConnectionLost):
        channel.purge("q")


def test_a_future_that_its_owner_cancelled_keeps_nothing_from_the_others(broker: Broker) -> None:
    channel = broker.channel(confirms=True)
    futures = channel.publish_many([MESSAGE] * 3)
    assert futures[1].cancel()
    broker.says(methods.BasicAck(3, multiple=True), channel=1)
    assert [futures[0].result(WAIT_S), futures[2].result(WAIT_S)] == [Confirmed()] * 2


# -- a socket that takes no more -------------------------------------------------------------


def test_what_the_socket_does_not_take_follows_and_reading_goes_on(broker: Broker) -> None:
    channel = broker.channel(confirms=True)
    large = Message("", "q", bytes(4_000_000))
    futures = channel.publish_many([large, large])
    broker.says(methods.BasicAck(1), channel=1)
    assert futures[0].result(WAIT_S) == Confirmed(), "the broker has read nothing of it yet"
    octets = 0
    while octets < 8_000_000:
        frame = broker.frame()
        octets += len(frame.payload) if frame.type is FrameType.BODY else 0
    assert octets == 8_000_000
    broker.says(methods.BasicAck(2), channel=1)
    assert futures[1].result(WAIT_S) == Confirmed()


def test_without_confirms_the_window_is_what_the_system_has_not_taken(broker: Broker) -> None:
    channel = broker.channel(WindowSize(messages=100, bytes=1_000_000), confirms=False)
    messages = [Message("", "q", bytes(100_000))] * 100
    outcomes = results(channel.publish_many(messages, timeout_s=0.05))
    details = [outcome.detail for outcome in outcomes if isinstance(outcome, Unknown)]
    late = [detail for detail in details if "the time ran out" in detail]
    assert len(details) == 100
    assert 0 < len(late) < 100
    bodies = 100 - len(late)
    while bodies:
        bodies -= broker.frame().type is FrameType.BODY
    again = results(channel.publish_many(messages[:1], timeout_s=WAIT_S))
    assert "without publisher confirms" in str(again[0])


# -- ends ------------------------------------------------------------------------------------


def test_the_brokers_last_words_are_heard_though_it_takes_no_more(broker: Broker) -> None:
    channel = broker.channel(confirms=True)
    told = closing(broker.connection())

    def last_words(connection: NativeConnection) -> None:
        broker.says(methods.ConnectionClose(320, "CONNECTION_FORCED - maintenance"))
        broker.socket.close()
        connection.write(HEARTBEAT_FRAME)

    broker.driver.turn(last_words)
    error = told.get(timeout=WAIT_S)
    assert isinstance(error, ConnectionRefused)
    assert error.reply_code == 320
    assert not channel.is_open


def test_a_broker_that_does_not_answer_the_close_is_dropped(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "CLOSE_TIMEOUT_S", 0.05)
    connection = broker.connection()
    told = closing(connection)
    connection.close()
    assert told.get(timeout=WAIT_S) is None
    assert not connection.is_open
    broker.driver.join(WAIT_S)
    broker.hears(methods.ConnectionClose)
    assert broker.socket.recv(100) == b""


def test_a_channel_that_is_not_opened_in_time_is_closed(broker: Broker) -> None:
    with pytest.raises(DeadlineExceeded, match="opening a channel"):
        broker.connection(call_timeout_s=0.05).channel()
    broker.hears(methods.ChannelClose)


def test_a_channel_that_is_not_closed_in_time_leaves_no_future_open(broker: Broker) -> None:
    broker.hears(methods.ConnectionOpen)
    broker.answers(methods.ChannelOpenOk(), methods.ConfirmSelectOk())
    channel = broker.connection(call_timeout_s=1).channel(confirms=True)
    told = closing(channel)
    futures = channel.publish_many([MESSAGE])
    with pytest.raises(DeadlineExceeded, match="close"):
        channel.close()
    assert told.get(timeout=WAIT_S) is None
    assert isinstance(results(futures)[0], Unknown)


def test_what_waited_for_the_unblocking_is_not_sent_when_the_connection_ends(
    broker: Broker,
) -> None:
    connection = broker.connection()
    broker.hears(methods.ConnectionOpen)
    broker.answers(methods.ChannelOpenOk(), methods.ConfirmSelectOk())
    channel = connection.channel(confirms=True)
    blocked: queue.Queue[str | None] = queue.Queue()
    connection.on_blocked(blocked.put)
    broker.says(methods.ConnectionBlocked("low on disk"))
    assert blocked.get(timeout=WAIT_S) == "low on disk"
    futures = channel.publish_many([MESSAGE] * 2)
    assert not wait(futures, 0).done
    broker.socket.close()
    for outcome in results(futures):
        assert isinstance(outcome, Unknown)
        assert "not sent" in outcome.detail
        assert not outcome.sent
    assert connection.blocked_s == connection.blocked_s, "the clock stands when it is closed"


def _delivery(tag: int) -> bytes:
    deliver = methods.BasicDeliver("c", tag, False, "", "q")
    return content_frames(1, deliver, Properties(), b"", 131_072)
