"""Who may enter a virtual host, and how many: refused in RabbitMQ's order and words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mqkit.wire import PROTOCOL_HEADER
from mqkit.wire.methods import (
    ChannelOpen,
    ConnectionClose,
    ConnectionOpen,
    ConnectionOpenOk,
    ConnectionStartOk,
    ConnectionTuneOk,
)
from reference_broker.core.base.vhost_info import VHostInfo
from reference_broker.testing.lone_broker import LoneBroker, LoneClient


def enters(lone: LoneBroker, vhost: str = "/", user: str = "guest") -> tuple[LoneClient, str]:
    """A client, and what it was told at connection.open."""
    client = lone.socket()
    client.send_bytes(PROTOCOL_HEADER)
    client.send(0, ConnectionStartOk({}, "PLAIN", f"\0{user}\0{user}".encode()))
    client.send(0, ConnectionTuneOk(2047, 131_072, 0))
    client.received()
    client.send(0, ConnectionOpen(vhost))
    return client, told(client)


def told(client: LoneClient) -> str:
    method = client.methods()[-1]
    if isinstance(method, ConnectionOpenOk):
        return "open"
    assert isinstance(method, ConnectionClose)
    assert (method.class_id, method.method_id) in ((10, 40), (0, 0))
    return f"{method.reply_code} {method.reply_text}"


def limit(lone: LoneBroker, **limits: int) -> None:
    named = {name.replace("_", "-"): most for name, most in limits.items()}
    lone.broker.access.limit_user("guest", named)


def test_a_vhost_without_a_permission() -> None:
    lone = LoneBroker()
    lone.broker.add_vhost("other")
    assert enters(lone, "other")[1] == (
        "530 NOT_ALLOWED - access to vhost 'other' refused for user 'guest'"
    )
    lone.broker.access.allow_everything("guest", "other")
    client, answer = enters(lone, "other")
    assert answer == "open"
    assert client.connection.vhost is lone.broker.vhosts["other"]


@pytest.mark.parametrize("most", [0, 1])
def test_a_vhosts_connections(most: int) -> None:
    lone = LoneBroker()
    lone.broker.add_vhost("/", VHostInfo(limits={"max-connections": most}))
    first = [enters(lone) for _ in range(most)]
    assert [answer for _, answer in first] == ["open"] * most
    assert enters(lone)[1] == (
        "530 NOT_ALLOWED - access to vhost '/' refused for user 'guest':"
        f" connection limit ({most}) is reached"
    )
    for client, _ in first:
        client.disconnect()
    lone.broker.add_vhost("/", VHostInfo(limits={"max-connections": -1}))
    assert enters(lone)[1] == "open"


def test_a_users_connections() -> None:
    lone = LoneBroker()
    limit(lone, max_connections=1)
    client, answer = enters(lone)
    assert answer == "open"
    assert enters(lone, user="remote")[1] == "open"
    assert enters(lone)[1] == (
        "530 NOT_ALLOWED - connection refused for user 'guest':"
        " user connection limit (1) is reached"
    )
    client.disconnect()
    assert enters(lone)[1] == "open"


def test_a_users_channels_over_all_connections() -> None:
    lone = LoneBroker()
    limit(lone, max_channels=1)
    (one, _), (two, _) = enters(lone), enters(lone)
    one.send(1, ChannelOpen())
    one.received()
    two.send(1, ChannelOpen())
    assert told(two) == (
        "530 NOT_ALLOWED - number of channels opened for user 'guest' has reached the maximum"
        " allowed user limit of (1)"
    )


def test_a_vhosts_queues() -> None:
    lone = LoneBroker()
    vhost = lone.broker.vhosts["/"]
    lone.broker.add_vhost("/", VHostInfo(limits={"max-queues": 1}))
    vhost.declare_queue("a")
    with pytest.raises(Exception, match=r"queue limit in vhost '/' \(1\) is reached"):
        vhost.declare_queue("b")
    vhost.declare_queue("a")
    lone.broker.add_vhost("/", replace(vhost.info, limits={}))
    vhost.declare_queue("b")


def test_a_user_who_is_deleted_between_login_and_open() -> None:
    lone = LoneBroker()
    client = lone.socket()
    client.send_bytes(PROTOCOL_HEADER)
    client.send(0, ConnectionStartOk({}, "PLAIN", b"\0guest\0guest"))
    client.received()
    lone.broker.delete_user("guest")
    assert told(client) == "320 CONNECTION_FORCED - user 'guest' is deleted"
