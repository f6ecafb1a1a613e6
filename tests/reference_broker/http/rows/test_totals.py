"""Sums over everything, read a step at a time: never less than before, whatever ends meanwhile."""

from __future__ import annotations

import random

import pytest

from mqkit.wire import Properties
from mqkit.wire.methods import BasicConsume, BasicGet, ChannelClose, QueueDeclare, QueueDelete
from reference_broker.core.exchange.definitions import QueueDefinition
from reference_broker.core.message.content import Content
from reference_broker.core.remote.ports import Counts
from reference_broker.core.vhost.traffic import Traffic
from reference_broker.http.rows.message import header_of
from reference_broker.http.rows.totals import Totals, VHostTotals, sum_of
from reference_broker.testing.homes.scripted_home import ScriptedHome
from reference_broker.testing.lone_broker import LoneBroker, LoneClient

QUEUES = 20


def busy(lone: LoneBroker, channels: int = 3) -> LoneClient:
    """A message in each queue, each published and got on one of several channels."""
    client = lone.client(channels=tuple(range(1, channels + 1)))
    for number in range(QUEUES):
        channel = number % channels + 1
        client.send(channel, QueueDeclare(f"q{number}"))
        client.publish(f"q{number}", channel=channel)
        client.publish(f"q{number}", channel=channel)
        client.send(channel, BasicGet(f"q{number}", no_ack=True))
    client.received()
    return client


def read(lone: LoneBroker) -> Totals:
    totals = Totals(lone.broker)
    list(totals.read())
    return totals


def test_a_step_is_an_object() -> None:
    lone = LoneBroker()
    client = busy(lone)
    client.send(1, BasicConsume("q0", "c"), BasicConsume("q0", "d"))
    totals = Totals(lone.broker)
    objects = QUEUES + 1 + 3
    assert objects <= len(list(totals.read())) <= objects + 5
    whole = totals.by_vhost["/"]
    assert (whole.ready + whole.unacked, whole.unacked, whole.consumers) == (QUEUES, 1, 2)
    assert (whole.traffic.publish, whole.traffic.get_no_ack) == (2 * QUEUES, QUEUES)
    assert whole.data == (client.connection.received_bytes, client.connection.sent_bytes)
    assert (totals.whole, totals.publishers) == (whole, 3)


def test_virtual_hosts_that_nobody_uses_cost_no_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are added up at once: 5,000 of them were a turn of 57 ms, every five seconds."""
    lone = LoneBroker()
    busy(lone)
    for number in range(200):
        lone.add_vhost(f"{number}")
    sums, plus = 0, Traffic.plus

    def counted(self: Traffic, other: Traffic) -> Traffic:
        nonlocal sums
        sums += 1
        return plus(self, other)

    monkeypatch.setattr(Traffic, "plus", counted)
    assert len(read(lone).by_vhost) == 201
    assert 0 < sums < 10


@pytest.mark.parametrize("seed", range(30))
def test_counters_do_not_fall_by_what_ends_between_two_steps(seed: int) -> None:
    rng, lone = random.Random(seed), LoneBroker()
    clients = [busy(lone) for _ in range(3)]
    before = read(lone)
    totals = Totals(lone.broker)
    for _ in totals.read():
        if not clients or rng.random() < 0.8:
            continue
        client, kind = rng.choice(clients), rng.randrange(3)
        if kind == 0:
            client.send(1, QueueDelete(f"q{rng.randrange(QUEUES)}"))
        elif kind == 1 and 3 in client.connection.channels:
            client.send(3, ChannelClose(200, "", 0, 0))
        else:
            clients.remove(client)
            client.disconnect()
    after = read(lone)
    for earlier, later in ((before, totals), (totals, after)):
        assert_not_less(earlier.whole.traffic, later.whole.traffic)
        for queue_type, traffic in earlier.by_queue_type.items():
            assert_not_less(traffic, later.by_queue_type[queue_type])
        for octets, more in zip(earlier.whole.data, later.whole.data, strict=True):
            assert octets <= more
    assert totals.whole.traffic.publish == after.whole.traffic.publish == 6 * QUEUES


def assert_not_less(earlier: Traffic, later: Traffic) -> None:
    assert all(count <= more for count, more in zip(earlier, later, strict=True))


def test_lengths_are_of_queues_that_are_there() -> None:
    lone = LoneBroker()
    client = busy(lone)
    totals = Totals(lone.broker)
    steps = totals.read()
    for _ in range(5):
        next(steps)
    for number in (0, 1, 19):
        client.send(1, QueueDelete(f"q{number}"))
    list(steps)
    assert totals.whole.ready == QUEUES - 3


def test_a_virtual_host_that_goes_meanwhile_is_in_the_broker() -> None:
    lone = LoneBroker()
    busy(lone).disconnect()
    totals = Totals(lone.broker)
    steps = totals.read()
    next(steps)
    lone.broker.begin(lone.now_s, lone.wall_ms)
    lone.broker.delete_vhost("/")
    lone.broker.finish()
    list(steps)
    assert totals.by_vhost == {}
    assert totals.whole.traffic.publish == 2 * QUEUES


def test_sums_of_several() -> None:
    one = VHostTotals(Traffic(publish=1), (1, 2), 3, 4, 5)
    assert sum_of([one, one], Traffic(ack=7)) == VHostTotals(
        Traffic(publish=2, ack=7), (2, 4), 6, 8, 10
    )


def test_a_queue_of_another_node_is_not_in_the_sums() -> None:
    lone = LoneBroker()
    busy(lone)
    before = read(lone)
    vhost, home = lone.broker.vhosts["/"], ScriptedHome()
    vhost.enter_queue(QueueDefinition(7, "elsewhere", False, {}), home)
    client = lone.client()
    client.send(1, BasicConsume("elsewhere", "c", no_ack=True))
    home.takers[1].attached()
    lone.complete()
    content = Content(b"\x00\x09elsewhere", header_of(Properties(), b"x"), b"x")
    lone.take(lambda: home.takers[1].deliver(1, False, content))
    queue = vhost.queues["elsewhere"]
    assert (queue.delivered, len(queue.consumers)) == (1, 1)
    after = read(lone)
    assert after.whole.queues == before.whole.queues == QUEUES
    assert after.whole.consumers == before.whole.consumers
    assert after.by_queue_type == before.by_queue_type
    assert after.whole.traffic.deliver_no_ack == 1  # of the channel, which is here
    client.send(1, QueueDelete("elsewhere"))
    lone.complete()
    lone.take(lambda: home.answer(Counts(0, 0, 0, 0)))
    assert queue.deleted
    assert read(lone).by_queue_type == before.by_queue_type
