"""The definitions file of a broker: its sections, and the objects that are left out."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.requests import Request

from reference_broker.core.access.passwords import ARGON2ID, PasswordHash
from reference_broker.core.access.permission import Permission, TopicPermission
from reference_broker.core.access.users import User, UserStore, hash_password
from reference_broker.core.base.vhost_info import VHostInfo
from reference_broker.core.broker import Broker
from reference_broker.core.journal.journal import MemoryJournal
from reference_broker.core.vhost.vhost import VHost
from reference_broker.http.definitions.export import exported, exported_vhost
from reference_broker.http.request.portions import ENTRIES, ROW_ENTRIES

pytestmark = pytest.mark.anyio

REQUEST = Request({"type": "http"})


@pytest.fixture
def broker() -> Broker:
    users = UserStore()
    users.add(User("app", hash_password(b"secret", b"salt"), ("management", "monitoring")))
    return Broker(MemoryJournal(), users, version="1.2.3")


@pytest.fixture
def vhost(broker: Broker) -> VHost:
    return broker.vhosts["/"]


async def whole(pieces: AsyncIterator[bytes]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(b"".join([piece async for piece in pieces]))
    return found


async def test_an_empty_broker(broker: Broker) -> None:
    found = await whole(exported(broker, REQUEST))
    user, permission = found.pop("users")[0], found.pop("permissions")
    assert found == {
        "rabbit_version": "4.0.0",
        "rabbitmq_version": "4.0.0",
        "product_name": "mqkit reference broker",
        "product_version": "1.2.3",
        "vhosts": [{"name": "/"}],
        "topic_permissions": [],
        "parameters": [],
        "global_parameters": [],
        "policies": [],
        "queues": [],
        "exchanges": [],
        "bindings": [],
    }
    hashed = base64.b64decode(user.pop("password_hash"))
    assert hashed[4:] == hashlib.sha256(hashed[:4] + b"secret").digest()
    assert user == {
        "name": "app",
        "hashing_algorithm": "rabbit_password_hashing_sha256",
        "tags": ["management", "monitoring"],
        "limits": {},
    }
    assert permission == [
        {"user": "app", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*"}
    ]


async def test_hashes_limits_and_labels_are_in_it(broker: Broker) -> None:
    broker.access.store_user(
        User("slow", PasswordHash(ARGON2ID, b"$argon2id$x"), limits={"max-channels": 3})
    )
    broker.access.set_permission("slow", "/", Permission.of("^a", "", ".*"))
    broker.access.set_topic_permission("slow", "/", "amq.topic", TopicPermission("^w", "^r"))
    broker.add_vhost("b", VHostInfo("second", ("t",), limits={"max-queues": 5}))
    found = await whole(exported(broker, REQUEST))
    assert found["users"][1] == {
        "name": "slow",
        "password_hash": base64.b64encode(b"$argon2id$x").decode(),
        "hashing_algorithm": "mqkit_password_hashing_argon2id",
        "tags": [],
        "limits": {"max-channels": 3},
    }
    assert found["permissions"][1:] == [
        {"user": "slow", "vhost": "/", "configure": "^a", "write": "", "read": ".*"}
    ]
    assert found["topic_permissions"] == [
        {"user": "slow", "vhost": "/", "exchange": "amq.topic", "write": "^w", "read": "^r"}
    ]
    assert found["vhosts"][1] == {"name": "b", "description": "second", "tags": ["t"]}
    assert found["parameters"] == [
        {"component": "vhost-limits", "name": "limits", "vhost": "b", "value": {"max-queues": 5}}
    ]


async def test_objects_as_rabbitmq_writes_them(broker: Broker, vhost: VHost) -> None:
    vhost.declare_exchange("x", "headers", durable=True, internal=True, arguments={"a": 1})
    vhost.declare_exchange("y", "fanout", auto_delete=True)
    vhost.declare_queue("q", durable=True, auto_delete=True, arguments={"x-max-length": 5})
    vhost.bind("x", "q", "k", {"x-match": "any"}, destination_is_queue=True)
    vhost.bind("amq.topic", "y", "a.*", destination_is_queue=False)
    found = await whole(exported(broker, REQUEST))
    assert found["exchanges"] == [
        {
            "name": "x", "vhost": "/", "type": "headers", "durable": True, "auto_delete": False,
            "internal": True, "arguments": {"a": 1},
        },
        {
            "name": "y", "vhost": "/", "type": "fanout", "durable": False, "auto_delete": True,
            "internal": False, "arguments": {},
        },
    ]  # fmt: skip
    assert found["queues"] == [
        {
            "name": "q", "vhost": "/", "durable": True, "auto_delete": True,
            "arguments": {"x-max-length": 5},
        },
    ]  # fmt: skip
    assert sorted(found["bindings"], key=lambda row: str(row["source"])) == [
        {
            "source": "amq.topic", "vhost": "/", "destination": "y",
            "destination_type": "exchange", "routing_key": "a.*", "arguments": {},
        },
        {
            "source": "x", "vhost": "/", "destination": "q", "destination_type": "queue",
            "routing_key": "k", "arguments": {"x-match": "any"},
        },
    ]  # fmt: skip


async def test_what_ends_with_its_connection_or_has_a_name_of_the_brokers(
    broker: Broker, vhost: VHost
) -> None:
    vhost.declare_exchange("x", "fanout")
    for name, durable in (("transient", False), ("", True), ("kept", True)):
        queue = vhost.declare_queue(name, durable=durable)
        vhost.bind("x", queue.name, "", destination_is_queue=True)
    vhost.declare_queue("mine", durable=True, exclusive=True, owner=object())
    vhost.bind("x", "mine", "", destination_is_queue=True, owner=vhost.queues["mine"].owner)
    found = await whole(exported(broker, REQUEST))
    assert [row["name"] for row in found["queues"]] == ["kept"]
    assert [row["destination"] for row in found["bindings"]] == ["kept"]


async def test_a_single_virtual_host_is_not_named(broker: Broker, vhost: VHost) -> None:
    vhost.declare_queue("q", durable=True)
    vhost.bind("amq.topic", "q", "k", destination_is_queue=True)
    broker.add_vhost("other").declare_queue("r", durable=True)
    assert await whole(exported_vhost(vhost, REQUEST)) == {
        "rabbit_version": "4.0.0",
        "parameters": [],
        "policies": [],
        "queues": [{"name": "q", "durable": True, "auto_delete": False, "arguments": {}}],
        "exchanges": [],
        "bindings": [
            {
                "source": "amq.topic", "destination": "q", "destination_type": "queue",
                "routing_key": "k", "arguments": {},
            },
        ],
    }  # fmt: skip
    every = await whole(exported(broker, REQUEST))
    assert [(row["vhost"], row["name"]) for row in every["queues"]] == [("/", "q"), ("other", "r")]
    assert [row["vhost"] for row in every["permissions"]] == ["/"]


async def test_more_than_a_slice_of_each(broker: Broker, vhost: VHost) -> None:
    count = 2 * ENTRIES // ROW_ENTRIES + 1
    for number in range(count):
        vhost.declare_queue(f"q{number}", durable=True)
        vhost.bind("amq.fanout", f"q{number}", "", destination_is_queue=True)
    found = await whole(exported(broker, REQUEST))
    assert [row["name"] for row in found["queues"]] == [f"q{number}" for number in range(count)]
    assert len(found["bindings"]) == count


async def test_what_goes_while_it_is_exported_is_left_out(broker: Broker, vhost: VHost) -> None:
    count = 300
    for number in range(count):
        vhost.declare_queue(f"q{number}", durable=True)
        vhost.declare_exchange(f"x{number}", "fanout", durable=True)
        vhost.bind(f"x{number}", f"q{number}", "", destination_is_queue=True)
    pieces = exported(broker, REQUEST)
    text = await anext(pieces)
    for number in range(0, count, 2):
        vhost.delete_queue(f"q{number}")
    vhost.delete_exchange("x1")
    vhost.declare_queue("new", durable=True)
    found = json.loads(text + b"".join([piece async for piece in pieces]))
    odd = range(1, count, 2)
    assert [row["name"] for row in found["queues"]] == [f"q{number}" for number in odd]
    assert [row["destination"] for row in found["bindings"]] == [f"q{each}" for each in odd[1:]]
    assert len(found["exchanges"]) == count - 1
