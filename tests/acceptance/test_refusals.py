"""Refusals by a broker: code and words, and what is left standing."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pika
import pytest

Names = Callable[[str], str]


@pytest.fixture
def rabbit(broker: Any) -> Any:
    """A bare pika connection: it shows codes and texts as they come."""
    connection = pika.BlockingConnection(pika.URLParameters(broker.url))
    yield connection
    if connection.is_open:
        connection.close()


def refusal(connection: Any, operation: Callable[[Any], object]) -> tuple[int, str]:
    """Run on a new channel; the code and text that the broker closed it with."""
    channel = connection.channel()
    with pytest.raises(pika.exceptions.ChannelClosedByBroker) as caught:
        operation(channel)
    return caught.value.reply_code, caught.value.reply_text


def test_missing_queue(rabbit: Any, unique: Names) -> None:
    name = unique("q")
    code, text = refusal(rabbit, lambda c: c.queue_declare(name, passive=True))
    assert (code, text) == (404, f"NOT_FOUND - no queue '{name}' in vhost '/'")
    assert refusal(rabbit, lambda c: c.basic_get(name))[1] == text
    assert refusal(rabbit, lambda c: c.queue_purge(name))[1] == text


def test_missing_exchange(rabbit: Any, unique: Names) -> None:
    name = unique("x")
    code, text = refusal(rabbit, lambda c: c.exchange_declare(name, passive=True))
    assert (code, text) == (404, f"NOT_FOUND - no exchange '{name}' in vhost '/'")


def test_publish_to_a_missing_exchange_closes_the_channel(rabbit: Any, unique: Names) -> None:
    name = unique("x")

    def publish(channel: Any) -> None:
        channel.confirm_delivery()
        channel.basic_publish(name, "k", b"1")

    code, text = refusal(rabbit, publish)
    assert (code, text) == (404, f"NOT_FOUND - no exchange '{name}' in vhost '/'")


def test_deleting_what_is_not_there_is_fine(rabbit: Any, unique: Names) -> None:
    channel = rabbit.channel()
    channel.queue_delete(unique("q"))
    channel.exchange_delete(unique("x"))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            {"arguments": {"x-max-length": 5}},
            "inequivalent arg 'x-max-length' for queue '{name}' in vhost '/': received the value"
            " '5' of type 'signedint' but current is none",
        ),
        (
            {"durable": False},
            "inequivalent arg 'durable' for queue '{name}' in vhost '/':"
            " received 'false' but current is 'true'",
        ),
        (
            {"auto_delete": True},
            "inequivalent arg 'auto_delete' for queue '{name}' in vhost '/':"
            " received 'true' but current is 'false'",
        ),
    ],
)
def test_a_changed_queue(rabbit: Any, unique: Names, changed: Any, words: str) -> None:
    name = unique("q")
    rabbit.channel().queue_declare(name, durable=True)
    code, text = refusal(rabbit, lambda c: c.queue_declare(name, **{"durable": True, **changed}))
    assert (code, text) == (406, "PRECONDITION_FAILED - " + words.format(name=name))


def test_a_changed_exchange(rabbit: Any, unique: Names) -> None:
    name = unique("x")
    rabbit.channel().exchange_declare(name, "direct", durable=True)
    code, text = refusal(rabbit, lambda c: c.exchange_declare(name, "topic", durable=True))
    assert code == 406
    assert text == (
        f"PRECONDITION_FAILED - inequivalent arg 'type' for exchange '{name}' in vhost '/':"
        " received 'topic' but current is 'direct'"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        {"x-message-ttl": -1},
        {"x-message-ttl": "soon"},
        {"x-expires": 0},
        {"x-max-length": -1},
        {"x-overflow": "explode"},
        {"x-max-priority": 256},
        {"x-dead-letter-routing-key": "without an exchange"},
    ],
    ids=str,
)
def test_bad_arguments_declare_nothing(rabbit: Any, unique: Names, arguments: Any) -> None:
    name = unique("q")
    code, _ = refusal(rabbit, lambda c: c.queue_declare(name, durable=True, arguments=arguments))
    assert code == 406
    assert refusal(rabbit, lambda c: c.queue_declare(name, passive=True))[0] == 404


def test_reserved_names(rabbit: Any) -> None:
    code, text = refusal(rabbit, lambda c: c.exchange_declare("amq.mine", "direct"))
    assert (code, text.split(" - ")[0]) == (403, "ACCESS_REFUSED")
    assert refusal(rabbit, lambda c: c.queue_declare("amq.mine"))[0] == 403


def test_the_default_exchange_can_not_be_bound(rabbit: Any, unique: Names) -> None:
    name = unique("q")
    rabbit.channel().queue_declare(name, durable=True)
    code, text = refusal(rabbit, lambda c: c.queue_bind(name, "", "k"))
    assert code == 403
    assert "default exchange" in text


def test_an_internal_exchange_takes_no_publish(rabbit: Any, unique: Names) -> None:
    name = unique("x")
    rabbit.channel().exchange_declare(name, "fanout", internal=True)

    def publish(channel: Any) -> None:
        channel.confirm_delivery()
        channel.basic_publish(name, "", b"1")

    assert refusal(rabbit, publish)[0] == 403


@pytest.mark.parametrize("bad", ["later", "-1"])
def test_a_bad_expiration(rabbit: Any, unique: Names, bad: str) -> None:
    name = unique("q")
    rabbit.channel().queue_declare(name, durable=True)

    def publish(channel: Any) -> None:
        channel.confirm_delivery()
        channel.basic_publish("", name, b"1", pika.BasicProperties(expiration=bad))

    code, text = refusal(rabbit, publish)
    assert code == 406
    assert text.startswith(f"PRECONDITION_FAILED - invalid expiration '{bad}'")


@pytest.mark.parametrize(
    ("headers", "words"), [({"CC": "one"}, '"CC",longstr'), ({"BCC": 5}, '"BCC",signedint')]
)
def test_a_cc_that_is_no_array(rabbit: Any, unique: Names, headers: Any, words: str) -> None:
    name = unique("q")
    rabbit.channel().queue_declare(name, durable=True)

    def publish(channel: Any) -> None:
        channel.confirm_delivery()
        channel.basic_publish("", name, b"1", pika.BasicProperties(headers=headers))

    expected = f"PRECONDITION_FAILED - invalid message: {{unacceptable_type_in_header,{words}}}"
    assert refusal(rabbit, publish) == (406, expected)


def test_an_unknown_delivery_tag(rabbit: Any) -> None:
    channel = rabbit.channel()
    channel.basic_ack(99)
    with pytest.raises(pika.exceptions.ChannelClosedByBroker) as caught:
        channel.queue_declare("", exclusive=True)
    assert caught.value.reply_code == 406
    assert caught.value.reply_text == "PRECONDITION_FAILED - unknown delivery tag 99"


def test_other_channels_live_on(rabbit: Any, unique: Names) -> None:
    other = rabbit.channel()
    refusal(rabbit, lambda c: c.queue_declare(unique("q"), passive=True))
    assert other.queue_declare("", exclusive=True).method.message_count == 0


def test_a_wrong_password(broker: Any) -> None:
    parameters = pika.URLParameters(broker.url)
    parameters.credentials = pika.PlainCredentials("guest", "wrong")
    with pytest.raises(pika.exceptions.ProbableAuthenticationError, match="403"):
        pika.BlockingConnection(parameters)


def test_an_unknown_vhost(broker: Any) -> None:
    parameters = pika.URLParameters(broker.url)
    parameters.virtual_host = "nope"
    with pytest.raises(pika.exceptions.AMQPConnectionError):
        pika.BlockingConnection(parameters)


@pytest.mark.parametrize(
    ("header", "answer"),
    [
        (b"AMQP\x00\x00\x09\x01", b"\x01\x00\x00"),
        (b"AMQP\x01\x01\x00\x09", b"\x01\x00\x00"),
        (b"AMQP\x00\x00\x09\x00", b"AMQP\x00\x00\x09\x01"),
        (b"AMQP\x00\x01\x00\x00", b"AMQP\x00\x00\x09\x01"),
    ],
    ids=["0-9-1", "0-9", "0-9-0", "1.0"],
)
def test_what_a_client_may_begin_with(broker: Any, header: bytes, answer: bytes) -> None:
    """Old clients send the header of 0-9, and then speak 0-9-1."""
    parameters = pika.URLParameters(broker.url)
    with socket.create_connection((parameters.host, parameters.port), timeout=10) as client:
        client.sendall(header)
        assert client.recv(len(answer), socket.MSG_WAITALL) == answer
