"""The deletion of a queue: gone by name at once, what it held in portions; and queues that go by
themselves, many at once."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from mqkit.wire import method_frame
from mqkit.wire.methods import (
    BasicCancel,
    BasicConsume,
    BasicNack,
    ChannelClose,
    ExchangeDeclare,
    Method,
    QueueBind,
    QueueDeclare,
    QueueDeclareOk,
    QueueDelete,
    QueueDeleteOk,
)
from reference_broker.testing.lone_broker import LoneBroker, LoneClient

COUNT = 60


class Rig:
    """A broker with a turn of 50 units, and two clients; what was done before had no bound."""

    def __init__(self, prepare: Callable[[LoneClient], None]) -> None:
        self.lone = LoneBroker()
        self.client, self.other = self.lone.client(), self.lone.client()
        prepare(self.client)
        self.client.received()
        self.lone.broker.budget.units = 50
        self.lone.turn()
        self.queues = self.lone.broker.vhosts["/"].queues


def methods(*all_methods: Method) -> bytes:
    return b"".join(method_frame(1, method) for method in all_methods)


def test_it_is_gone_by_name_at_once_and_those_who_consume_hear_it_last() -> None:
    def prepare(client: LoneClient) -> None:
        client.send(1, QueueDeclare("q"), ExchangeDeclare("x"))
        client.send(1, *[QueueBind("q", "x", f"{number}") for number in range(200)])
        for _ in range(30):
            client.publish("q")
        client.send(1, BasicConsume("q", "c"))

    rig = Rig(prepare)
    rig.other.feed(methods(QueueDelete("q")))
    assert "q" not in rig.queues
    assert (rig.client.methods(), rig.other.methods()) == ([], []), "bindings are still to go"
    while not (told := rig.other.methods()):
        assert rig.client.methods() == []
        rig.lone.turn()
    rig.lone.complete()

    assert told == [QueueDeleteOk(0)]
    assert rig.client.methods() == [BasicCancel("c", True)]


def expiring(client: LoneClient) -> None:
    for number in range(COUNT):
        client.send(1, QueueDeclare(f"q{number}", arguments={"x-expires": 1_000}))


def let_expire(rig: Rig) -> None:
    rig.lone.now_s += 2
    rig.lone.wall_ms += 2_000
    rig.lone.broker.tick(rig.lone.now_s, rig.lone.wall_ms)


def auto_deleted(client: LoneClient) -> None:
    for number in range(COUNT):
        client.send(1, QueueDeclare(f"q{number}", auto_delete=True))
        client.send(1, BasicConsume(f"q{number}"))


def disconnect(rig: Rig) -> None:
    rig.client.connection.receive_eof(rig.lone.now_s, rig.lone.wall_ms)


GO_BY_THEMSELVES = pytest.mark.parametrize(
    ("prepare", "begin"),
    [(expiring, let_expire), (auto_deleted, disconnect)],
    ids=["expired", "auto-delete"],
)


@GO_BY_THEMSELVES
def test_queues_that_go_by_themselves_go_some_in_each_turn(
    prepare: Callable[[LoneClient], None], begin: Callable[[Rig], None]
) -> None:
    rig = Rig(prepare)
    begin(rig)
    counts = [len(rig.queues)]
    while not rig.lone.turn():
        counts.append(len(rig.queues))

    assert counts[0] > COUNT - 10
    assert all(before - after < 10 for before, after in pairwise(counts))
    assert len(rig.queues) == 0


@GO_BY_THEMSELVES
@pytest.mark.parametrize("name", ["q0", "q59"])
def test_who_names_one_of_them_waits_and_meets_it_gone(
    prepare: Callable[[LoneClient], None], begin: Callable[[Rig], None], name: str
) -> None:
    rig = Rig(prepare)
    begin(rig)
    rig.other.feed(methods(QueueDeclare(name), BasicConsume("q58", "c")))
    told: list[Method] = []
    while not rig.lone.turn():
        told += rig.other.methods()
    told += rig.other.methods()

    assert told[0] == QueueDeclareOk(name, 0, 0)
    assert isinstance(told[1], ChannelClose), "and nobody begins to use what is about to go"
    assert told[1].reply_code == 404
    assert list(rig.queues) == [name]


def test_one_that_goes_twice_goes_once() -> None:
    rig = Rig(expiring)
    vhost = rig.lone.broker.vhosts["/"]
    queue = rig.queues["q7"]
    rig.lone.broker.budget.left = 0
    for _ in range(2):
        vhost.queue_expired(queue)
    rig.other.feed(methods(QueueDelete("q7")))
    rig.lone.complete()
    vhost.queue_expired(queue)

    assert rig.other.methods() == [QueueDeleteOk(0)]
    assert len(rig.queues) == COUNT - 1


@pytest.mark.parametrize("requeue", [True, False])
def test_what_is_given_back_to_a_queue_that_goes_is_no_dead_letter(requeue: bool) -> None:
    def prepare(client: LoneClient) -> None:
        arguments = {
            "x-max-length": 0,
            "x-dead-letter-exchange": "",
            "x-dead-letter-routing-key": "dead",
        }
        client.send(1, QueueDeclare("dead"), QueueDeclare("q", arguments=arguments))
        client.send(1, ExchangeDeclare("x"))
        client.send(1, *[QueueBind("q", "x", f"{number}") for number in range(200)])

    rig = Rig(prepare)
    rig.other.send(1, BasicConsume("q", "c"))
    rig.client.publish("q")
    rig.client.feed(methods(QueueDelete("q")))
    rig.lone.broker.budget.refill()
    rig.other.feed(methods(BasicNack(1, requeue=requeue)))
    assert rig.client.methods() == [], "it is just being deleted"
    rig.lone.complete()

    assert rig.client.methods() == [QueueDeleteOk(0)]
    assert rig.queues["dead"].ready == 0
    assert rig.lone.broker.vhosts["/"].dead_letters.sent == 0
