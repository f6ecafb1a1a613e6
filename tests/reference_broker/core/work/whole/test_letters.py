"""Dead letters have no end of a turn to themselves: chains, forks and cycles go on in later ones,
hold few messages, recurse nowhere, and can be stopped."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import pytest

from mqkit.wire import Properties, content_frames, method_frame
from mqkit.wire.methods import (
    BasicCancel,
    BasicConsume,
    BasicNack,
    BasicPublish,
    ConnectionClose,
    ExchangeDeclare,
    Method,
    QueueBind,
    QueueDeclare,
    QueueDelete,
)
from reference_broker.testing.lone_broker import FRAME_MAX
from reference_broker.testing.two_tenants import TwoTenants

Action: TypeAlias = Callable[[], object]
Played: TypeAlias = Callable[..., TwoTenants]

LEVELS = 12


def methods(*all_methods: Method) -> bytes:
    return b"".join(method_frame(1, method) for method in all_methods)


def publishes(count: int, key: str, **properties: Any) -> bytes:
    return b"".join(
        content_frames(
            1, BasicPublish("", key), Properties(**properties), b"%d" % number, FRAME_MAX
        )
        for number in range(count)
    )


def chain(tenants: TwoTenants, length: int, **arguments: Any) -> None:
    """Queues that dead-letter to the next one; the last one keeps all."""
    table = {"x-" + key.replace("_", "-"): value for key, value in arguments.items()}
    for number in range(length):
        behind = {
            "x-dead-letter-exchange": "",
            "x-dead-letter-routing-key": f"q{number + 1}",
        }
        tenants.busy.send(1, QueueDeclare(f"q{number}", arguments=table | behind))
    tenants.busy.send(1, QueueDeclare(f"q{length}"))


def fork(tenants: TwoTenants, levels: int) -> None:
    """Two queues a level, of which each has no room, and dead-letters to both of the next."""
    for level in range(levels):
        tenants.busy.send(1, ExchangeDeclare(f"x{level}", "fanout"))
        for side in "ab":
            arguments = {"x-max-length": 0, "x-dead-letter-exchange": f"x{level + 1}"}
            tenants.busy.send(
                1,
                QueueDeclare(f"{side}{level}", arguments=arguments),
                QueueBind(f"{side}{level}", f"x{level}"),
            )


def messages(tenants: TwoTenants) -> int:
    queues = tenants.lone.broker.vhosts["/"].queues.values()
    return sum(queue.ready + queue.unacked for queue in queues)


def test_a_chain_of_queues_whose_messages_expire_at_once(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        chain(tenants, 400, message_ttl=0)
        return partial(tenants.busy.feed, publishes(3, "q0"))

    tenants = played(arrange, 60)
    assert [len(state.bodies) for state in tenants.queues().values()] == [0] * 400 + [3]


def test_a_chain_of_queues_without_room(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        chain(tenants, 150, max_length=0)
        return partial(tenants.busy.feed, publishes(20, "q0"))

    tenants = played(arrange, 200)
    in_order = tuple(b"%d" % number for number in range(20))
    assert tenants.queues()["q150"].bodies == in_order


def test_a_chain_of_queues_that_refuse_does_not_recurse(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        chain(tenants, 1_500, max_length=0, overflow="reject-publish-dlx")
        return partial(tenants.busy.feed, publishes(1, "q0"))

    tenants = played(arrange, 100)
    assert tenants.queues()["q1500"].bodies == (b"0",)


def test_a_cycle_of_queues_without_room_ends(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        chain(tenants, 2, max_length=0)
        tenants.busy.send(1, QueueDelete("q2"))
        arguments = {
            "x-max-length": 0,
            "x-dead-letter-exchange": "",
            "x-dead-letter-routing-key": "q0",
        }
        tenants.busy.send(1, QueueDeclare("q2", arguments=arguments))
        return partial(tenants.busy.feed, publishes(100, "q0"))

    tenants = played(arrange, 20)
    assert messages(tenants) == 0
    assert tenants.lone.broker.vhosts["/"].dead_letters.cycles == 100


def test_many_messages_that_expire_at_once(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        chain(tenants, 1)
        tenants.busy.send_bytes(publishes(2_000, "q0", expiration="1000"))
        lone = tenants.lone
        lone.now_s += 2
        lone.wall_ms += 2_000
        return partial(lone.broker.tick, lone.now_s, lone.wall_ms)

    tenants = played(arrange, 100)
    assert len(tenants.queues()["q1"].bodies) == 2_000


def unacked(tenants: TwoTenants, count: int) -> None:
    tenants.busy.send_bytes(publishes(count, "q0"))
    tenants.busy.send(1, BasicConsume("q0", "c"))
    while tenants.busy.output():
        tenants.busy.resume_writing()
    tenants.busy.send(1, BasicCancel("c"))


def test_a_nack_of_many_into_a_dead_letter_exchange(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        chain(tenants, 1)
        unacked(tenants, 2_000)
        return partial(tenants.busy.feed, methods(BasicNack(0, True, False)))

    tenants = played(arrange, 100)
    assert tenants.queues()["q1"].bodies == tuple(b"%d" % number for number in range(2_000))


def test_a_nack_of_many_into_a_dead_letter_fanout(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        tenants.busy.send(
            1,
            ExchangeDeclare("all", "fanout"),
            QueueDeclare("q0", arguments={"x-dead-letter-exchange": "all"}),
        )
        for number in range(200):
            tenants.busy.send(1, QueueDeclare(f"t{number}"), QueueBind(f"t{number}", "all"))
        unacked(tenants, 50)
        return partial(tenants.busy.feed, methods(BasicNack(0, True, False)))

    tenants = played(arrange, 100, 200)
    in_order = tuple(b"%d" % number for number in range(50))
    assert {state.bodies for state in tenants.queues().values()} == {(), in_order}


def test_a_fork_holds_two_messages_a_level_and_ends(played: Played) -> None:
    def arrange(tenants: TwoTenants) -> Action:
        fork(tenants, 7)
        return partial(
            tenants.busy.feed, content_frames(1, BasicPublish("x0"), Properties(), b"m", FRAME_MAX)
        )

    tenants = played(arrange, 20)
    assert messages(tenants) == 0
    assert sum(state.counts[0] for state in tenants.queues().values()) == 2**8 - 2


@pytest.fixture
def forking() -> TwoTenants:
    """A fork of twelve levels, with a message on its way."""
    tenants = TwoTenants()
    fork(tenants, LEVELS)
    tenants.bound(300)
    tenants.busy.feed(content_frames(1, BasicPublish("x0"), Properties(), b"m", FRAME_MAX))
    return tenants


def test_a_fork_never_holds_more_than_its_levels_do(forking: TwoTenants) -> None:
    most = 0
    for _ in range(100):
        assert not forking.turn(), "it takes hundreds of turns"
        most = max(most, messages(forking))
    assert LEVELS - 2 <= most <= 2 * LEVELS
    assert forking.longest_wait <= 2


def test_deleting_the_queues_of_a_fork_ends_it(forking: TwoTenants) -> None:
    for _ in range(50):
        forking.turn()
    names = [f"{side}{level}" for level in range(LEVELS) for side in "ab"]

    def pass_time() -> None:  # nobody waits longer than REST_S for a queue that is kept busy
        forking.lone.now_s += 0.005

    deletes = methods(*[QueueDelete(name) for name in names])
    turns = forking.play(partial(forking.busy.feed, deletes), pass_time)
    assert forking.queues() == {}
    assert turns < 100
    assert len(forking.told()) == len(names)


def test_a_broker_with_a_fork_is_stopped_as_any_other(forking: TwoTenants) -> None:
    for _ in range(50):
        forking.turn()
    lone = forking.lone
    lone.broker.close("shutdown", lone.now_s, lone.wall_ms)
    assert [type(received.method) for received in forking.told()] == [ConnectionClose]


def test_a_fork_stops_neither_who_rejects_beside_it_nor_a_limit_that_drops() -> None:
    tenants = TwoTenants()
    beside = tenants.lone.client()
    dead = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
    beside.send(1, QueueDeclare("dead"), QueueDeclare("mine", arguments=dead))
    beside.send(1, QueueDeclare("short", arguments={"x-max-length": 3}))
    beside.send_bytes(publishes(5, "mine") + methods(BasicConsume("mine", "c")))
    beside.received()
    fork(tenants, LEVELS)
    tenants.bound(300)
    tenants.busy.feed(content_frames(1, BasicPublish("x0"), Properties(), b"m", FRAME_MAX))
    for _ in range(5):
        tenants.turn()
    queues = tenants.lone.broker.vhosts["/"].queues
    beside.feed(methods(BasicNack(0, True, False)) + publishes(20, "short"))
    for _ in range(5):
        assert not tenants.turn(), "the fork has hundreds of turns to go"

    assert (queues["dead"].ready, queues["short"].ready) == (5, 3)


def test_a_letter_that_is_rejected_beside_a_fork_is_followed_to_its_end() -> None:
    tenants = TwoTenants()
    beside = tenants.lone.client()
    chain(tenants, 20, max_length=0)
    first = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "q0"}
    beside.send(1, QueueDeclare("mine", arguments=first))
    beside.send_bytes(publishes(5, "mine") + methods(BasicConsume("mine", "c")))
    fork(tenants, LEVELS)
    tenants.bound(300)
    tenants.busy.feed(content_frames(1, BasicPublish("x0"), Properties(), b"m", FRAME_MAX))
    for _ in range(5):
        tenants.turn()
    queues = tenants.lone.broker.vhosts["/"].queues
    beside.feed(methods(BasicNack(0, True, False)))
    most = 0
    while queues["q20"].ready < 5:
        assert not tenants.turn()
        most = max(most, sum(queues[f"q{number}"].ready for number in range(20)))

    assert most <= 1, "one letter is on its way at a time"
