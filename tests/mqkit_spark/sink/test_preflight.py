"""The look at the broker before the first row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pika
import pytest

from mqkit.errors import ConfigurationError
from mqkit_spark.options import OnBadRow, SinkOptions
from mqkit_spark.sink.preflight import look_at_broker, look_at_broker_once

UNREACHABLE = "amqp://me:hunter2@127.0.0.1:1/"


def options(url: str, **given: Any) -> SinkOptions:
    return SinkOptions(url=url, routing_key="q", **given)


@pytest.fixture
def exchange(broker: Any, unique: Callable[[str], str]) -> str:
    name = unique("there")
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        connection.channel().exchange_declare(name, "topic")
    return name


def test_nothing_is_wrong_with_exchanges_that_are_there(broker: Any, exchange: str) -> None:
    look_at_broker(options(broker.url))
    look_at_broker(options(broker.url, exchange=""))
    look_at_broker(options(broker.url, exchange=exchange))
    look_at_broker(
        options(broker.url, on_bad_row=OnBadRow.DEADLETTER, dead_letter_exchange=exchange)
    )


def test_a_wrong_password_is_told_and_not_shown(broker: Any) -> None:
    with pytest.raises(ConfigurationError) as error:
        look_at_broker(options(broker.url.replace("guest:guest", "guest:hunter2")))
    assert str(error.value).startswith(
        "the broker refuses the user, the password or the vhost of the URL: 403 ACCESS_REFUSED"
    )
    assert "hunter2" not in str(error.value)


def test_a_vhost_that_is_not_there(broker: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"the vhost of the URL: 530 NOT_ALLOWED - .*nope"):
        look_at_broker(options(f"{broker.url}nope"))


def test_an_exchange_that_is_not_there_is_named_with_its_option(broker: Any, exchange: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        look_at_broker(options(broker.url, exchange="nope"))
    assert str(error.value) == (
        "option exchange: the broker has no exchange 'nope' (404 NOT_FOUND - no exchange 'nope' in"
        " vhost '/'); declare it, for example with option topology"
    )
    with pytest.raises(ConfigurationError, match=r"option deadLetterExchange: .* exchange 'nope'"):
        look_at_broker(
            options(
                broker.url,
                exchange=exchange,
                on_bad_row=OnBadRow.DEADLETTER,
                dead_letter_exchange="nope",
            )
        )


def test_a_broker_out_of_the_drivers_reach_is_left_to_the_tasks(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    look_at_broker(options(UNREACHABLE, exchange="nope"))
    said = capsys.readouterr().err + caplog.text
    assert "the driver can't look at the broker before the first row: no AMQP broker" in said
    assert "hunter2" not in said


def test_a_stream_looks_until_nothing_is_wrong(broker: Any, unique: Callable[[str], str]) -> None:
    there_later = options(broker.url, exchange=unique("later"))
    for _ in range(2):
        with pytest.raises(ConfigurationError, match="has no exchange"):
            look_at_broker_once(there_later)
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        channel = connection.channel()
        channel.exchange_declare(there_later.exchange, "topic")
        look_at_broker_once(there_later)
        channel.exchange_delete(there_later.exchange)
        look_at_broker_once(there_later)
    with pytest.raises(ConfigurationError, match="has no exchange 'another'"):
        look_at_broker_once(options(broker.url, exchange="another"))
