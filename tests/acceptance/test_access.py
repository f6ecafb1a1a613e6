"""Users with less than all permissions, their virtual hosts and limits: alike on both brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import pika
import pytest

Names = Callable[[str], str]

PASSWORD = "pa:ss wörd"


class Tenant:
    """A virtual host of the test's own, and a user who may enter it."""

    def __init__(self, broker: Any, unique: Names) -> None:
        self.vhost, self.user = unique("vhost"), unique("user")
        self.api = httpx.Client(
            base_url=broker.management_url,
            auth=("guest", "guest"),
            trust_env=False,
            verify=False,  # plain HTTP, without the time to read the authorities
        )
        address = urlsplit(broker.url)
        self._host, self._port = address.hostname, address.port
        self._opened: list[pika.BlockingConnection] = []
        self.put(f"vhosts/{quote(self.vhost)}")
        self.put(f"users/{quote(self.user)}", {"password": PASSWORD, "tags": ""})
        self.permit(".*", ".*", ".*")

    def put(self, path: str, body: Any = None) -> None:
        self.api.put(f"/api/{path}", json=body or {}).raise_for_status()

    def permit(self, configure: str, write: str, read: str) -> None:
        patterns = {"configure": configure, "write": write, "read": read}
        self.put(f"permissions/{quote(self.vhost)}/{quote(self.user)}", patterns)

    def connect(self, password: str = PASSWORD, vhost: str | None = None) -> Any:
        login = pika.PlainCredentials(self.user, password)
        connection = pika.BlockingConnection(
            pika.ConnectionParameters(self._host, self._port, vhost or self.vhost, login)
        )
        self._opened.append(connection)
        return connection

    def close(self) -> None:
        for connection in self._opened:
            if connection.is_open:
                connection.close()
        self.api.delete(f"/api/vhosts/{quote(self.vhost)}")
        self.api.delete(f"/api/users/{quote(self.user)}")
        self.api.close()


@pytest.fixture
def tenant(broker: Any, unique: Names) -> Iterator[Tenant]:
    tenant = Tenant(broker, unique)
    yield tenant
    tenant.close()


def refused(connection: Any, operation: Callable[[Any], object]) -> tuple[int, str]:
    channel = connection.channel()
    with pytest.raises(pika.exceptions.ChannelClosedByBroker) as caught:
        operation(channel)
    return caught.value.reply_code, caught.value.reply_text


def test_a_wrong_password_and_a_wrong_vhost(tenant: Tenant) -> None:
    with pytest.raises(pika.exceptions.ProbableAuthenticationError, match="403"):
        tenant.connect("wrong")
    for vhost, text in (
        ("/", f"access to vhost '/' refused for user '{tenant.user}'"),
        ("nope.nope", "vhost nope.nope not found"),
    ):
        with pytest.raises(pika.exceptions.ProbableAccessDeniedError) as caught:
            tenant.connect(vhost=vhost)
        assert f"(530) {f'NOT_ALLOWED - {text}'!r}" in str(caught.value)


def test_each_method_is_refused_for_what_it_needs(tenant: Tenant) -> None:
    connection = tenant.connect()
    channel = connection.channel()
    channel.queue_declare("q")
    channel.exchange_declare("x", "topic")

    def text(what: str) -> tuple[int, str]:
        place = f"in vhost '{tenant.vhost}' refused for user '{tenant.user}'"
        return 403, f"ACCESS_REFUSED - access to {what} {place}"

    tenant.permit("", ".*", ".*")
    assert refused(connection, lambda c: c.queue_declare("q")) == text("queue 'q'")
    assert refused(connection, lambda c: c.queue_delete("nope")) == text("queue 'nope'")
    assert refused(connection, lambda c: c.exchange_delete("x")) == text("exchange 'x'")
    connection.channel().queue_declare("q", passive=True)
    tenant.permit(".*", "", ".*")
    bind = lambda c: c.queue_bind("q", "x", "k")  # noqa: E731
    dead = {"x-dead-letter-exchange": "x"}
    assert refused(connection, bind) == text("queue 'q'")
    assert refused(connection, lambda c: c.queue_declare("n", arguments=dead)) == text(
        "exchange 'x'"
    )
    tenant.permit(".*", ".*", "")
    assert refused(connection, bind) == text("exchange 'x'")
    assert refused(connection, lambda c: c.basic_get("q")) == text("queue 'q'")
    assert refused(connection, lambda c: c.queue_purge("nope")) == text("queue 'nope'")


def test_publishing_needs_write_and_topics_their_pattern(tenant: Tenant) -> None:
    tenant.permit("", "^amq\\.topic$", "")
    topics = f"topic-permissions/{quote(tenant.vhost)}/{quote(tenant.user)}"
    tenant.put(topics, {"exchange": "amq.topic", "write": "^a", "read": ""})
    connection = tenant.connect()

    def publish(exchange: str, key: str) -> Callable[[Any], None]:
        def operation(channel: Any) -> None:
            channel.confirm_delivery()
            channel.basic_publish(exchange, key, b"1")

        return operation

    publish("amq.topic", "a.b")(connection.channel())
    place = f"in vhost '{tenant.vhost}' refused for user '{tenant.user}'"
    assert refused(connection, publish("amq.topic", "x.b")) == (
        403,
        f"ACCESS_REFUSED - access to topic 'x.b' in exchange 'amq.topic' {place}",
    )
    assert refused(connection, publish("", "q")) == (
        403,
        f"ACCESS_REFUSED - access to exchange 'amq.default' {place}",
    )


def test_limits(tenant: Tenant) -> None:
    tenant.put(f"vhost-limits/{quote(tenant.vhost)}/max-queues", {"value": 1})
    connection = tenant.connect()
    channel = connection.channel()
    channel.queue_declare("a")
    assert refused(connection, lambda c: c.queue_declare("b")) == (
        406,
        "PRECONDITION_FAILED - cannot declare queue 'b':"
        f" queue limit in vhost '{tenant.vhost}' (1) is reached",
    )


def test_a_users_channels(tenant: Tenant) -> None:
    tenant.put(f"user-limits/{quote(tenant.user)}/max-channels", {"value": 2})
    connection = tenant.connect()
    for _ in range(2):
        connection.channel()
    with pytest.raises(pika.exceptions.ConnectionClosedByBroker) as caught:
        connection.channel()
    assert caught.value.reply_text == (
        f"NOT_ALLOWED - number of channels opened for user '{tenant.user}' has reached the maximum"
        " allowed user limit of (2)"
    )


@pytest.mark.parametrize("what", ["user", "vhost"])
def test_who_is_deleted_is_told(broker: Any, tenant: Tenant, what: str) -> None:
    """RabbitMQ may tell first that the virtual host is down, which its deletion begins with."""
    connection = tenant.connect()
    name = tenant.user if what == "user" else tenant.vhost
    tenant.api.delete(f"/api/{what}s/{quote(name)}").raise_for_status()
    with pytest.raises(pika.exceptions.ConnectionClosedByBroker) as caught:
        connection.process_data_events(time_limit=10)
    ends = ["deleted"] if broker.is_reference or what == "user" else ["deleted", "down"]
    assert caught.value.reply_code == 320
    assert caught.value.reply_text in [f"CONNECTION_FORCED - {what} '{name}' is {x}" for x in ends]
