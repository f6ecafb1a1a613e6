"""Of what this broker has nothing: it is nothing that matters, or refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from reference_broker.http.definitions.unsupported import unsupported_items


def unsupported_faults(body: dict[str, Any]) -> list[str]:
    faults: list[str] = []
    list(unsupported_items(body, faults))
    return faults


def test_what_rabbitmq_exports_of_a_plain_node() -> None:
    body: dict[str, Any] = {
        "rabbit_version": "3.10.8",
        "product_name": "RabbitMQ",
        "users": [{"read": "elsewhere"}],
        "vhosts": [{"name": "/"}],
        "permissions": [],
        "topic_permissions": [],
        "parameters": [],
        "global_parameters": [
            {"name": "internal_cluster_id", "value": "rabbitmq-cluster-id-x"},
            {"name": "cluster_name", "value": "rabbit@here"},
        ],
        "policies": [],
        "queues": [{"read": "elsewhere"}],
    }
    assert unsupported_faults(body) == []


def test_what_later_versions_write() -> None:
    body: dict[str, Any] = {
        "parameters": [{"component": "vhost-limits", "name": "limits", "vhost": "/", "value": {}}],
        "metadata": {"description": "all", "tags": ["x"], "default_queue_type": "classic"},
        "limits": [],
        "explanation": "Definitions of virtual host '/'",
    }
    assert unsupported_faults(body) == []


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({"metadata": {"default_queue_type": "stream"}}, "metadata: this broker has classic"),
        ({"limits": {"max-queues": 5}}, "limits, 'max-queues': this broker has no limits"),
        ({"of_tomorrow": [5]}, "of_tomorrow, item 1: this broker has no of tomorrow"),
    ],
)
def test_the_rest_is_refused_by_name(body: dict[str, Any], fault: str) -> None:
    (found,) = unsupported_faults(body)
    assert found.startswith(fault)


def test_every_item_is_named() -> None:
    assert len(unsupported_faults({"shovels": [{"name": "a"}, {"name": "b"}]})) == 2
