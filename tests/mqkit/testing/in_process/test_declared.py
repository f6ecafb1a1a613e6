"""The topology of a test's virtual host, as a text."""

from __future__ import annotations

import pika
import pytest

import mqkit
from mqkit.testing import reference_broker
from mqkit.testing.application import running
from mqkit.topology import loads

FILE = """exchanges:
  events:
    type: topic
queues:
  work:
    bind:
      - {from: events, key: "order.#"}
    retry: {after: [10s, 30s], then: park}
"""


@pytest.mark.anyio
async def test_it_is_the_file_again() -> None:
    with reference_broker() as broker:
        assert broker.topology() == "exchanges: {}\nqueues: {}\n"
        async with running(mqkit.App(topology=loads(FILE)), broker):
            assert broker.topology() == FILE


def test_what_belongs_to_a_connection_is_left_out() -> None:
    with (
        reference_broker() as broker,
        pika.BlockingConnection(pika.URLParameters(broker.url)) as connection,
    ):
        channel = connection.channel()
        channel.queue_declare("", exclusive=True)
        channel.queue_declare("mine", exclusive=True)
        channel.exchange_declare("one", "direct")
        channel.exchange_declare("two", "fanout")
        channel.exchange_bind("two", "one", "k")
        text = broker.topology()
    assert "mine" not in text
    assert "from: one" in text
