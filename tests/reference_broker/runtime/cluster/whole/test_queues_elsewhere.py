"""The management API of three processes, of which each answers for the queues of the others."""

from __future__ import annotations

import httpx
import pika
import pytest

from mqkit.testing import Cluster

pytestmark = [pytest.mark.live, pytest.mark.slow]


def test_a_queue_has_the_consumers_of_all_nodes(nodes: Cluster) -> None:
    connections = {
        name: pika.BlockingConnection(pika.URLParameters(node.url))
        for name, node in nodes.nodes.items()
    }
    connections["b"].channel().queue_declare("q", durable=True)
    for name, connection in connections.items():
        connection.channel().basic_consume("q", lambda *_: None, consumer_tag=f"at {name}")
    for node in nodes.nodes.values():
        row = httpx.get(f"{node.management_url}/api/queues/%2F/q").json()
        assert (row["node"], row["consumers"]) == ("mqkit@b", 3)
        found = sorted(
            (each["consumer_tag"], each["channel_details"]["node"])
            for each in row["consumer_details"]
        )
        assert found == [(f"at {name}", f"mqkit@{name}") for name in "abc"]
    for connection in connections.values():
        connection.close()
