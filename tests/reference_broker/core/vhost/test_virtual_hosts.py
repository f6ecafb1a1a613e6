"""Virtual hosts: made, deleted with everything in them, and there again after a restart."""

from __future__ import annotations

import pytest

from mqkit.wire import PROTOCOL_HEADER, method_frame
from mqkit.wire.methods import (
    BasicConsume,
    ChannelOpen,
    ConnectionClose,
    ConnectionOpen,
    ConnectionStartOk,
    ConnectionTuneOk,
    QueueDeclare,
)
from reference_broker.core.access.users import User, UserStore, hash_password
from reference_broker.core.base.vhost_info import VHostInfo
from reference_broker.core.broker import Broker
from reference_broker.core.journal.journal import MemoryJournal
from reference_broker.core.work.budget import CONNECTION_UNITS
from reference_broker.core.work.until import NotYet
from reference_broker.store.liveness.definitions import Definitions
from reference_broker.testing.lone_broker import LoneBroker, LoneClient


class DefiningJournal(MemoryJournal):
    """Has what the log would have after a restart."""

    def __init__(self) -> None:
        super().__init__()
        self.definitions = Definitions()

    def define(self, key: str, value: bytes | None) -> None:
        super().define(key, value)
        self.definitions.define(key, value)

    def restarted(self) -> Broker:
        users = UserStore()
        users.add(User("seed", hash_password(b"x", b"salt")))
        broker = Broker(MemoryJournal(2), users)
        broker.restore(dict(self.definitions.values))
        return broker


def in_vhost(lone: LoneBroker, name: str) -> LoneClient:
    client = lone.socket()
    client.send_bytes(PROTOCOL_HEADER)
    client.send(0, ConnectionStartOk({}, "PLAIN", b"\0guest\0guest"))
    client.send(0, ConnectionTuneOk(10, 131_072, 0), ConnectionOpen(name))
    client.send(1, ChannelOpen())
    client.received()
    return client


def test_it_is_there_after_a_restart_with_its_objects() -> None:
    journal = DefiningJournal()
    broker = LoneBroker(journal).broker
    info = VHostInfo("second", ("a", "b"), True, "quorum", {"max-queues": 7, "max-connections": -1})
    vhost = broker.add_vhost("a/b", info)
    vhost.declare_queue("q", durable=True)
    vhost.declare_exchange("x", "fanout", durable=True)
    vhost.bind("x", "q", "", destination_is_queue=True)
    broker.vhosts["/"].declare_queue("other", durable=True)
    again = journal.restarted()
    assert list(again.vhosts) == ["a/b", "/"]
    assert again.vhosts["a/b"].info == info
    assert list(again.vhosts["a/b"].queues) == ["q"]
    assert len(again.vhosts["a/b"].bindings_from("x")) == 1
    assert list(again.vhosts["/"].queues) == ["other"]
    assert not again.is_new


def test_a_log_of_before_there_were_virtual_hosts() -> None:
    journal = DefiningJournal()
    LoneBroker(journal).broker.vhosts["/"].declare_queue("q", durable=True)
    again = journal.restarted()
    assert again.is_new
    assert list(again.vhosts["/"].queues) == ["q"]
    assert again.access.permission("seed", "/") is not None


def test_an_empty_log_has_the_default_one() -> None:
    assert list(DefiningJournal().restarted().vhosts) == ["/"]


def test_the_default_one_stays_deleted() -> None:
    journal = DefiningJournal()
    broker = LoneBroker(journal).broker
    broker.add_vhost("other")
    broker.delete_vhost("/")
    assert list(journal.restarted().vhosts) == ["other"]


def test_deleting_it_closes_its_connections_and_leaves_nothing() -> None:
    journal = DefiningJournal()
    lone = LoneBroker(journal)
    before = dict(journal.definitions.values)
    lone.broker.add_vhost("gone")
    lone.broker.access.allow_everything("guest", "gone")
    inside, outside = in_vhost(lone, "gone"), lone.client()
    inside.send(1, QueueDeclare("q", durable=True), BasicConsume("q"))
    inside.publish("q")
    inside.received()
    vhost = lone.broker.vhosts["gone"]
    vhost.bind("amq.topic", "amq.fanout", "k", destination_is_queue=False)
    lone.broker.begin(lone.now_s, lone.wall_ms)
    lone.broker.delete_vhost("gone")
    lone.broker.finish()
    [close] = inside.methods()
    assert isinstance(close, ConnectionClose)
    assert (close.reply_code, close.class_id, close.method_id) == (320, 0, 0)
    assert close.reply_text == "CONNECTION_FORCED - vhost 'gone' is deleted"
    assert outside.methods() == []
    assert list(lone.broker.vhosts) == ["/"]
    assert dict(journal.definitions.values) == before
    assert lone.broker.access.permission("guest", "gone") is None


def test_whoever_declares_in_one_that_is_being_deleted_waits_until_it_is_gone() -> None:
    journal = DefiningJournal()
    lone = LoneBroker(journal, units=1)
    broker = lone.broker
    before = dict(journal.definitions.values)
    vhost = broker.add_vhost("v")
    for number in range(20):
        vhost.declare_queue(f"q{number}", durable=True)
    broker.delete_vhost("v")
    turns = 0
    while not lone.turn():
        turns += 1
        if "v" not in broker.vhosts:
            continue  # who waited is told
        for change in (
            lambda: vhost.declare_queue("late", durable=True),
            lambda: vhost.declare_exchange("late", "fanout", durable=True),
            lambda: broker.add_vhost("v"),
            lambda: broker.delete_vhost("v"),
        ):
            with pytest.raises(NotYet):
                change()
        broker.access.allow_everything("guest", "v")
    assert turns > 20
    assert dict(journal.definitions.values) == before
    assert broker.past.queues_deleted == 20
    assert broker.access.permission("guest", "v") is None
    broker.add_vhost("v").declare_queue("late")


def test_a_client_that_declares_in_one_that_is_being_deleted_is_closed_like_the_others() -> None:
    lone = LoneBroker(units=1)
    lone.broker.add_vhost("v")
    lone.broker.access.allow_everything("guest", "v")
    clients = [lone.client(vhost="v") for _ in range(5)]
    lone.broker.delete_vhost("v")
    clients[-1].feed(method_frame(1, QueueDeclare("late", exclusive=True)))
    lone.complete()
    for client in clients:
        [close] = client.methods()
        assert isinstance(close, ConnectionClose)
        client.disconnect()
    lone.complete()
    assert list(lone.broker.vhosts) == ["/"]
    assert not lone.broker.connections


def test_deleting_a_user_closes_the_users_connections() -> None:
    lone = LoneBroker()
    client = lone.client()
    lone.broker.access.put_user("ann", hash_password(b"x", b"salt"), (), {})
    lone.broker.delete_user("ann")
    assert client.methods() == []
    lone.broker.delete_user("guest")
    [close] = client.methods()
    assert isinstance(close, ConnectionClose)
    assert close.reply_text == "CONNECTION_FORCED - user 'guest' is deleted"


def test_a_user_with_many_connections_goes_at_once_and_they_go_in_portions() -> None:
    lone = LoneBroker(units=4 * CONNECTION_UNITS)
    clients = [lone.client() for _ in range(20)]
    lone.turn()
    lone.broker.begin(lone.now_s, lone.wall_ms)
    lone.broker.delete_user("guest")
    lone.broker.finish()
    assert lone.broker.access.permission("guest", "/") is None
    closing = [client for client in clients if client.connection.output]
    assert len(closing) <= 4
    assert lone.complete() >= 4
    assert all(isinstance(client.methods()[-1], ConnectionClose) for client in clients)


def test_a_virtual_host_goes_with_an_exchange_that_deletes_itself() -> None:
    """Dropping what it is bound to takes it along: it must not be dropped once more."""
    lone = LoneBroker()
    broker = lone.broker
    vhost = broker.add_vhost("v")
    vhost.declare_exchange("later", "fanout", auto_delete=True)
    vhost.bind("later", "amq.fanout", "", destination_is_queue=False)
    broker.delete_vhost("v")
    assert "v" not in broker.vhosts
