"""Which method asks for which permission, in RabbitMQ's words; and that a change is seen at once.

The table is what RabbitMQ 3.10.8 answered to a user who lacks one of the three permissions.
"""

from __future__ import annotations

import pytest

from mqkit.wire import Properties
from mqkit.wire.methods import (
    BasicConsume,
    BasicGet,
    ChannelClose,
    ChannelOpen,
    ConfirmSelect,
    ExchangeBind,
    ExchangeDeclare,
    ExchangeDelete,
    ExchangeUnbind,
    Method,
    QueueBind,
    QueueDeclare,
    QueueDelete,
    QueuePurge,
    QueueUnbind,
)
from reference_broker.core.access.permission import Action, Permission, TopicPermission
from reference_broker.core.access.users import User, hash_password
from reference_broker.core.vhost.method_access import Access
from reference_broker.testing.lone_broker import LoneBroker, LoneClient

ALL, NONE = ".*", "^$"
WITHOUT = {
    "configure": Permission.of(NONE, ALL, ALL),
    "write": Permission.of(ALL, NONE, ALL),
    "read": Permission.of(ALL, ALL, ""),
}


def client_with(permission: Permission) -> LoneClient:
    """A queue q bound to x; exchanges x and y; the permission after all that."""
    lone = LoneBroker()
    client = lone.client()
    client.send(1, ExchangeDeclare("x", "topic"), ExchangeDeclare("y", "topic"), QueueDeclare("q"))
    client.send(1, QueueBind("q", "x", "k"))
    client.received()
    lone.broker.access.set_permission("guest", "/", permission)
    return client


def refused_text(client: LoneClient) -> str | None:
    methods = client.methods()
    for method in methods:
        if isinstance(method, ChannelClose):
            return f"{method.reply_code} {method.reply_text}"
    return None


DLX = {"x-dead-letter-exchange": "y"}
AE = {"alternate-exchange": "y"}


@pytest.mark.parametrize(
    ("lacking", "method", "what"),
    [
        ("configure", QueueDeclare("n"), "queue 'n'"),
        ("configure", QueueDeclare("q"), "queue 'q'"),
        ("configure", QueueDelete("q"), "queue 'q'"),
        ("configure", QueueDelete("missing"), "queue 'missing'"),
        ("read", QueueDeclare("n", arguments=DLX), "queue 'n'"),
        ("write", QueueDeclare("n", arguments=DLX), "exchange 'y'"),
        ("write", QueueBind("q", "x", "k"), "queue 'q'"),
        ("write", QueueBind("missing", "x", "k"), "queue 'missing'"),
        ("write", QueueUnbind("q", "x", "k"), "queue 'q'"),
        ("read", QueueBind("q", "x", "k"), "exchange 'x'"),
        ("read", QueueUnbind("q", "nope", "k"), "exchange 'nope'"),
        ("read", QueuePurge("q"), "queue 'q'"),
        ("read", BasicGet("q"), "queue 'q'"),
        ("read", BasicGet("missing"), "queue 'missing'"),
        ("read", BasicConsume("q"), "queue 'q'"),
        ("configure", ExchangeDeclare("n", "fanout"), "exchange 'n'"),
        ("configure", ExchangeDeclare("x", "topic"), "exchange 'x'"),
        ("configure", ExchangeDelete("x"), "exchange 'x'"),
        ("configure", ExchangeDelete("missing"), "exchange 'missing'"),
        ("read", ExchangeDeclare("n", "fanout", arguments=AE), "exchange 'n'"),
        ("write", ExchangeDeclare("n", "fanout", arguments=AE), "exchange 'y'"),
        ("write", ExchangeBind("x", "y", "k"), "exchange 'x'"),
        ("read", ExchangeBind("x", "y", "k"), "exchange 'y'"),
        ("write", ExchangeUnbind("x", "y", "k"), "exchange 'x'"),
    ],
)
def test_a_method_is_refused_for_what_it_lacks(lacking: str, method: Method, what: str) -> None:
    client = client_with(WITHOUT[lacking])
    client.send(1, method)
    expected = f"403 ACCESS_REFUSED - access to {what} in vhost '/' refused for user 'guest'"
    assert refused_text(client) == expected


@pytest.mark.parametrize(
    ("lacking", "method"),
    [
        ("configure", QueueDeclare("q", passive=True)),
        ("configure", ExchangeDeclare("x", "topic", passive=True)),
        ("configure", QueueBind("q", "x", "k")),
        ("configure", BasicGet("q")),
        ("write", QueueDeclare("n")),
        ("write", QueueDeclare("q", arguments={})),
        ("write", QueueDelete("q")),
        ("write", BasicConsume("q")),
        ("read", QueueDeclare("n")),
        ("read", ExchangeDeclare("n", "fanout")),
        ("read", QueueDelete("q")),
    ],
)
def test_what_is_not_needed_is_not_asked_for(lacking: str, method: Method) -> None:
    client = client_with(WITHOUT[lacking])
    client.send(1, method)
    assert refused_text(client) is None


def test_a_name_of_the_brokers_needs_the_permission_for_it() -> None:
    client = client_with(Permission.of("^amq\\.gen-", "", ""))
    client.send(1, QueueDeclare(""))
    assert refused_text(client) is None
    client.send(1, QueueDeclare("mine"))
    assert refused_text(client) is not None


def test_a_refused_declaration_has_changed_nothing() -> None:
    client = client_with(WITHOUT["write"])
    client.send(1, QueueDeclare("n", arguments=DLX))
    assert list(client.connection.broker.vhosts["/"].queues) == ["q"]


@pytest.mark.parametrize(
    ("exchange", "shown"), [("x", "x"), ("", "amq.default"), ("missing", "missing")]
)
def test_publishing_needs_write_before_anything_else(exchange: str, shown: str) -> None:
    client = client_with(WITHOUT["write"])
    client.publish("k", exchange=exchange, properties=Properties(user_id="bob", expiration="x"))
    assert refused_text(client) == (
        f"403 ACCESS_REFUSED - access to exchange '{shown}' in vhost '/' refused for user 'guest'"
    )


def test_the_default_exchange_has_a_name_for_patterns() -> None:
    client = client_with(Permission.of("", "^amq\\.default$", ""))
    client.publish("q")
    assert refused_text(client) is None
    assert client.connection.broker.vhosts["/"].queues["q"].ready == 1


def test_a_permission_that_is_taken_away_holds_at_the_next_publish() -> None:
    """RabbitMQ remembers what a channel has used; here a route is asked for again."""
    client = client_with(Permission.of(ALL, ALL, ALL))
    broker = client.connection.broker
    client.publish("k", exchange="x")
    client.publish("k", exchange="x")
    broker.access.set_permission("guest", "/", WITHOUT["write"])
    client.publish("k", exchange="x")
    assert broker.vhosts["/"].queues["q"].ready == 2
    assert refused_text(client) is not None


def test_a_permission_that_is_taken_away_holds_at_the_next_get() -> None:
    client = client_with(Permission.of(ALL, ALL, ALL))
    client.send(1, BasicGet("q", no_ack=True))
    assert refused_text(client) is None
    client.connection.broker.access.clear_permission("guest", "/")
    client.send(1, BasicGet("q", no_ack=True))
    assert refused_text(client) is not None


def test_a_repeated_publish_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_with(Permission.of(ALL, ALL, ALL))
    client.publish("k", exchange="x")

    def asked(*_: object) -> None:
        raise AssertionError("a permission was looked for on the plain path")

    monkeypatch.setattr(client.connection.broker.access, "permission", asked)
    monkeypatch.setattr(client.connection.broker.access, "topic_permission", asked)
    client.publish("k", exchange="x")
    assert client.connection.broker.vhosts["/"].queues["q"].ready == 2


TOPIC = (
    "403 ACCESS_REFUSED - access to topic '{}' in exchange 'x' in vhost '/'"
    " refused for user 'guest'"
)


def with_topics() -> LoneClient:
    client = client_with(Permission.of(ALL, ALL, ALL))
    client.connection.broker.access.set_topic_permission(
        "guest", "/", "x", TopicPermission("^a", "^{username}\\.{vhost}")
    )
    return client


def test_a_topic_is_written_by_its_pattern() -> None:
    client = with_topics()
    client.publish("a.b", exchange="x", properties=Properties(headers={"CC": ["a.k"]}))
    client.publish("x.b", exchange="y")
    assert refused_text(client) is None
    client.publish("x.b", exchange="x")
    assert refused_text(client) == TOPIC.format("x.b")


@pytest.mark.parametrize("name", ["CC", "BCC"])
def test_nobody_gets_round_a_topic_permission_by_more_keys(name: str) -> None:
    client = with_topics()
    client.publish("a.b", exchange="x", properties=Properties(headers={name: ["a.c", "k"]}))
    assert refused_text(client) == TOPIC.format("k")
    assert client.connection.broker.vhosts["/"].queues["q"].ready == 0


@pytest.mark.parametrize(
    "method",
    [
        QueueBind("q", "x", "a.b"),
        QueueUnbind("q", "x", "a.b"),
        ExchangeBind("y", "x", "a.b"),
        ExchangeUnbind("y", "x", "a.b"),
    ],
)
def test_a_topic_is_bound_by_its_read_pattern(method: Method) -> None:
    client = with_topics()
    client.send(1, method)
    assert refused_text(client) == TOPIC.format("a.b")


def test_variables_in_topic_patterns_are_the_names() -> None:
    client = with_topics()
    client.send(1, QueueBind("q", "x", "guest./.x"))
    assert refused_text(client) is None


def user_id_client(*tags: str) -> LoneClient:
    lone = LoneBroker()
    lone.broker.users.add(User("guest", hash_password(b"guest", b"salt"), tags))
    return lone.client()


def test_somebody_elses_user_id() -> None:
    client = user_id_client()
    client.publish("q", properties=Properties(user_id="guest"))
    assert refused_text(client) is None
    client.publish("q", properties=Properties(user_id="bob", expiration="x"))
    assert refused_text(client) == (
        "406 PRECONDITION_FAILED - user_id property set to 'bob' but authenticated user was 'guest'"
    )
    client = user_id_client()
    client.publish("q", properties=Properties(user_id="guest", expiration="x"))
    assert refused_text(client) == ("406 PRECONDITION_FAILED - invalid expiration 'x': no_integer")


def test_an_impersonator_may_use_any_user_id() -> None:
    client = user_id_client("impersonator")
    client.send(1, ConfirmSelect())
    client.publish("q", properties=Properties(user_id="bob"))
    assert refused_text(client) is None
    client.send(2, ChannelOpen())
    client.publish("q", channel=2, properties=Properties(user_id="bob", expiration="x"))
    assert refused_text(client) == ("406 PRECONDITION_FAILED - invalid expiration 'x': no_integer")


def test_what_was_granted_is_remembered_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reference_broker.core.vhost.method_access.GRANTED_MAX", 3)
    access = Access(LoneBroker().broker.access, "guest", "/")
    for number in range(10):
        access.require(Action.READ, "queue", f"q{number}")
        assert 0 < len(access._granted) <= 3
