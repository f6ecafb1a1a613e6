"""The two nodes: queues that are declared at one are at the other, and are used all the same."""

from __future__ import annotations

import shutil

import httpx
import pika
import pytest

from interop.elsewhere.cluster import CLIENTS, HOME, queues_elsewhere

NEEDS_ETCD = pytest.mark.skipif(shutil.which("etcd") is None, reason="there is no etcd here")


@NEEDS_ETCD
def test_what_a_client_publishes_is_at_the_other_node() -> None:
    with queues_elsewhere() as cluster:
        with pika.BlockingConnection(pika.URLParameters(cluster[CLIENTS].url)) as connection:
            channel = connection.channel()
            channel.confirm_delivery()
            for name, durable in (("durable", True), ("transient", False)):
                channel.queue_declare(name, durable=durable)
                channel.basic_publish("", name, b"x")
            (_, _, body) = channel.basic_get("durable", auto_ack=True)
            assert body == b"x"
        url = f"{cluster[HOME].management_url}/api/queues/%2F"
        for name, there in (("durable", 0), ("transient", 1)):
            found = httpx.get(f"{url}/{name}", trust_env=False).json()
            assert (found["node"], found["messages_ready"]) == (f"mqkit@{HOME}", there)
