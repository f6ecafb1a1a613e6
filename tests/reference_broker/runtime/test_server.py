"""The server on a real socket: pika and aio-pika drive it, in memory and with a data folder."""

from __future__ import annotations

import asyncio
import errno
import socket
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import aio_pika
import pika
import pytest
from aio_pika.exceptions import DeliveryError
from pika.adapters.blocking_connection import BlockingChannel

from mqkit.wire import PROTOCOL_HEADER, FrameParser, decode_method
from mqkit.wire.methods import BasicRecover
from reference_broker.core.alarms import Alarm
from reference_broker.core.base.limits import Limits
from reference_broker.core.connection import control_frames
from reference_broker.core.work.budget import TURN_UNITS
from reference_broker.errors import DataDirectoryLocked
from reference_broker.runtime import server as server_module
from reference_broker.runtime.config import Address, ServerConfig
from reference_broker.runtime.disk import data_folder
from reference_broker.runtime.disk.system_calls import FileCalls
from reference_broker.runtime.net.listening_sockets import LOCALHOST
from reference_broker.runtime.process.turn_meter import TurnMeter
from reference_broker.runtime.process.turn_pace import TURN_MS
from reference_broker.runtime.server import Server
from reference_broker.store.format.segment import SEGMENT_BYTES

DEADLINE_S = 20


class ServerThread:
    """A server in a loop and a thread of its own, for blocking clients."""

    def __init__(self, config: ServerConfig) -> None:
        self.loop = asyncio.new_event_loop()
        self.server = Server(config)
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self._run(self.server.start)

    def stop(self) -> None:
        self._run(self.server.stop)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(DEADLINE_S)
        self.loop.close()

    def _run(self, step: Callable[[], object]) -> None:
        asyncio.run_coroutine_threadsafe(step(), self.loop).result(DEADLINE_S)  # type: ignore[arg-type]


def config(data_dir: Path | None = None, **limits: int) -> ServerConfig:
    return ServerConfig(
        amqp=Address("127.0.0.1", 0), http=None, data_dir=data_dir, limits=Limits(**limits)
    )


@pytest.fixture(params=["memory", "disk"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ServerThread]:
    running = ServerThread(config(tmp_path / "data" if request.param == "disk" else None))
    yield running
    running.stop()


@pytest.fixture
def port(server: ServerThread) -> int:
    return server.server.amqp_port


@pytest.fixture
def channel(port: int) -> Iterator[BlockingChannel]:
    connection = pika.BlockingConnection(
        pika.ConnectionParameters("127.0.0.1", port, blocked_connection_timeout=DEADLINE_S)
    )
    yield connection.channel()
    if connection.is_open:
        connection.close()


PERSISTENT = pika.BasicProperties(delivery_mode=2, message_id="m1", headers={"n": 1})


def test_pika_publishes_with_confirms_gets_and_acks(channel: BlockingChannel) -> None:
    channel.queue_declare("q", durable=True)
    channel.exchange_declare("x", "topic", durable=True)
    channel.queue_bind("q", "x", "a.*")
    channel.confirm_delivery()
    channel.basic_publish("x", "a.b", b"hello", PERSISTENT, mandatory=True)
    method, properties, body = channel.basic_get("q")
    assert (method.exchange, method.routing_key, method.redelivered) == ("x", "a.b", False)
    assert (properties.message_id, properties.headers, body) == ("m1", {"n": 1}, b"hello")
    channel.basic_ack(method.delivery_tag)
    assert channel.basic_get("q") == (None, None, None)


def test_pika_learns_of_an_unroutable_message(channel: BlockingChannel) -> None:
    channel.confirm_delivery()
    with pytest.raises(pika.exceptions.UnroutableError) as caught:
        channel.basic_publish("", "nowhere", b"lost", PERSISTENT, mandatory=True)
    [returned] = caught.value.messages
    assert (returned.method.reply_code, returned.method.reply_text) == (312, "NO_ROUTE")
    assert returned.body == b"lost"


def test_pika_consumes_nacks_and_gets_it_again(channel: BlockingChannel) -> None:
    channel.queue_declare("q", durable=True)
    channel.basic_qos(prefetch_count=2)
    for number in range(5):
        channel.basic_publish("", "q", b"%d" % number, PERSISTENT)
    seen = []
    for method, _, body in channel.consume("q", inactivity_timeout=DEADLINE_S):
        seen.append((body, method.redelivered))
        if seen == [(b"0", False)]:
            channel.basic_nack(method.delivery_tag, requeue=True)
        else:
            channel.basic_ack(method.delivery_tag)
        if len(seen) == 6:
            break
    assert sorted(body for body, _ in seen) == [b"0", b"0", b"1", b"2", b"3", b"4"]
    assert (b"0", True) in seen
    channel.cancel()


def test_pika_survives_a_channel_error(channel: BlockingChannel) -> None:
    connection = channel.connection
    with pytest.raises(pika.exceptions.ChannelClosedByBroker) as caught:
        channel.queue_declare("missing", passive=True)
    assert caught.value.reply_code == 404
    assert caught.value.reply_text == "NOT_FOUND - no queue 'missing' in vhost '/'"
    other = connection.channel()
    other.queue_declare("q")
    with pytest.raises(pika.exceptions.ChannelClosedByBroker) as caught:
        other.queue_declare("q", durable=True)
    assert caught.value.reply_code == 406


def test_pika_with_a_wrong_password(port: int) -> None:
    parameters = pika.ConnectionParameters(
        "127.0.0.1", port, credentials=pika.PlainCredentials("guest", "wrong")
    )
    with pytest.raises(pika.exceptions.ProbableAuthenticationError):
        pika.BlockingConnection(parameters)


def test_a_large_message_in_many_frames(channel: BlockingChannel) -> None:
    body = bytes(range(256)) * 4096 * 3
    channel.queue_declare("q", durable=True)
    channel.confirm_delivery()
    channel.basic_publish("", "q", body, PERSISTENT)
    assert channel.basic_get("q", auto_ack=True)[2] == body


@pytest.mark.anyio
async def test_aio_pika(tmp_path: Path) -> None:
    server = Server(config(tmp_path))
    await server.start()
    try:
        url = f"amqp://guest:guest@127.0.0.1:{server.amqp_port}/"
        async with await aio_pika.connect(url) as connection:
            channel = await connection.channel(on_return_raises=True)
            await channel.set_qos(10)
            queue = await channel.declare_queue("q", durable=True)
            exchange = await channel.declare_exchange("x", "direct", durable=True)
            await queue.bind(exchange, "k")
            message = aio_pika.Message(b"hello", delivery_mode=2, headers={"a": [1, "b"]})
            async with asyncio.TaskGroup() as group:
                for _ in range(100):
                    group.create_task(exchange.publish(message, "k"))
            got = []
            async with queue.iterator() as messages:
                async for incoming in messages:
                    got.append(incoming.body)
                    if len(got) == 1:
                        await incoming.nack(requeue=True)
                    else:
                        await incoming.ack()
                    if len(got) == 101:
                        break
            assert got == [b"hello"] * 101
            with pytest.raises(DeliveryError):
                await exchange.publish(message, "nowhere", mandatory=True)
            reply = await channel.declare_queue(exclusive=True)
            assert reply.name.startswith("amq.gen-")
    finally:
        await server.stop()


def test_messages_and_definitions_survive_a_restart(tmp_path: Path) -> None:
    first = ServerThread(config(tmp_path))
    connection = pika.BlockingConnection(
        pika.ConnectionParameters("127.0.0.1", first.server.amqp_port)
    )
    channel = connection.channel()
    channel.exchange_declare("x", "topic", durable=True)
    channel.queue_declare("q", durable=True)
    channel.queue_bind("q", "x", "#")
    channel.confirm_delivery()
    for number in range(3):
        channel.basic_publish("x", "k", b"%d" % number, PERSISTENT)
    method, _, _ = channel.basic_get("q")
    channel.basic_ack(method.delivery_tag)
    connection.close()
    first.stop()

    second = ServerThread(config(tmp_path))
    connection = pika.BlockingConnection(
        pika.ConnectionParameters("127.0.0.1", second.server.amqp_port)
    )
    channel = connection.channel()
    channel.queue_declare("q", durable=True)
    channel.basic_publish("x", "k", b"3")
    bodies = [channel.basic_get("q", auto_ack=True)[2] for _ in range(4)]
    assert bodies == [b"1", b"2", b"3", None]
    connection.close()
    second.stop()


@pytest.mark.parametrize("seconds", [0.0, server_module.LEFT_OVER_S])
def test_what_clients_held_at_a_stop_is_redelivered_though_its_return_takes_turns(
    tmp_path: Path, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "LEFT_OVER_S", seconds)
    monkeypatch.setattr(server_module, "CLOSE_TIMEOUT_S", 0.0)
    running = ServerThread(config(tmp_path))
    running.server.broker.budget.units = 1
    parameters = pika.ConnectionParameters("127.0.0.1", running.server.amqp_port)
    channel = pika.BlockingConnection(parameters).channel()
    channel.queue_declare("q", durable=True)
    channel.confirm_delivery()
    for number in range(200):
        channel.basic_publish("", "q", b"%d" % number, PERSISTENT)
    while channel.basic_get("q")[0] is not None:
        pass
    running.stop()

    running = ServerThread(config(tmp_path))
    parameters = pika.ConnectionParameters("127.0.0.1", running.server.amqp_port)
    channel = pika.BlockingConnection(parameters).channel()
    got = [channel.basic_get("q", auto_ack=True) for _ in range(200)]
    assert [body for _, _, body in got] == [b"%d" % number for number in range(200)]
    assert all(method.redelivered for method, _, _ in got)
    running.stop()


def test_a_message_expires_after_a_restart_though_nobody_touches_its_queue(tmp_path: Path) -> None:
    """The timer of a queue's head is not stored: recovery has to set it."""
    running = ServerThread(config(tmp_path))
    with pika.BlockingConnection(_to(running)) as connection:
        channel = connection.channel()
        channel.queue_declare("dead", durable=True)
        arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
        channel.queue_declare("tier", durable=True, arguments=arguments | {"x-message-ttl": 1500})
        channel.confirm_delivery()
        channel.basic_publish("", "tier", b"1", pika.BasicProperties(delivery_mode=2))
    running.stop()

    running = ServerThread(config(tmp_path))
    with pika.BlockingConnection(_to(running)) as connection:
        channel = connection.channel()
        assert channel.queue_declare("dead", passive=True).method.message_count == 0
        _, _, body = next(channel.consume("dead", inactivity_timeout=DEADLINE_S))
        assert body == b"1"
    running.stop()


def _to(running: ServerThread) -> pika.ConnectionParameters:
    return pika.ConnectionParameters("127.0.0.1", running.server.amqp_port)


@pytest.mark.parametrize(
    ("footer_too", "said"), [(True, "quarantined"), (False, "can't be read and is lost")]
)
def test_damage_is_said_when_it_is_found(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, footer_too: bool, said: str
) -> None:
    """`mqkit broker run` shows warnings: an operator must not have to ask for this one. With
    a sound footer a start doesn't read the messages, so it is found when one is wanted."""
    running = ServerThread(config(tmp_path))
    with pika.BlockingConnection(_to(running)) as connection:
        channel = connection.channel()
        channel.queue_declare("q", durable=True)
        channel.confirm_delivery()
        for body in (b"first" * 100, b"second" * 100):
            channel.basic_publish("", "q", body, pika.BasicProperties(delivery_mode=2))
    running.stop()
    (segment,) = tmp_path.glob("*.segment")
    octets = bytearray(segment.read_bytes())
    octets[octets.index(b"firstfirst")] ^= 1
    if footer_too:
        octets[-1] ^= 1
    segment.write_bytes(octets)

    with caplog.at_level("WARNING"):
        running = ServerThread(config(tmp_path))
        with pika.BlockingConnection(_to(running)) as connection:
            _, _, body = connection.channel().basic_get("q", auto_ack=True)
        damage = running.server.node().store_damage
        lost = running.server.broker.vhosts["/"].queues["q"].lost
        running.stop()
    assert body == b"second" * 100
    assert said in caplog.text
    assert damage.lost_messages + damage.unreadable_reads == lost == 1


def test_a_message_larger_than_the_spare_waits_for_room_and_is_not_nacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserve, full = data_folder._reserve, threading.Event()

    def may_be_full(calls: FileCalls, descriptor: int, size_bytes: int) -> None:
        if full.is_set():
            raise OSError(errno.ENOSPC, "no space left on device")
        reserve(calls, descriptor, size_bytes)

    monkeypatch.setattr(data_folder, "_reserve", may_be_full)
    running = ServerThread(config(tmp_path))
    heard: list[str] = []
    persistent = pika.BasicProperties(delivery_mode=2)
    parameters = _to(running)
    parameters.heartbeat = 0
    with pika.BlockingConnection(parameters) as connection:
        connection.add_on_connection_blocked_callback(lambda *_: heard.append("blocked"))
        connection.add_on_connection_unblocked_callback(lambda *_: heard.append("unblocked"))
        channel = connection.channel()
        channel.queue_declare("q", durable=True)
        full.set()
        channel.basic_publish("", "q", bytes(SEGMENT_BYTES), persistent)
        while heard != ["blocked"]:
            connection.process_data_events(time_limit=1)
        queue = running.server.broker.vhosts["/"].queues["q"]
        assert queue.ready == 0
        full.clear()
        while heard[-1:] != ["unblocked"]:
            connection.process_data_events(time_limit=1)
        channel.confirm_delivery()
        channel.basic_publish("", "q", b"last", persistent)
        assert queue.ready == 2
    running.stop()
    assert heard == ["blocked", "unblocked"]


def test_a_log_that_is_full_is_tried_again_though_every_client_is_blocked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Dead letters are not asked whether there is room: what they take is the reserve."""
    reserve, full = data_folder._reserve, threading.Event()

    def may_be_full(calls: FileCalls, descriptor: int, size_bytes: int) -> None:
        if full.is_set():
            raise OSError(errno.ENOSPC, "no space left on device")
        reserve(calls, descriptor, size_bytes)

    monkeypatch.setattr(data_folder, "_reserve", may_be_full)
    running = ServerThread(config(tmp_path))
    persistent = pika.BasicProperties(delivery_mode=2)
    with pika.BlockingConnection(_to(running)) as connection:
        channel = connection.channel()
        for name, other in (("there", "back"), ("back", "there")):
            dead = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": other}
            channel.queue_declare(name, durable=True, arguments=dead)
        channel.basic_publish("", "there", bytes(SEGMENT_BYTES // 2), persistent)
        full.set()
        name, other = "there", "back"
        while "the disk is full" not in caplog.text:
            got, _, _ = channel.basic_get(name)
            if got is not None:
                channel.basic_reject(got.delivery_tag, requeue=False)
                name, other = other, name
        full.clear()
        connection.channel().queue_declare("definitions wait, too", durable=True)
    running.stop()
    running = ServerThread(config(tmp_path))
    queues = running.server.broker.vhosts["/"].queues
    assert queues["there"].ready + queues["back"].ready == 1
    running.stop()


def test_without_room_for_a_spare_publishers_wait_and_nothing_is_nacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserve, full = data_folder._reserve, threading.Event()

    def may_be_full(calls: FileCalls, descriptor: int, size_bytes: int) -> None:
        if full.is_set():
            raise OSError(errno.ENOSPC, "no space left on device")
        reserve(calls, descriptor, size_bytes)

    monkeypatch.setattr(data_folder, "_reserve", may_be_full)
    running = ServerThread(config(tmp_path))
    full.set()
    bodies = SEGMENT_BYTES // 2**20 + 4

    def publish() -> None:
        with pika.BlockingConnection(_to(running)) as connection:
            channel = connection.channel()
            channel.queue_declare("q", durable=True)
            channel.confirm_delivery()
            for _ in range(bodies):
                channel.basic_publish("", "q", bytes(2**20), pika.BasicProperties(delivery_mode=2))

    async def until_alarm_is(on: bool) -> None:
        while (Alarm.DISK in running.server.broker.alarms.on) is not on:
            await running.loop.run_in_executor(None, lambda: None)

    publisher = threading.Thread(target=publish, daemon=True)
    publisher.start()
    running._run(lambda: until_alarm_is(True))
    assert publisher.is_alive()
    full.clear()
    publisher.join(DEADLINE_S)
    assert not publisher.is_alive()
    running._run(lambda: until_alarm_is(False))
    assert running.server.broker.vhosts["/"].queues["q"].ready == bodies
    running.stop()


def test_a_data_folder_serves_one_server_at_a_time(tmp_path: Path) -> None:
    first = ServerThread(config(tmp_path))
    loop = asyncio.new_event_loop()
    with pytest.raises(DataDirectoryLocked):
        loop.run_until_complete(Server(config(tmp_path)).start())
    loop.close()
    first.stop()


def test_stopping_tells_the_clients_why(server: ServerThread, port: int) -> None:
    connection = pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port))
    stopping = threading.Thread(target=lambda: server._run(server.server.stop))
    stopping.start()
    with pytest.raises(pika.exceptions.ConnectionClosedByBroker) as caught:
        connection.process_data_events(time_limit=DEADLINE_S)
    assert caught.value.reply_code == 320
    assert "broker forced connection closure with reason 'shutdown'" in caught.value.reply_text
    stopping.join(DEADLINE_S)
    assert server.server.broker.connections == {}


def test_garbage_ends_that_connection_only(channel: BlockingChannel, port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), DEADLINE_S) as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert _read_to_end(stranger) == PROTOCOL_HEADER
    with socket.create_connection(("127.0.0.1", port), DEADLINE_S) as stranger:
        stranger.sendall(PROTOCOL_HEADER + b"\xff" * 64)
        parser = FrameParser()
        parser.receive_data(_read_until(stranger, b"FRAME_ERROR"))
        names = []
        while (frame := parser.next_frame()) is not None:
            names.append(decode_method(frame.payload).NAME)
        assert names == ["connection.start", "connection.close"]
    channel.queue_declare("q")


def test_an_error_of_our_own_ends_the_connection_that_met_it_and_no_other(
    channel: BlockingChannel, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    victim = pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port))
    victim_channel = victim.channel()
    monkeypatch.setitem(control_frames._METHODS, BasicRecover, broken)
    with pytest.raises(pika.exceptions.ConnectionClosedByBroker) as caught:
        victim_channel.basic_recover(requeue=True)
    assert caught.value.reply_code == 541
    channel.queue_declare("q")


def test_a_turn_that_was_long_makes_the_next_ones_smaller(
    server: ServerThread, channel: BlockingChannel
) -> None:
    clock = count(step=round(2 * TURN_MS * 1e6))  # a turn takes one step at least
    server.server.turns = TurnMeter(lambda line: None, lambda: next(clock))
    channel.queue_declare("q")
    channel.queue_declare("q")  # the first answer may be here before the end of its turn
    assert server.server.broker.budget.paced < TURN_UNITS


def test_too_many_connections_are_closed_at_once(tmp_path: Path) -> None:
    running = ServerThread(config(connections_max=1))
    port = running.server.amqp_port
    first = pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port))
    with socket.create_connection(("127.0.0.1", port), DEADLINE_S) as second:
        assert _read_to_end(second) == b""
    first.close()
    running.stop()


def test_a_consumer_that_does_not_read_is_given_no_more_than_the_bound(
    port: int, server: ServerThread, channel: BlockingChannel
) -> None:
    """...and another consumer of the queue gets the rest."""
    channel.queue_declare("q")
    slow = pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port))
    slow.channel().basic_consume("q", lambda *_: None, auto_ack=True)
    count, size = 200, 100_000
    for _ in range(count):
        channel.basic_publish("", "q", b"x" * size)
    got = 0
    for _ in channel.consume("q", auto_ack=True, inactivity_timeout=DEADLINE_S):
        got += 1
        if got >= count // 4:
            break
    assert got >= count // 4
    channel.cancel()
    slow.close()


def _read_to_end(connected: socket.socket) -> bytes:
    data = b""
    try:
        while chunk := connected.recv(4096):
            data += chunk
    except ConnectionResetError:
        pass
    return data


def _read_until(connected: socket.socket, text: bytes) -> bytes:
    data = b""
    while text not in data:
        chunk = connected.recv(4096)
        assert chunk, data
        data += chunk
    return data


def test_localhost_is_served_on_each_loopback_address_also_after_a_pause() -> None:
    running = ServerThread(ServerConfig(amqp=Address(LOCALHOST, 0), http=None))
    server = running.server
    hosts = [each.host for each in server.node().listening]
    assert hosts[0] == "127.0.0.1"
    try:
        for steps in ((), (server.pause, server.resume)):
            for step in steps:
                asyncio.run_coroutine_threadsafe(step(), running.loop).result(DEADLINE_S)
            for host in hosts:
                parameters = pika.ConnectionParameters(host, server.amqp_port)
                pika.BlockingConnection(parameters).close()
    finally:
        running.stop()
