"""bench.load: what is counted is what was sent and received."""

from __future__ import annotations

from typing import Any

import pika
import pytest

from bench.load import BLOCK_MESSAGES, Measured, Workload, run
from bench.session import Address
from mqkit.url import parse


@pytest.fixture
def address(broker: Any) -> Address:
    endpoint = parse(broker.url)
    return Address(endpoint.host, endpoint.port)


def test_a_short_run_balances(address: Address) -> None:
    """`run` itself compares what was sent with what was received, byte for byte."""
    measured = run(address, Workload(seconds=0.2, body_bytes=100, queue="bench.test"))
    assert measured.messages > 0
    assert measured.rate > 0
    assert len(measured.confirm_latencies_s) >= measured.messages // BLOCK_MESSAGES


def test_the_load_is_gone_afterwards(address: Address, broker: Any) -> None:
    run(address, Workload(seconds=0.05, queue="bench.test"))
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        channel = connection.channel()
        with pytest.raises(pika.exceptions.ChannelClosedByBroker, match="no queue"):
            channel.queue_declare("bench.test", passive=True)


def test_latencies_are_read_by_quantile() -> None:
    measured = Measured(confirm_latencies_s=[n / 1000 for n in range(1, 101)])
    assert measured.latency_ms(0.50) == 51
    assert measured.latency_ms(0.99) == 100
    assert measured.latency_ms(1.0) == 100
