"""mqkit_spark.sink: every message has its outcome, or the task fails and says which."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import pytest

from mqkit.errors import ConnectionRefused, Unreachable
from mqkit.message import Message, Properties
from mqkit.testing.proxy import FaultyProxy
from mqkit.transport.blocking import BlockingConnection
from mqkit.transport.blocking_choice import BlockingChoice
from mqkit.transport.window_size import WindowSize
from mqkit_spark.options import OnUnroutable, SinkOptions
from mqkit_spark.pool import borrowed
from mqkit_spark.sink.pace import SystemWaiting
from mqkit_spark.sink.partition_sink import Counts, PartitionSink
from mqkit_spark.sink.report import PublishFailed

OptionsOf = Callable[..., SinkOptions]


@pytest.fixture(params=list(BlockingChoice))
def options_of(request: pytest.FixtureRequest) -> OptionsOf:
    """Options with one of the transports."""
    return partial(SinkOptions, transport=request.param)


class NoPause(SystemWaiting):
    """The machine's clock, without its pauses."""

    def pause(self, delay_s: float) -> None:
        pass


@dataclass(frozen=True)
class Instead(SystemWaiting):
    """Does something else where the sink would pause."""

    act: Callable[[], None]

    def pause(self, delay_s: float) -> None:
        self.act()


NO_PAUSE = NoPause()


def to(queue: str, count: int, size: int = 1) -> list[Message]:
    return [
        Message("", queue, b"x" * size, Properties(message_id=str(number)))
        for number in range(count)
    ]


def publish(
    options: SinkOptions, *batches: list[Message], waiting: SystemWaiting = NO_PAUSE
) -> Counts:
    with PartitionSink(options, borrowed, waiting, partition=7) as sink:
        row = 0
        for batch in batches:
            sink.send(batch, range(row, row + len(batch)))
            row += len(batch)
        sink.finish()
    return sink.counts


def test_everything_is_confirmed_and_counted(
    options_of: OptionsOf, broker_url: str, target: Any
) -> None:
    options = options_of(url=broker_url, exchange="", max_in_flight=700)
    counts = publish(options, to(target.name, 1500, 10), [], to(target.name, 3, 10))
    assert counts == Counts(confirmed=1503, body_bytes=15030)
    assert target.count() == 1503


def test_without_messages_there_is_no_connection(options_of: OptionsOf) -> None:
    options = options_of(url="amqp://127.0.0.1:1/", exchange="")
    assert publish(options, [], []) == Counts()


def test_an_unroutable_message_fails_the_task_or_is_dropped_and_counted(
    options_of: OptionsOf, broker_url: str, target: Any
) -> None:
    options = options_of(url=broker_url, exchange="")
    messages = [*to(target.name, 5), *to("no-such-queue-of-ours", 2)]
    with pytest.raises(PublishFailed, match=r"message '0' is unroutable.*no-such-queue-of-ours"):
        publish(options, messages)
    drop = options_of(url=broker_url, exchange="", on_unroutable=OnUnroutable.DROP)
    target.channel.queue_purge(target.name)
    assert publish(drop, messages) == Counts(confirmed=5, unroutable=2, body_bytes=5)
    assert target.count() == 5


def test_a_message_without_an_id_is_named_by_its_row(
    options_of: OptionsOf, broker_url: str, target: Any
) -> None:
    messages = [*to(target.name, 3), Message("", "no-such-queue-of-ours", b"body" * 20)]
    with pytest.raises(PublishFailed, match=r"^row 3 \(b'(body){10}'\) is unroutable"):
        publish(options_of(url=broker_url, exchange=""), messages)


def test_a_message_for_which_the_broker_closes_the_channel_is_the_one_that_is_named(
    options_of: OptionsOf, broker_url: str, target: Any
) -> None:
    """The broker says why, and not for which."""
    messages = to(target.name, 40)
    bad = Properties(message_id="bad", headers={"CC": "text, and no list"})
    messages.insert(30, Message("", target.name, b"x", bad))
    with pytest.raises(PublishFailed, match=r"message 'bad': refused: 406"):
        publish(options_of(url=broker_url, exchange="", publish_retries=2), messages)
    with pytest.raises(
        PublishFailed, match=r"message '(\d+|bad)', or another of \d+ in flight, .*406"
    ):
        publish(options_of(url=broker_url, exchange="", publish_retries=0), messages)


def test_what_no_queue_takes_goes_to_the_dead_letter_exchange_with_the_reason(
    options_of: OptionsOf, broker_url: str, target: Any, make_queue: Callable[..., Any]
) -> None:
    dead = make_queue()
    options = options_of(
        url=broker_url,
        exchange="",
        on_unroutable="deadletter",
        dead_letter_exchange="",
        dead_letter_routing_key=dead.name,
    )
    lost = Message(
        "",
        "no-such-queue-of-ours",
        b"lost",
        Properties(message_id="lost", headers={"mine": 1}, expiration_ms=5, content_type="x/y"),
    )
    counts = publish(options, to(target.name, 3), [lost], to(target.name, 2))
    assert counts == Counts(confirmed=5, unroutable=1, dead_lettered=1, body_bytes=5)
    ((_, body, properties),) = dead.consume_all()
    assert (body, properties.message_id, properties.content_type) == (b"lost", "lost", "x/y")
    assert properties.expiration is None, "a dead letter stays until somebody has seen it"
    error = properties.headers.pop("x-mqkit-error")
    assert error.startswith("unroutable: no queue is bound to exchange '' for routing key")
    assert properties.headers == {
        "mine": 1,
        "x-mqkit-partition": 7,
        "x-mqkit-row": 3,
        "x-mqkit-original-exchange": "",
        "x-mqkit-original-routing-key": "no-such-queue-of-ours",
    }


def test_a_dead_letter_that_no_queue_takes_fails_the_task(
    options_of: OptionsOf, broker_url: str
) -> None:
    options = options_of(
        url=broker_url,
        exchange="",
        on_unroutable="deadletter",
        dead_letter_exchange="amq.topic",
        dead_letter_routing_key="nobody.listens",
    )
    with pytest.raises(PublishFailed, match="the dead letter of message '0' is unroutable"):
        publish(options, to("no-such-queue-of-ours", 1))


def test_a_dead_letter_that_is_nacked_is_sent_again(
    options_of: OptionsOf, broker_url: str, make_queue: Callable[..., Any]
) -> None:
    dead = make_queue({"x-max-length": 1, "x-overflow": "reject-publish"})
    options = options_of(
        url=broker_url,
        exchange="",
        on_unroutable="deadletter",
        dead_letter_exchange="",
        dead_letter_routing_key=dead.name,
    )
    drained: list[int] = []

    def drain() -> None:
        drained.append(len(dead.consume_all()))

    counts = publish(options, to("no-such-queue-of-ours", 2), waiting=Instead(drain))
    assert (counts.unroutable, counts.dead_lettered) == (2, 2)
    assert counts.resent >= 1
    assert sum(drained) + dead.count() == 2


def test_a_missing_exchange_fails_with_the_brokers_words(
    options_of: OptionsOf, broker_url: str
) -> None:
    options = options_of(url=broker_url, exchange="none-of-ours")
    with pytest.raises(PublishFailed, match="no such exchange: 404 NOT_FOUND"):
        publish(options, [Message("none-of-ours", "k", b"")])


def test_what_a_full_queue_nacks_is_sent_again_until_it_is_taken(
    options_of: OptionsOf, broker_url: str, make_queue: Callable[..., Any]
) -> None:
    target = make_queue({"x-max-length": 10, "x-overflow": "reject-publish"})
    options = options_of(url=broker_url, exchange="", publish_retries=3)
    drained: list[int] = []

    def drain() -> None:
        drained.append(len(target.consume_all()))

    counts = publish(options, to(target.name, 11), waiting=Instead(drain))
    assert counts.confirmed == 11
    assert counts.resent >= 1
    assert sum(drained) + target.count() == 11


def test_a_queue_that_stays_full_fails_the_task_after_the_retries(
    options_of: OptionsOf, broker_url: str, make_queue: Callable[..., Any]
) -> None:
    target = make_queue({"x-max-length": 1, "x-overflow": "reject-publish"})
    options = options_of(url=broker_url, exchange="", publish_retries=2)
    with pytest.raises(PublishFailed, match="was sent 3 times in vain: the broker nacked"):
        publish(options, to(target.name, 50))


def test_refusals_pile_up_no_higher_than_the_window(
    options_of: OptionsOf, broker_url: str, make_queue: Callable[..., Any]
) -> None:
    target = make_queue({"x-max-length": 1, "x-overflow": "reject-publish"})
    options = options_of(url=broker_url, exchange="", publish_retries=0, max_in_flight=20)
    endless = (to(target.name, 10) for _ in iter(int, 1))
    with pytest.raises(PublishFailed, match="in vain"), PartitionSink(options, borrowed) as sink:
        for batch in endless:
            sink.send(batch, range(10))


def test_a_login_that_is_refused_and_a_broker_that_is_away(
    options_of: OptionsOf, broker_url: str
) -> None:
    wrong = options_of(url=broker_url.replace("guest:guest", "guest:wrong"), exchange="")
    with pytest.raises(ConnectionRefused, match="403"):
        publish(wrong, to("q", 1))
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:1"):
        publish(options_of(url="amqp://127.0.0.1:1/", exchange=""), to("q", 1))


@pytest.mark.anyio
async def test_what_a_lost_connection_left_in_doubt_is_sent_again(
    options_of: OptionsOf, broker_url: str, target: Any
) -> None:
    async with FaultyProxy.before(broker_url) as proxy:
        options = options_of(url=proxy.url, exchange="")
        proxy.cut_before_confirm()  # the first: a broker may put all of them into one
        counts = await anyio.to_thread.run_sync(publish, options, to(target.name, 3000))
    assert counts.confirmed == 3000
    assert counts.resent >= 1
    ids = [properties.message_id for _, _, properties in target.consume_all()]
    assert set(ids) == {str(number) for number in range(3000)}
    assert len(ids) > 3000, "the broker had some of those in doubt: they are there twice"


@pytest.mark.anyio
async def test_doubts_of_a_lost_connection_are_seen_after_the_next_is_open(
    options_of: OptionsOf, broker_url: str, target: Any
) -> None:
    lost = threading.Event()

    @contextmanager
    def lend(options: SinkOptions) -> Iterator[BlockingConnection]:
        with borrowed(options) as connection:
            connection.on_closed(lambda _: lost.set())
            yield connection

    def run() -> Counts:
        with PartitionSink(options, lend, NO_PAUSE) as sink:
            sink.send(to(target.name, 1), [0])
            assert lost.wait(10)
            sink.send(
                to(target.name, 5), range(5)
            )  # opens a connection, and finds that the first is unknown
            sink.finish()
        return sink.counts

    async with FaultyProxy.before(broker_url) as proxy:
        options = options_of(url=proxy.url, exchange="")
        proxy.cut_before_confirm()
        counts = await anyio.to_thread.run_sync(run)
    assert (counts.confirmed, counts.resent) == (6, 1)


class Steps:
    """Lends connections of its own, and stands still after the first message until told."""

    def __init__(self, options: SinkOptions, queue: str) -> None:
        self.sent_one = threading.Event()
        self.go_on = threading.Event()
        self._options = options
        self._queue = queue

    def run(self) -> str:
        """The error of the sink when it goes on after the break."""
        failure = pytest.raises(PublishFailed)
        with failure as error, PartitionSink(self._options, self._lend) as sink:
            sink.send(to(self._queue, 1), [0])
            self.sent_one.set()
            assert self.go_on.wait(10)
            sink.send(to(self._queue, 5), range(1, 6))
            sink.finish()
        return str(error.value)

    @contextmanager
    def _lend(self, options: SinkOptions) -> Iterator[BlockingConnection]:
        transport = options.transport.transport(WindowSize(messages=100, bytes=10**6))
        connection = transport.connect(options.endpoints()[0], name="test_sink", timeout_s=10)
        connection.on_blocked(lambda _: self.go_on.set())
        yield connection
        connection.close()


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_broker_that_says_nothing_fails_the_task_in_time(
    options_of: OptionsOf, broker_url: str, target: Any
) -> None:
    async with FaultyProxy.before(broker_url) as proxy, anyio.create_task_group() as group:
        options = options_of(url=proxy.url, exchange="", confirm_timeout_s=0.2)
        steps = Steps(options, target.name)
        words: list[str] = []

        async def run() -> None:
            words.append(await anyio.to_thread.run_sync(steps.run))
            proxy.resume()

        group.start_soon(run)
        await anyio.to_thread.run_sync(steps.sent_one.wait, 10)
        proxy.stall()
        steps.go_on.set()
    assert "unconfirmed and nothing moves" in words[0]
    assert "for 0 s of which" in words[0]


@pytest.mark.anyio
async def test_time_while_blocked_counts_against_its_own_timeout(
    options_of: OptionsOf, broker_url: str, target: Any
) -> None:
    async with FaultyProxy.before(broker_url) as proxy, anyio.create_task_group() as group:
        options = options_of(
            url=proxy.url, exchange="", confirm_timeout_s=60, blocked_timeout_s=0.2
        )
        steps = Steps(options, target.name)
        words: list[str] = []

        async def run() -> None:
            words.append(await anyio.to_thread.run_sync(steps.run))

        group.start_soon(run)
        await anyio.to_thread.run_sync(steps.sent_one.wait, 10)
        proxy.block()  # the sink goes on when it has heard of it
    assert "unconfirmed and nothing moves" in words[0]
    # The first may have been on its way to the socket when the broker blocked, the others not.
    assert target.count() <= 1, "nothing is sent while the broker has blocked the connection"


@pytest.mark.anyio
async def test_a_connection_that_is_blocked_for_a_while_pauses_the_sink_and_is_counted(
    options_of: OptionsOf, broker_url: str, target: Any
) -> None:
    blocked = threading.Event()

    def heard(reason: str | None) -> None:
        if reason is not None:
            blocked.set()

    @contextmanager
    def lend(options: SinkOptions) -> Iterator[BlockingConnection]:
        with borrowed(options) as connection:
            connection.on_blocked(heard)
            yield connection

    def run(sent_one: threading.Event) -> Counts:
        with PartitionSink(options, lend) as sink:
            sink.send(to(target.name, 1), [0])
            sent_one.set()
            assert blocked.wait(10)
            sink.send(to(target.name, 5), range(1, 6))
            sink.finish()
        return sink.counts

    async with FaultyProxy.before(broker_url) as proxy, anyio.create_task_group() as group:
        options = options_of(url=proxy.url, exchange="")
        sent_one = threading.Event()
        counts: list[Counts] = []

        async def publish_there() -> None:
            counts.append(await anyio.to_thread.run_sync(run, sent_one))

        group.start_soon(publish_there)
        await anyio.to_thread.run_sync(sent_one.wait, 10)
        proxy.block()
        await anyio.to_thread.run_sync(blocked.wait, 10)
        proxy.unblock()
    assert counts[0].confirmed == 6
    assert counts[0].blocked_seconds > 0
    assert target.count() == 6


def test_a_rate_makes_the_sink_wait(broker_url: str, target: Any) -> None:
    waiting = FakeWaiting()
    options = SinkOptions(url=broker_url, exchange="", max_rate=100)
    with PartitionSink(options, borrowed, waiting) as sink:
        sink.send(to(target.name, 250), range(250))
        sink.finish()
    assert target.count() == 250
    assert waiting.now_s == pytest.approx(
        2.4, abs=0.1
    )  # the first tenth of a second's worth goes at once


class FakeWaiting:
    """A clock that goes on by its pauses only."""

    now_s = 0.0

    def monotonic_s(self) -> float:
        return self.now_s

    def pause(self, delay_s: float) -> None:
        self.now_s += delay_s
