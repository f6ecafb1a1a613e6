"""Users, permissions and the like: the same here, or refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from reference_broker.core.users import User, hash_password
from reference_broker.http.definitions_beside import Surroundings

PERMISSION = {"user": "guest", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*"}


@pytest.fixture
def here() -> Surroundings:
    return Surroundings(
        {"/"}, [User("guest", hash_password(b"guest", b"salt"), ("administrator", "monitoring"))]
    )


def test_what_rabbitmq_exports_of_a_plain_node(here: Surroundings) -> None:
    assert (
        here.faults_of(
            {
                "rabbit_version": "3.10.8",
                "product_name": "RabbitMQ",
                "users": [
                    {
                        "name": "guest",
                        "password_hash": "KxUNrExmU8/B9kv0HxcDl9nCWj28J8Hu28QER13NkWWv+Vdk",
                        "hashing_algorithm": "rabbit_password_hashing_sha256",
                        "tags": ["monitoring", "administrator"],
                        "limits": {},
                    }
                ],
                "vhosts": [{"name": "/"}],
                "permissions": [PERMISSION],
                "topic_permissions": [],
                "parameters": [],
                "global_parameters": [
                    {"name": "internal_cluster_id", "value": "rabbitmq-cluster-id-x"},
                    {"name": "cluster_name", "value": "rabbit@here"},
                ],
                "policies": [],
                "queues": [{"read": "elsewhere"}],
            }
        )
        == []
    )


def test_what_later_and_earlier_versions_write(here: Surroundings) -> None:
    metadata = {"description": "all", "tags": ["x"], "default_queue_type": "classic"}
    body = {
        "users": [{"name": "guest", "tags": "administrator,monitoring"}],
        "vhosts": [{"name": "/", "limits": [], "metadata": metadata}],
        "metadata": metadata,
        "limits": [],
        "explanation": "Definitions of virtual host '/'",
    }
    assert here.faults_of(body) == []


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({"users": [{"name": "app", "tags": []}]}, "users, 'app': this broker has no such user"),
        ({"users": [{"tags": []}]}, "users, item 1: name is missing"),
        ({"users": ["app"]}, "users, item 1: 'app' is not an object"),
        ({"users": {}}, "users: {} is not a list"),
        ({"users": [{"name": "guest", "tags": []}]}, "users, 'guest': has the tags ['admin"),
        ({"users": [{"name": "guest", "tags": 5}]}, "users, 'guest': has the tags ['admin"),
        (
            {"users": [{"name": "guest", "limits": {"max-connections": 5}}]},
            "users, 'guest': this broker has no limits of users: {'max-connections': 5}",
        ),
        ({"vhosts": [{"name": "shop"}]}, "vhosts, 'shop': this broker has no such virtual host"),
        (
            {"vhosts": [{"name": "/", "limits": {"max-queues": 5}}]},
            "vhosts, '/': this broker has no limits of virtual hosts",
        ),
        (
            {"vhosts": [{"name": "/", "metadata": {"default_queue_type": "quorum"}}]},
            "vhosts, '/': metadata: this broker has classic queues only, not 'quorum'",
        ),
        (
            {"vhosts": [{"name": "/", "default_queue_type": "quorum"}]},
            "vhosts, '/': metadata: this broker has classic queues only",
        ),
        ({"metadata": {"default_queue_type": "stream"}}, "metadata: this broker has classic"),
        (
            {"permissions": [{**PERMISSION, "user": "app"}]},
            "permissions, 'app': this broker has no such user",
        ),
        (
            {"permissions": [{**PERMISSION, "vhost": "shop"}]},
            "permissions, 'guest': this broker has no virtual host 'shop'",
        ),
        (
            {"permissions": [{**PERMISSION, "write": "^app"}]},
            "permissions, 'guest': write is '^app', and this broker can't hold anybody to it",
        ),
        (
            {"topic_permissions": [{"user": "guest"}]},
            "topic_permissions, 'guest': this broker has no topic permissions",
        ),
        ({"limits": {"max-queues": 5}}, "limits, 'max-queues': this broker has no limits"),
        ({"of_tomorrow": [5]}, "of_tomorrow, item 1: this broker has no of tomorrow"),
    ],
)
def test_the_rest_is_refused_by_name(here: Surroundings, body: dict[str, Any], fault: str) -> None:
    (found,) = here.faults_of(body)
    assert found.startswith(fault)


def test_every_item_is_named(here: Surroundings) -> None:
    body = {
        "topic_permissions": [{"user": "a"}, {"user": "b"}],
        "users": [{"name": "c"}, {"name": "d"}],
    }
    assert len(here.faults_of(body)) == 4
