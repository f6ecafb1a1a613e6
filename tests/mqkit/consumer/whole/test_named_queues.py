"""Parking lots and retry tiers with names of their own: a system that was there before mqkit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

import mqkit
from mqkit import App, Delivery
from mqkit.declaration import Binding, Declaration, Exchange, Queue
from mqkit.lots import Choice, LotLink, ls, peek
from mqkit.lots.replay import ReplayRequest, replay
from mqkit.message import Message, Properties
from mqkit.outcome import Confirmed
from mqkit.topology import Topology, loads
from mqkit.topology.retrying.known_lots import known_lots
from mqkit.url import parse

pytestmark = pytest.mark.anyio

WAIT_S = 20.0
TRANSPORTS = pytest.mark.parametrize("transport", ["native", "aio-pika"])


class Mail:
    """The queues of a notification service, under names that no other test has."""

    def __init__(self, scene: Any, unique: Callable[[str], str]) -> None:
        self.scene = scene
        self.queue: str = unique("email-queue")
        self.lot: str = unique("email-dlq")
        self.dlx: str = unique("email-dlx")
        self.retry_queue: str = unique("email-retry-queue")
        self.tiers = [unique("email-queue.wait.10ms"), unique("email-queue.wait.30ms")]
        self.pattern = self.tiers[0].replace("10ms", "{after}")

    def retry(self, more: str = "") -> str:
        return f'{{after: [10ms, 30ms], park: "{self.lot}", tiers: "{self.pattern}"{more}}}'

    def app(self, topology: Topology, **options: Any) -> App:
        fast = mqkit.Settings.load(
            urls=self.scene.url, reconnect_first_s=0.01, reconnect_max_s=0.05
        )
        return App(topology=topology, settings=fast, **options)

    def link(self, topology: Topology) -> LotLink:
        return LotLink(parse(self.scene.url), WAIT_S, known_lots(topology))

    async def declare(self, *declarations: Declaration) -> None:
        """The objects that are there already, declared."""
        channel = await self.scene.outside.channel()
        for declaration in declarations:
            match declaration:
                case Exchange():
                    await channel.declare_exchange(declaration)
                case Queue():
                    await channel.declare_queue(declaration)
                case Binding():
                    await channel.bind(declaration)
        await channel.close()

    async def put(self, queue: str, *ids: str, **headers: Any) -> None:
        channel = await self.scene.outside.channel(confirms=True)
        messages = [
            Message("", queue, b"", Properties(message_id=each, headers=headers)) for each in ids
        ]
        for outcome in await channel.publish_many(messages):
            assert isinstance(await outcome, Confirmed)
        await channel.close()

    async def take(self, queue: str) -> list[Delivery]:
        channel = await self.scene.outside.channel()
        found: list[Delivery] = []
        while (delivery := await channel.get(queue, no_ack=True)) is not None:
            found.append(delivery)
        await channel.close()
        return found

    async def until(self, queue: str, count: int) -> None:
        """Return when so many messages lie in ``queue``. Each look is a round trip."""
        async with asyncio.timeout(WAIT_S):
            while await self.scene.ready(queue) != count:
                pass


@pytest.fixture
def mail(scene: Any, unique: Callable[[str], str]) -> Mail:
    return Mail(scene, unique)


def way(delivery: Delivery) -> list[str]:
    """The queues in which it died, newest first."""
    deaths = cast("list[dict[str, str]]", delivery.headers.get("x-death", []))
    return [death["queue"] for death in deaths]


async def fail_until_parked(mail: Mail, app: App, inbox: Any) -> Delivery:
    """Publish a message that fails until it is parked; the message in the lot."""

    @app.consumer(mail.queue)
    async def handle(delivery: Delivery) -> None:
        inbox.add(way(delivery))
        raise ValueError("no such address")

    async with app:
        assert await app.publish("", mail.queue, b"", message_id="m1")
        await mail.until(mail.lot, 1)
    assert inbox.items == [[], mail.tiers[:1], mail.tiers[1:]]
    (parked,) = await mail.take(mail.lot)
    assert parked.headers["x-mqkit-queue"] == mail.queue
    assert parked.headers["x-mqkit-attempt"] == 3
    return parked


@TRANSPORTS
async def test_a_failed_message_goes_by_the_names_that_the_policy_gives(
    mail: Mail, inbox: Any, transport: str
) -> None:
    topology = loads(f"queues:\n  {mail.queue}:\n    retry: {mail.retry()}\n")
    parked = await fail_until_parked(mail, mail.app(topology, transport=transport), inbox)
    assert parked.headers["x-mqkit-parked-reason"] == "still failing after 2 retries"


@TRANSPORTS
@pytest.mark.parametrize("kind", ["external: true", "type: classic"])
async def test_a_lot_that_is_there_already_is_used_as_it_is(
    mail: Mail, inbox: Any, transport: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    await mail.declare(Queue(mail.lot, arguments={"x-queue-type": "classic"}))
    topology = loads(
        f"queues:\n  {mail.queue}:\n    retry: {mail.retry()}\n  {mail.lot}: {{{kind}}}\n"
    )
    await fail_until_parked(mail, mail.app(topology, transport=transport), inbox)
    assert "not declared" not in caplog.text


NOTIFICATIONS = """\
exchanges:
  {0.dlx}: {{type: direct}}
queues:
  {0.queue}:
    arguments: {{x-max-length: 2}}
    dead_letter: {{exchange: {0.dlx}, key: {0.lot}}}
    retry: {1}
  {0.lot}:
    bind: [{{from: {0.dlx}, key: {0.lot}}}]
"""


@TRANSPORTS
async def test_the_queues_of_the_notification_service_take_a_retry_policy_as_they_are(
    mail: Mail, inbox: Any, transport: str, caplog: pytest.LogCaptureFixture
) -> None:
    dead = {"x-dead-letter-exchange": mail.dlx, "x-dead-letter-routing-key": mail.lot}
    await mail.declare(
        *(Exchange(mail.dlx), Queue(mail.lot), Binding(mail.dlx, mail.lot, mail.lot)),
        Queue(mail.queue, arguments={"x-max-length": 2, **dead}),
    )
    # One too many: the broker itself puts the oldest into the lot.
    await mail.put(mail.queue, "m1", "m2", "m3")
    await mail.until(mail.lot, 1)
    topology = loads(NOTIFICATIONS.format(mail, mail.retry()))
    app = mail.app(topology, transport=transport)

    @app.consumer(mail.queue)
    async def handle(delivery: Delivery) -> None:
        raise ValueError("no such address")

    async with app:
        await mail.until(mail.lot, 3)
    assert "not declared" not in caplog.text
    link = mail.link(topology)
    seen = {it.message_id: it for it in await peek(link, mail.lot, Choice())}
    assert {it.queue for it in seen.values()} == {mail.queue}
    assert [seen[each].reason for each in ("m1", "m2")] == [
        "the queue was full",
        "still failing after 2 retries",
    ]
    report = await replay(link, ReplayRequest(mail.lot, Choice(limit=2)))
    assert (report.replayed, report.to, report.stopped) == (2, mail.queue, "")
    assert len(await mail.take(mail.queue)) == 2


async def test_a_shared_lot_gives_each_message_back_to_its_own_queue(
    mail: Mail, unique: Callable[[str], str]
) -> None:
    sms, other = unique("sms-queue"), unique("sms-queue.wait.{after}")
    topology = loads(
        f"queues:\n  {mail.queue}:\n    retry: {mail.retry()}\n"
        f"  {sms}:\n    max_length: 1\n"
        f'    retry: {{after: [10ms], park: "{mail.lot}", tiers: "{other}"}}\n'
    )
    unique("sms-queue.wait.10ms")
    app = mail.app(topology)

    @app.consumer(mail.queue)
    async def handle(delivery: Delivery) -> None:
        raise mqkit.Park("by hand")

    async with app:
        await app.wait_ready(WAIT_S)
        await mail.put(mail.queue, "mail")
        await mail.put(sms, "sms", "too many")
        await mail.until(mail.lot, 2)
    await mail.put(mail.lot, "stray")
    link = mail.link(topology)
    (lot,) = await ls(link, [mail.lot, mail.queue, sms])
    assert (lot.messages, lot.queue) == (3, "")
    dry = await replay(link, ReplayRequest(mail.lot, dry_run=True))
    report = await replay(link, ReplayRequest(mail.lot))
    for found in (dry, report):
        assert (found.replayed, found.kept, found.to) == (2, 1, None)
        assert found.reason.startswith("message stray: nobody recorded the queue")
    assert [it.message_id for it in await mail.take(mail.queue)] == ["mail"]
    # The queue takes one: what came back pushed the other one out.
    await mail.until(mail.lot, 2)
    assert [it.message_id for it in await mail.take(mail.lot)] == ["stray", "too many"]
    assert [it.message_id for it in await mail.take(sms)] == ["sms"]


async def test_a_consumer_of_a_named_lot_reads_the_history_of_what_failed(
    mail: Mail, inbox: Any
) -> None:
    topology = loads(f"queues:\n  {mail.queue}:\n    retry: {mail.retry()}\n")
    await mail.declare(Exchange(mail.dlx))
    app = mail.app(topology)

    @app.consumer(mail.queue)
    async def handle(delivery: Delivery) -> None:
        raise mqkit.Park("by hand")

    @app.consumer(mail.lot)
    async def look(delivery: Delivery) -> None:
        inbox.add((delivery.original_exchange, delivery.original_routing_key))

    async with app:
        await app.wait_ready(WAIT_S)
        await mail.declare(Binding(mail.dlx, mail.queue, "welcome"))
        assert await app.publish(mail.dlx, "welcome", b"")
        await inbox.until(1)
    assert inbox.items == [(mail.dlx, "welcome")]


async def test_a_retry_queue_of_per_message_ttls_is_refused_with_the_reason(
    mail: Mail, caplog: pytest.LogCaptureFixture
) -> None:
    back = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": mail.queue}
    await mail.declare(Queue(mail.retry_queue, arguments=back))
    topology = loads(
        f"queues:\n  {mail.queue}:\n"
        f'    retry: {{after: [10s], park: "{mail.lot}", tiers: "{mail.retry_queue}"}}\n'
    )
    app = mail.app(topology)
    async with app:
        await app.wait_ready(WAIT_S)
    (told,) = [it.getMessage() for it in caplog.records if "is not declared" in it.getMessage()]
    assert told.startswith(f"{mail.retry_queue} is not declared")
    assert "a queue expires messages only at its head" in told
    assert "{after} in the pattern" in told
