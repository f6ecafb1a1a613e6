"""No turn is long, whatever one user ends: queues with many messages, bindings or consumers, a
connection with much unacked, a virtual host with many queues."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import TypeAlias

from mqkit.wire import Properties, content_frames, method_frame
from mqkit.wire.methods import (
    BasicCancel,
    BasicConsume,
    BasicPublish,
    ChannelClose,
    ConnectionClose,
    ConnectionCloseOk,
    ExchangeDeclare,
    ExchangeDelete,
    Method,
    QueueBind,
    QueueDeclare,
    QueueDeclareOk,
    QueueDelete,
    QueueDeleteOk,
    QueuePurge,
    QueuePurgeOk,
)
from reference_broker.testing.lone_broker import FRAME_MAX, LoneBroker, LoneClient
from reference_broker.testing.two_tenants import TwoTenants

Action: TypeAlias = Callable[[], object]
Played: TypeAlias = Callable[..., TwoTenants]

RUN_UNITS = 260
"""A run of entries of one chunk of the index, which is removed in one step."""


def methods(*all_methods: Method) -> bytes:
    return b"".join(method_frame(1, method) for method in all_methods)


def fill(tenants: TwoTenants, count: int, name: str = "q") -> None:
    tenants.busy.send(1, QueueDeclare(name))
    publish_many(tenants, count, name)


def publish_many(tenants: TwoTenants, count: int, name: str = "q") -> None:
    tenants.busy.send_bytes(
        b"".join(
            content_frames(1, BasicPublish("", name), Properties(), b"%d" % number, FRAME_MAX)
            for number in range(count)
        )
    )


def hold(tenants: TwoTenants) -> None:
    """Have ``busy`` hold all messages of the queue unacked."""
    tenants.busy.send(1, BasicConsume("q", "c"))
    while tenants.busy.output():
        tenants.busy.resume_writing()
    tenants.busy.send(1, BasicCancel("c"))


def test_the_deletion_of_a_queue_with_many_messages(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        fill(tenants, 20_000)
        return partial(tenants.busy.feed, methods(QueueDelete("q")))

    played(arrange, 5, RUN_UNITS)


def test_a_purge_of_many_messages(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        fill(tenants, 20_000)
        return partial(tenants.busy.feed, methods(QueuePurge("q")))

    tenants = played(arrange, 5, RUN_UNITS)
    assert tenants.queues()["q"].counts[-1] == 20_000


def test_the_deletion_of_a_queue_with_many_unacked_messages(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        fill(tenants, 5_000)
        hold(tenants)
        return partial(tenants.busy.feed, methods(QueueDelete("q")))

    played(arrange, 3, RUN_UNITS)


def test_the_end_of_a_connection_with_many_unacked_messages(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        fill(tenants, 5_000)
        hold(tenants)
        return partial(
            tenants.busy.connection.receive_eof, tenants.lone.now_s, tenants.lone.wall_ms
        )

    tenants = played(arrange, 30, 200)
    assert tenants.queues()["q"].bodies == tuple(b"%d" % number for number in range(5_000))


def test_the_end_of_a_channel_with_many_unacked_messages(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        fill(tenants, 5_000)
        hold(tenants)
        return partial(tenants.busy.feed, methods(ChannelClose()))

    played(arrange, 30, 200)


def test_the_end_of_a_connection_with_many_consumers(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        fill(tenants, 1)
        tenants.busy.send(1, *[BasicConsume("q", f"c{number}") for number in range(500)])
        return partial(tenants.busy.feed, method_frame(0, ConnectionClose()))

    played(arrange, 5)


def test_the_end_of_a_channel_with_many_consumers(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        fill(tenants, 1)
        tenants.busy.send(1, *[BasicConsume("q", f"c{number}") for number in range(500)])
        return partial(tenants.busy.feed, methods(ChannelClose()))

    tenants = played(arrange, 5)
    assert not tenants.lone.broker.vhosts["/"].queues["q"].consumers


def test_the_deletion_of_a_queue_with_many_consumers(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        fill(tenants, 1)
        tenants.busy.send(1, *[BasicConsume("q", f"c{number}") for number in range(1_000)])
        return partial(tenants.busy.feed, methods(QueueDelete("q")))

    played(arrange, 5)


def test_the_end_of_a_connection_with_many_exclusive_queues(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        for number in range(500):
            tenants.busy.send(1, QueueDeclare(f"q{number}", exclusive=True))
        return partial(tenants.busy.feed, method_frame(0, ConnectionClose()))

    tenants = played(arrange, 40)
    assert tenants.queues() == {}


def bind_many(tenants: TwoTenants, count: int) -> None:
    tenants.busy.send(1, QueueDeclare("q"), ExchangeDeclare("x"))
    tenants.busy.send(1, *[QueueBind("q", "x", f"k{number}") for number in range(count)])


def test_the_deletion_of_an_exchange_with_many_bindings(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        bind_many(tenants, 2_000)
        return partial(tenants.busy.feed, methods(ExchangeDelete("x")))

    tenants = played(arrange, 20)
    assert len(tenants.lone.broker.vhosts["/"].bindings()) == 1, "but for the implicit one"


def test_the_deletion_of_a_queue_with_many_bindings(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        bind_many(tenants, 2_000)
        return partial(tenants.busy.feed, methods(QueueDelete("q")))

    tenants = played(arrange, 20)
    assert tenants.lone.broker.vhosts["/"].bindings() == []


def test_the_deletion_of_a_virtual_host_with_many_queues(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        lone = tenants.lone
        lone.add_vhost("v")
        client = lone.client(vhost="v")
        for number in range(500):
            client.send(1, QueueDeclare(f"q{number}", durable=True))
        client.disconnect()

        def delete() -> None:
            lone.broker.begin(lone.now_s, lone.wall_ms)
            lone.broker.delete_vhost("v")
            lone.broker.finish()

        return delete

    tenants = played(arrange, 40)
    assert "v" not in tenants.lone.broker.vhosts


def test_many_queues_that_expire_at_once(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        for number in range(500):
            tenants.busy.send(1, QueueDeclare(f"q{number}", arguments={"x-expires": 1_000}))
        lone = tenants.lone
        lone.now_s += 2
        lone.wall_ms += 2_000
        return partial(lone.broker.tick, lone.now_s, lone.wall_ms)

    tenants = played(arrange, 10)
    assert tenants.queues() == {}


def test_many_deliveries_that_time_out_together(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        lone = tenants.lone
        tenants.busy.send(1, QueueDeclare("q", arguments={"x-consumer-timeout": 10_000}))
        publish_many(tenants, 5_000)
        tenants.busy.send(1, BasicConsume("q", "c"))
        while tenants.busy.output():
            tenants.busy.resume_writing()
        lone.pass_time(9.0)
        lone.now_s += 4.0
        lone.wall_ms += 4_000
        return partial(lone.broker.tick, lone.now_s, lone.wall_ms)

    tenants = played(arrange, 30, 200)
    assert tenants.queues()["q"].bodies == tuple(b"%d" % number for number in range(5_000))
    assert not tenants.lone.broker.vhosts["/"].queues["q"].consumers


def test_many_channels_that_end_together(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        busy = tenants.lone.client(channels=range(1, 501))
        fill(tenants, 1)
        for number in range(1, 501):
            busy.send(number, *[BasicConsume("q", f"c{each}") for each in range(10)])
        return partial(busy.connection.receive_eof, tenants.lone.now_s, tenants.lone.wall_ms)

    tenants = played(arrange, 50)
    assert not tenants.lone.broker.vhosts["/"].queues["q"].consumers


def test_purge_ok_has_the_count_of_when_it_was_asked() -> None:
    tenants = TwoTenants()
    fill(tenants, 5_000)
    other = tenants.lone.client()
    tenants.bound(50)
    tenants.busy.feed(methods(QueuePurge("q")))
    other.feed(content_frames(1, BasicPublish("", "q"), Properties(), b"later", FRAME_MAX))
    assert tenants.told() == []

    tenants.play(bool)

    assert [received.method for received in tenants.told()] == [QueuePurgeOk(5_000)]
    assert tenants.queues()["q"].bodies == (b"later",)


def test_close_ok_comes_when_all_is_back() -> None:
    tenants = TwoTenants()
    fill(tenants, 5_000)
    tenants.busy.send(1, QueueDeclare("mine", exclusive=True), BasicConsume("q", "c"))
    while tenants.busy.output():
        tenants.busy.resume_writing()
    tenants.bound(50)
    queues = tenants.lone.broker.vhosts["/"].queues
    queue = queues["q"]
    assert queue.unacked == 5_000
    tenants.busy.feed(method_frame(0, ConnectionClose(200)))
    turns = 0
    while not (told := tenants.told()):
        assert queue.unacked or queue.returning or "mine" in queues
        tenants.turn()
        turns += 1

    assert turns > 10
    assert [received.method for received in told] == [ConnectionCloseOk()]
    assert (queue.ready, queue.unacked, list(queues)) == (5_000, 0, ["q"])
    tenants.busy.disconnect()
    assert tenants.busy.connection.closed


def test_who_leaves_before_all_is_back_gets_no_answer() -> None:
    tenants = TwoTenants()
    fill(tenants, 5_000)
    tenants.busy.send(1, BasicConsume("q", "c"))
    while tenants.busy.output():
        tenants.busy.resume_writing()
    tenants.bound(50)
    tenants.busy.feed(method_frame(0, ConnectionClose(200)))
    tenants.busy.disconnect()
    tenants.play(bool)

    assert tenants.told() == []
    assert tenants.lone.broker.vhosts["/"].queues["q"].ready == 5_000


def test_delete_ok_comes_when_all_is_done() -> None:
    tenants = TwoTenants()
    bind_many(tenants, 1_000)
    fill(tenants, 5_000)
    tenants.bound(50)
    vhost = tenants.lone.broker.vhosts["/"]
    queue = vhost.queues["q"]
    tenants.busy.feed(methods(QueueDelete("q")))
    turns = 0
    while not (told := tenants.told()):
        tenants.turn()
        turns += 1

    assert turns > 10
    assert [received.method for received in told] == [QueueDeleteOk(5_000)]
    assert (queue.ready, vhost.bindings(), vhost.queues) == (0, [], {})


def ending_together(count: int) -> tuple[LoneBroker, list[LoneClient], LoneClient]:
    """As many clients, each with an exclusive queue and a share in another one, and one that stays;
    all of them are lost within one turn of 100 units."""
    lone = LoneBroker()
    staying = lone.client()
    staying.send(1, QueueDeclare("shared"))
    clients = [lone.client() for _ in range(count)]
    for number, client in enumerate(clients):
        client.send(1, QueueDeclare(f"own{number}", exclusive=True), BasicConsume("shared"))
        client.received()
    staying.received()
    lone.broker.budget.units = 100
    lone.turn()
    for client in clients:
        client.connection.receive_eof(lone.now_s, lone.wall_ms)
    lone.note_units()
    return lone, clients, staying


def test_many_connections_that_end_in_one_turn_end_some_in_each() -> None:
    lone, _, _ = ending_together(100)
    left = [len(lone.broker.connections)]
    while not lone.turn():
        left.append(len(lone.broker.connections))
    assert left[0] > 90
    assert all(before - after < 10 for before, after in pairwise(left))
    assert lone.overdrawn <= 100
    assert len(lone.broker.connections) == 1
    assert list(lone.broker.vhosts["/"].queues) == ["shared"]


def test_a_connection_that_waits_for_its_end_has_no_exclusive_queue_and_gets_nothing() -> None:
    lone, clients, staying = ending_together(20)
    assert clients[-1].connection.end_reason == "client closed the TCP connection"
    staying.feed(content_frames(1, BasicPublish("", "shared"), Properties(), b"", FRAME_MAX))
    staying.feed(methods(QueueDeclare("own19")))
    told: list[Method] = []
    while not lone.turn():
        assert lone.broker.vhosts["/"].queues["shared"].unacked == 0
        told += staying.methods()
    told += staying.methods()
    assert told == [QueueDeclareOk("own19", 0, 0)]
    assert lone.broker.vhosts["/"].queues["own19"].owner is None
    assert lone.broker.vhosts["/"].queues["shared"].ready == 1
