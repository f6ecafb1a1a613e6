"""The beginnings of spans: few names, and the attributes of the conventions."""

from __future__ import annotations

import pytest
from opentelemetry.semconv._incubating.attributes import messaging_attributes as registry
from opentelemetry.semconv.schemas import Schemas
from opentelemetry.trace import SpanKind

from mqkit.message import Message
from mqkit.otel import describing, operations
from mqkit.otel.operations import (
    CALL,
    CREATE,
    DESTINATIONS_MAX,
    FORWARD,
    PROCESS,
    SCHEMA_URL,
    SEND,
    TEMPORARY,
    Beginnings,
    Operation,
    destination_of,
    full_name,
)
from mqkit.transport.seam import Credentials, Endpoint

HERE = Endpoint("rabbit.example", 5673, credentials=Credentials("ann", "secret"))


def test_names_and_values_are_those_of_the_registry() -> None:
    """The part that can change: a new version of the conventions must not pass unseen."""
    assert Schemas.V1_44_0.value == SCHEMA_URL
    ours = {
        value
        for module in (operations, describing)
        for value in vars(module).values()
        if isinstance(value, str) and value.startswith("messaging.")
    }
    assert ours <= {value for value in vars(registry).values() if isinstance(value, str)}
    types = {kind.value for kind in registry.MessagingOperationTypeValues}
    assert {each.type for each in (CALL, CREATE, FORWARD, PROCESS, SEND)} <= types


@pytest.mark.parametrize(
    ("operation", "destination", "name", "kind"),
    [
        (SEND, "orders", "send orders", SpanKind.PRODUCER),
        (FORWARD, "orders", "send orders", SpanKind.CLIENT),
        (CREATE, "orders", "create orders", SpanKind.PRODUCER),
        (CALL, "prices", "call prices", SpanKind.PRODUCER),
        (PROCESS, "payments", "process payments", SpanKind.CONSUMER),
        (PROCESS, TEMPORARY, "process (temporary)", SpanKind.CONSUMER),
        (SEND, "", "send", SpanKind.PRODUCER),
    ],
)
def test_a_span_is_named_by_operation_and_destination(
    operation: Operation, destination: str, name: str, kind: SpanKind
) -> None:
    beginning = Beginnings(lambda: HERE).of(operation, destination)
    assert (beginning.name, beginning.kind) == (name, kind)
    wanted = {
        "messaging.system": "rabbitmq",
        "messaging.operation.name": operation.name,
        "messaging.operation.type": operation.type,
        "server.address": "rabbit.example",
        "server.port": 5673,
    }
    if destination:
        wanted["messaging.destination.template"] = destination
    if destination == TEMPORARY:
        wanted |= {"messaging.destination.temporary": True, "messaging.destination.anonymous": True}
    assert beginning.attributes == wanted


def test_a_beginning_is_made_once_for_a_broker() -> None:
    broker: list[Endpoint | None] = [None]
    beginnings = Beginnings(lambda: broker[0])
    nowhere = beginnings.of(SEND, "orders")
    assert "server.address" not in nowhere.attributes
    broker[0] = HERE
    first = beginnings.of(SEND, "orders")
    assert first is beginnings.of(SEND, "orders")
    broker[0] = Endpoint("other.example")
    assert beginnings.of(SEND, "orders").attributes["server.address"] == "other.example"


def test_names_are_bounded_and_those_that_are_known_stay() -> None:
    beginnings = Beginnings(lambda: None)
    names = {beginnings.of(SEND, f"x{n}").name for n in range(3 * DESTINATIONS_MAX)}
    assert len(names) <= DESTINATIONS_MAX
    assert "send" in names
    assert beginnings.of(SEND, "x7").name == "send x7"
    assert beginnings.of(PROCESS, "x7").name == "process x7"
    assert beginnings.of(SEND, f"x{2 * DESTINATIONS_MAX}") is beginnings.of(SEND, "")


@pytest.mark.parametrize(
    ("exchange", "key", "destination", "full"),
    [
        ("orders", "order.placed", "orders", "orders:order.placed"),
        ("orders", "", "orders", "orders"),
        ("", "payments", "payments", "payments"),
        ("", "amq.gen-AbC", TEMPORARY, "amq.gen-AbC"),
        ("", "amq.rabbitmq.reply-to.g1.x", TEMPORARY, "amq.rabbitmq.reply-to.g1.x"),
        ("", "", "amq.default", "amq.default"),
    ],
)
def test_a_message_s_destination_is_its_exchange_or_its_queue(
    exchange: str, key: str, destination: str, full: str
) -> None:
    assert destination_of(Message(exchange, key, b"")) == destination
    assert full_name(exchange, key) == full


@pytest.mark.parametrize(
    ("exchange", "key", "full"),
    [("x", "k", "x:k:q"), ("x", "q", "x:q"), ("", "q", "q"), ("x", "", "x:q"), ("", "k", "k:q")],
)
def test_a_consumer_s_destination_has_its_queue_too(exchange: str, key: str, full: str) -> None:
    assert full_name(exchange, key, "q") == full
