"""Policies, parameters and the like: nothing to do with this broker, or refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from reference_broker.http.definitions_beside import faults_beside


def test_what_rabbitmq_exports_of_a_plain_node() -> None:
    body = {
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
    assert faults_beside(body) == []


def test_what_later_versions_write() -> None:
    body = {
        "parameters": [{"component": "vhost-limits", "name": "limits", "vhost": "/", "value": {}}],
        "metadata": {"description": "all", "tags": ["x"], "default_queue_type": "classic"},
        "limits": [],
        "explanation": "Definitions of virtual host '/'",
    }
    assert faults_beside(body) == []


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({"metadata": {"default_queue_type": "stream"}}, "metadata: this broker has classic"),
        (
            {"global_parameters": [{"name": "mqtt_port_to_vhost_mapping", "value": {}}]},
            "global_parameters, 'mqtt_port_to_vhost_mapping': this broker has no global parameters",
        ),
        ({"policies": [{"name": "ha"}]}, "policies, 'ha': this broker has no policies"),
        ({"parameters": [{"name": "up"}]}, "parameters, 'up': this broker has no parameters"),
        ({"limits": {"max-queues": 5}}, "limits, 'max-queues': this broker has no limits"),
        ({"of_tomorrow": [5]}, "of_tomorrow, item 1: this broker has no of tomorrow"),
    ],
)
def test_the_rest_is_refused_by_name(body: dict[str, Any], fault: str) -> None:
    (found,) = faults_beside(body)
    assert found.startswith(fault)


def test_every_item_is_named() -> None:
    assert len(faults_beside({"policies": [{"name": "a"}, {"name": "b"}]})) == 2
