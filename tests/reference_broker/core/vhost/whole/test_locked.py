"""A virtual host in which somebody else has the right to declare, as its clients see it."""

from __future__ import annotations

import pytest

from mqkit.wire import method_frame
from mqkit.wire.methods import (
    BasicConsume,
    BasicConsumeOk,
    BasicDeliver,
    ChannelClose,
    ExchangeBind,
    ExchangeBindOk,
    ExchangeDeclare,
    ExchangeDeclareOk,
    ExchangeDelete,
    ExchangeDeleteOk,
    ExchangeUnbind,
    ExchangeUnbindOk,
    Method,
    QueueBind,
    QueueBindOk,
    QueueDeclare,
    QueueDeclareOk,
    QueueDelete,
    QueueDeleteOk,
    QueueUnbind,
    QueueUnbindOk,
)
from reference_broker.core.policy.policy import PolicyKind
from reference_broker.core.policy.policy_validation import PolicyWish
from reference_broker.core.work.until import NotYet
from reference_broker.testing.lone_broker import LoneBroker

WISH = PolicyWish.parse(PolicyKind.USER, "p", {"pattern": "", "definition": {"expires": 9}})


@pytest.fixture
def lone() -> LoneBroker:
    lone = LoneBroker()
    lone.add_vhost("free")
    client = lone.client()
    client.send(1, QueueDeclare("there"), ExchangeDeclare("x"), QueueBind("there", "x", "k"))
    client.send(1, ExchangeBind("amq.direct", "x", "k"))
    client.send_bytes(b"")
    return lone


@pytest.mark.parametrize(
    ("method", "ok"),
    [
        (QueueDeclare("new"), QueueDeclareOk("new", 0, 0)),
        (QueueDeclare("new", exclusive=True), QueueDeclareOk("new", 0, 0)),
        (QueueDelete("there"), QueueDeleteOk(0)),
        (QueueDelete("missing"), QueueDeleteOk(0)),
        (QueueBind("there", "x", "other"), QueueBindOk()),
        (QueueUnbind("there", "x", "k"), QueueUnbindOk()),
        (ExchangeDeclare("new"), ExchangeDeclareOk()),
        (ExchangeDelete("x"), ExchangeDeleteOk()),
        (ExchangeBind("amq.direct", "x", "other"), ExchangeBindOk()),
        (ExchangeUnbind("amq.direct", "x", "k"), ExchangeUnbindOk()),
    ],
)
def test_who_declares_there_waits_and_goes_on_after(
    lone: LoneBroker, method: Method, ok: Method
) -> None:
    client, free = lone.client(), lone.client(vhost="free")
    free.send(1, QueueDeclare("there"), ExchangeDeclare("x"))
    free.received()
    lock = lone.broker.locks.take(["/"])
    version = lone.broker.vhosts["/"].topology_version

    client.send(1, method)
    free.send(1, method)
    assert (client.methods(), free.methods()) == ([], [ok])
    assert lone.broker.vhosts["/"].topology_version == version

    lone.broker.locks.release(lock)
    lone.complete()
    assert client.methods() == [ok]


def test_what_changes_nothing_goes_on(lone: LoneBroker) -> None:
    client = lone.client(channels=(1, 2))
    lone.broker.locks.take(["/"])
    client.send(
        1,
        QueueDeclare("there", passive=True),
        ExchangeDeclare("x", passive=True),
        QueueDeclare("there"),
        ExchangeDeclare("x"),
        BasicConsume("there", "c", no_ack=True),
    )
    client.publish("k", exchange="x", channel=2)
    assert [type(method) for method in client.methods()] == [
        QueueDeclareOk,
        ExchangeDeclareOk,
        QueueDeclareOk,
        ExchangeDeclareOk,
        BasicConsumeOk,
        BasicDeliver,
    ]


def test_a_name_that_is_not_there_yet_is_waited_for(lone: LoneBroker) -> None:
    vhost, locks = lone.broker.vhosts["/"], lone.broker.locks
    client, other = lone.client(), lone.client()
    lock = locks.take(["/"])
    client.send(1, QueueDeclare("new", passive=True))
    other.send(1, ExchangeDeclare("new", passive=True))
    assert client.methods() == other.methods() == []

    with locks.holder_works():
        vhost.declare_queue("new")
    locks.release(lock)
    lone.complete()
    assert client.methods() == [QueueDeclareOk("new", 0, 0)]
    assert [type(method) for method in other.methods()] == [ChannelClose]


def test_what_follows_stays_in_order_and_other_channels_go_on(lone: LoneBroker) -> None:
    client = lone.client(channels=(1, 2))
    lock = lone.broker.locks.take(["/"])
    client.send(1, QueueDeclare("new"), BasicConsume("new", "c"), QueueDeclare("there"))
    client.send(2, QueueDeclare("there", passive=True))
    assert client.methods() == [QueueDeclareOk("there", 0, 0)]

    lone.broker.locks.release(lock)
    lone.complete()
    answers = [QueueDeclareOk("new", 0, 0), BasicConsumeOk("c"), QueueDeclareOk("there", 0, 0)]
    assert client.methods() == answers


def test_a_channel_that_waits_may_fail_with_its_connection(lone: LoneBroker) -> None:
    client = lone.client()
    lock = lone.broker.locks.take(["/"])
    client.feed(method_frame(1, QueueDeclare("new")))
    client.connection.drop("gone")
    lone.broker.locks.release(lock)
    lone.complete()
    assert "new" not in lone.broker.vhosts["/"].queues


def test_policies_and_the_virtual_host_itself_wait_too(lone: LoneBroker) -> None:
    broker = lone.broker
    vhost = broker.vhosts["/"]
    vhost.policies.set(PolicyKind.USER, "old", WISH)
    lock = broker.locks.take(["/", "coming"])
    for change in (
        lambda: vhost.policies.set(PolicyKind.USER, "p", WISH),
        lambda: vhost.policies.remove(PolicyKind.USER, "old"),
        lambda: broker.add_vhost("/"),
        lambda: broker.add_vhost("coming"),
        lambda: broker.delete_vhost("/"),
    ):
        with pytest.raises(NotYet):
            change()
    assert [policy.name for policy in vhost.policies.of(PolicyKind.USER)] == ["old"]
    assert not vhost.is_leaving

    broker.locks.release(lock)
    broker.delete_vhost("/")
    lone.complete()
    assert list(broker.vhosts) == ["free"]


def test_what_goes_by_itself_goes(lone: LoneBroker) -> None:
    client = lone.client()
    client.send(1, QueueDeclare("mine", exclusive=True), QueueDeclare("auto", auto_delete=True))
    client.send(1, BasicConsume("auto", "c"))
    lone.broker.locks.take(["/"])
    client.connection.drop("gone")
    lone.complete()
    assert list(lone.broker.vhosts["/"].queues) == ["there"]
