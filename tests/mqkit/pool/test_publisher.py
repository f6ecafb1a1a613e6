"""Publishing through supervisor and pool to a real broker, with a faulty network between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from time import perf_counter
from typing import NamedTuple

import pytest

from mqkit.declaration import Queue
from mqkit.errors import ConfigurationError
from mqkit.message import Message, Properties
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason, Unknown
from mqkit.pool import ChannelPool, Publisher
from mqkit.settings import Settings
from mqkit.supervision.states import State
from mqkit.supervision.supervisor import Supervisor
from mqkit.testing.proxy import FaultyProxy
from mqkit.transport.choice import TRANSPORTS, chosen
from mqkit.transport.over_aio_pika.adapter import AioPikaTransport
from mqkit.transport.seam import Channel, Connection
from mqkit.url import parse

pytestmark = pytest.mark.anyio


class Client(NamedTuple):
    supervisor: Supervisor
    pool: ChannelPool
    publisher: Publisher
    queue: str


@pytest.fixture
async def direct(broker_url: str, name: str) -> AsyncIterator[Channel]:
    """A channel past the proxy, and the queue that the test publishes to."""
    connection = await AioPikaTransport().connect(parse(broker_url), name="direct", timeout_s=10)
    channel = await connection.channel()
    await channel.declare_queue(Queue(name, durable=False))
    yield channel
    await channel.delete_queue(name)
    await connection.close()


@pytest.fixture(params=TRANSPORTS)
async def client(
    request: pytest.FixtureRequest, direct: Channel, proxy: FaultyProxy, name: str
) -> AsyncIterator[Client]:
    settings = Settings.load(urls=proxy.url, reconnect_first_s=0.01, reconnect_max_s=0.05)
    async with (
        Supervisor(chosen(request.param), settings.endpoints, settings) as supervisor,
        ChannelPool(supervisor.open_publishing_channel) as pool,
        Publisher(pool, supervisor, max_message_bytes=1000, deadline_s=20) as publisher,
    ):
        await supervisor.wait_ready(10)
        yield Client(supervisor, pool, publisher, name)


async def bodies(channel: Channel, queue: str) -> list[bytes]:
    found = []
    while (delivery := await channel.get(queue, no_ack=True)) is not None:
        found.append(delivery.body)
    return found


async def test_a_batch_is_confirmed_and_in_order(client: Client, direct: Channel) -> None:
    texts = [str(number).encode() for number in range(2500)]  # more than two windows
    outcomes = await client.publisher.publish_batch(
        [Message("", client.queue, text) for text in texts]
    )
    assert all(outcomes)
    assert len({outcome.message_id for outcome in outcomes}) == len(texts)
    assert await bodies(direct, client.queue) == texts


async def test_one_caller_publishes_one_message_after_the_other(
    client: Client, direct: Channel
) -> None:
    publisher, kept = client.publisher, []
    for number in range(30):
        body = b"%d" % number
        if number % 5 == 1:
            unroutable = await publisher.publish(Message("", f"{client.queue}.not", body))
            assert isinstance(unroutable, Rejected)
            assert unroutable.reason is RejectReason.UNROUTABLE
        elif number % 5 == 2:
            refused = await publisher.publish(Message("", "k" * 256, body))
            assert isinstance(refused, Rejected)
            assert refused.reason is RejectReason.REFUSED
        elif number % 5 == 3:
            unknown = await publisher.publish(Message(f"{client.queue}.not", "k", body))
            assert isinstance(unknown, Rejected)
            assert unknown.reason is RejectReason.NO_EXCHANGE
        else:
            assert await publisher.publish(Message("", client.queue, body))
            kept.append(body)
    assert await bodies(direct, client.queue) == kept


async def test_many_callers_share_few_channels(client: Client, direct: Channel) -> None:
    async def publish(number: int) -> bool:
        return bool(await client.publisher.publish(Message("", client.queue, b"%d" % number)))

    assert all(await asyncio.gather(*(publish(number) for number in range(500))))
    assert client.pool.size <= 2
    assert len(await bodies(direct, client.queue)) == 500


async def test_one_bad_message_costs_the_others_nothing(client: Client, direct: Channel) -> None:
    outcomes = await client.publisher.publish_batch(
        [
            Message("", client.queue, b"1"),
            Message(f"{client.queue}-missing", "k", b"2"),
            Message("", client.queue, b"3", Properties(user_id="somebody-else")),
            Message("", f"{client.queue}-nowhere", b"4"),
            Message("", client.queue, b"5"),
        ]
    )
    reasons = [outcome.reason if isinstance(outcome, Rejected) else None for outcome in outcomes]
    assert reasons == [
        None,
        RejectReason.NO_EXCHANGE,
        RejectReason.REFUSED,
        RejectReason.UNROUTABLE,
        None,
    ]
    found = await bodies(direct, client.queue)
    assert set(found) == {b"1", b"5"}


async def test_a_message_that_cant_be_encoded_is_rejected_alone(client: Client) -> None:
    bad, good = Message("", "k" * 300, b""), Message("", client.queue, b"")
    rejected, *others = await client.publisher.publish_batch([bad, good, good])
    assert isinstance(rejected, Rejected)
    assert rejected.reason is RejectReason.REFUSED
    assert "300" in rejected.detail
    assert all(others)


async def test_a_confirm_lost_with_the_connection_is_asked_for_again_under_the_same_id(
    client: Client, proxy: FaultyProxy, direct: Channel
) -> None:
    proxy.cut_before_confirm()
    outcome = await client.publisher.publish(
        Message("", client.queue, b"once", Properties(message_id="the-id"))
    )
    assert outcome == Confirmed("the-id")
    first = await direct.get(client.queue, no_ack=True)
    again = await direct.get(client.queue, no_ack=True)
    assert first is not None
    assert again is not None
    assert first.message_id == again.message_id == "the-id"


async def test_publishing_while_disconnected_waits_for_the_connection(
    client: Client, proxy: FaultyProxy, direct: Channel
) -> None:
    proxy.refuse()
    proxy.cut()
    publishing = asyncio.create_task(client.publisher.publish(Message("", client.queue, b"x")))
    disconnected = asyncio.Event()
    client.supervisor.observe(lambda change: disconnected.set())
    if client.supervisor.state is State.READY:
        await disconnected.wait()
    assert not publishing.done()
    proxy.accept()
    assert await publishing
    assert await bodies(direct, client.queue) == [b"x"]


async def test_a_deadline_without_a_connection_names_the_problem(
    client: Client, proxy: FaultyProxy
) -> None:
    proxy.refuse()
    proxy.cut()
    outcome = await client.publisher.publish(Message("", client.queue, b"x"), deadline_s=0.3)
    assert isinstance(outcome, Unknown)
    assert "connecting" in outcome.detail


async def test_while_the_broker_blocks_nothing_is_sent_and_then_it_is(
    client: Client, proxy: FaultyProxy, direct: Channel
) -> None:
    blocked = asyncio.Event()
    client.supervisor.observe(
        lambda change: blocked.set() if change.after is State.BLOCKED else None
    )
    proxy.block("low on memory")
    await blocked.wait()
    outcome = await client.publisher.publish(Message("", client.queue, b"x"), deadline_s=0.1)
    assert isinstance(outcome, Unknown)
    assert "never sent" in outcome.detail
    assert "low on memory" in outcome.detail
    publishing = asyncio.create_task(client.publisher.publish(Message("", client.queue, b"y")))
    proxy.unblock()
    assert await publishing
    assert await bodies(direct, client.queue) == [b"y"]


async def test_who_does_not_wait_for_a_broker_that_blocks_has_its_reason(
    client: Client, proxy: FaultyProxy, direct: Channel
) -> None:
    publisher, supervisor, queue = client.publisher, client.supervisor, client.queue
    told: asyncio.Queue[str] = asyncio.Queue()
    supervisor.on_blocked(told.put_nowait)
    assert supervisor.blocked is None
    assert await publisher.publish(Message("", queue, b"first"))
    proxy.stall()
    written = asyncio.create_task(
        publisher.publish(Message("", queue, b"written"), on_blocked="fail")
    )
    for _ in range(100):
        await asyncio.sleep(0)  # every chance to write it
    proxy.block("low on memory")
    assert await told.get() == supervisor.blocked == "low on memory"
    one = await publisher.publish(Message("", queue, b"late"), on_blocked="fail")
    [two] = await publisher.publish_batch([Message("", queue, b"late")], on_blocked="fail")
    for outcome in (one, two):
        assert isinstance(outcome, Rejected)
        assert (outcome.reason, outcome.detail) == (RejectReason.BLOCKED, "low on memory")
    proxy.unblock()
    proxy.resume()
    assert await written
    assert await bodies(direct, queue) == [b"first", b"written"]


async def test_each_outcome_of_a_lone_message_is_told_before_its_caller_has_it(
    client: Client, proxy: FaultyProxy
) -> None:
    publisher, queue = client.publisher, client.queue
    told: list[tuple[bytes, Outcome]] = []
    moments = [perf_counter()]

    def tell(message: Message, outcome: Outcome, begun_s: float) -> None:
        told.append((message.body, outcome))
        moments.append(begun_s)

    publisher.tell(tell)
    got = [
        (b"kept", await publisher.publish(Message("", queue, b"kept"))),
        (b"lost", await publisher.publish(Message("", f"{queue}.not", b"lost"))),
        (b"x" * 1001, await publisher.publish(Message("", queue, b"x" * 1001))),
    ]
    proxy.stall()
    got.append((b"late", await publisher.publish(Message("", queue, b"late"), deadline_s=0.05)))
    proxy.resume()
    kinds = [type(outcome) for _, outcome in told]
    assert kinds == [Confirmed, Rejected, Rejected, Unknown]
    assert told == got
    assert moments == sorted(moments)
    assert moments[-1] <= perf_counter()
    with pytest.raises(ConfigurationError):
        await publisher.publish(Message("", queue, b"x"), on_blocked="sometimes")  # type: ignore[arg-type]
    assert await publisher.publish_batch([Message("", queue, b"in a batch")])
    assert len(told) == len(got)


async def test_who_does_not_want_a_message_twice_may_lose_it(
    client: Client, proxy: FaultyProxy, direct: Channel
) -> None:
    proxy.cut_before_confirm()
    outcome = await client.publisher.publish(
        Message("", client.queue, b"once", Properties(message_id="the-id")), resend=False
    )
    assert isinstance(outcome, Unknown)
    assert (outcome.message_id, outcome.sent) == ("the-id", True)
    assert await client.publisher.publish(Message("", client.queue, b"next"), resend=False)
    assert await bodies(direct, client.queue) == [b"once", b"next"]


async def test_nothing_is_lost_through_many_cuts(
    client: Client, proxy: FaultyProxy, direct: Channel
) -> None:
    cuts = 0

    def cut_when_ready(change: object) -> None:
        nonlocal cuts
        if client.supervisor.state is State.READY and cuts < 5:
            cuts += 1
            proxy.cut_before_confirm(after=1)

    client.supervisor.observe(cut_when_ready)
    proxy.cut_before_confirm()
    texts = [b"%d" % number for number in range(2000)]
    outcomes = []
    for start in range(0, len(texts), 100):
        messages = [Message("", client.queue, text) for text in texts[start : start + 100]]
        outcomes += await client.publisher.publish_batch(messages)
    assert all(outcomes)
    assert cuts == 5
    found = await bodies(direct, client.queue)
    assert set(found) == set(texts)


async def test_the_two_connections_have_two_jobs(client: Client) -> None:
    supervisor = client.supervisor
    publishing: Connection = supervisor.publishing_connection()
    assert publishing is not supervisor.consuming_connection()
