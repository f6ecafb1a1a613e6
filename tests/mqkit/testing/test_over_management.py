"""A virtual host of a test's own on a broker elsewhere: the reference broker, and RabbitMQ."""

from __future__ import annotations

from typing import Any

import pika
import pytest

from mqkit import ConfigurationError
from mqkit.errors import Unreachable
from mqkit.testing.over_management import (
    NeedsReferenceBroker,
    broker_at,
    management_url_of,
    with_login_of,
)


@pytest.mark.live
def test_it_is_empty_and_goes_with_its_block(broker: Any) -> None:
    with broker_at(broker.url, broker.management_url) as own:
        with pika.BlockingConnection(pika.URLParameters(own.url)) as connection:
            channel = connection.channel()
            channel.queue_declare("q")
            channel.basic_publish("", "q", b"x")
        assert own.queue("q").blocking.one().body == b"x"
        assert "  q:" in own.topology()
        for ask in ("clock", "faults"):
            with pytest.raises(NeedsReferenceBroker):
                getattr(own, ask)
        assert own.clock_if_any is None
    with pytest.raises(pika.exceptions.AMQPConnectionError):
        pika.BlockingConnection(pika.URLParameters(own.url))


def test_the_management_api_of_a_url() -> None:
    assert management_url_of("amqp://a:b%40@mq:5673/x") == "http://a:b%40@mq:15672"
    assert management_url_of("amqp://[::1]/") == "http://guest:guest@[::1]:15672"


def test_a_management_api_has_the_login_of_the_broker_unless_it_says_another() -> None:
    assert with_login_of("amqp://a:b%40@mq/", "http://mq:1/p") == "http://a:b%40@mq:1/p"
    assert with_login_of("amqp://mq/", "https://mq:1") == "https://guest:guest@mq:1"
    assert with_login_of("amqp://a:b@mq/", "http://c:d@mq:1") == "http://c:d@mq:1"


def test_without_a_management_api_it_says_so(unused_port: int) -> None:
    base = f"http://u:secret@127.0.0.1:{unused_port}"
    with pytest.raises(Unreachable, match=r"u:\*\*\*@127.*does not answer.*say where") as told:
        broker_at("amqp://u:secret@127.0.0.1/", base).__enter__()
    assert "secret" not in str(told.value)


@pytest.mark.live
def test_a_refusal_is_told(reference_broker: Any) -> None:
    base = reference_broker.management_url.replace("://", "://guest:wrong@", 1)
    with pytest.raises(ConfigurationError, match="401 to PUT /api/vhosts/mqkit-test-"):
        broker_at(reference_broker.url, base).__enter__()
