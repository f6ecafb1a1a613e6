"""The operations that spans are of, and how spans begin: by OpenTelemetry's semantic conventions
for messaging, version 1.44.0, with those for RabbitMQ.

The name of a span is the operation and its destination, an exchange or a queue. Names have to be
few. So a queue that the broker names is "(temporary)", and there is a bound for the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from opentelemetry.trace import SpanKind

from mqkit.message import Message
from mqkit.middleware.tracing import Broker
from mqkit.transport.seam import Endpoint

SCHEMA_URL = "https://opentelemetry.io/schemas/1.44.0"

SYSTEM = "messaging.system"
OPERATION_NAME = "messaging.operation.name"
OPERATION_TYPE = "messaging.operation.type"
DESTINATION_NAME = "messaging.destination.name"
DESTINATION_TEMPLATE = "messaging.destination.template"
DESTINATION_TEMPORARY = "messaging.destination.temporary"
DESTINATION_ANONYMOUS = "messaging.destination.anonymous"
SERVER_ADDRESS = "server.address"
SERVER_PORT = "server.port"

TEMPORARY = "(temporary)"
DEFAULT_EXCHANGE = "amq.default"
"""The destination of a message to the default exchange with an empty routing key."""
NAMED_BY_THE_BROKER = "amq."
"""The beginning of names that the broker gives to queues, and of addresses of answers."""

DESTINATIONS_MAX = 512
"""Destinations that spans are named after. A program that has more makes names as it runs: the
spans of the others are named after the operation alone, or each would be a series of its own."""

Attributes: TypeAlias = Mapping[str, str | int | bool]


@dataclass(frozen=True, slots=True)
class Operation:
    """``name`` is mqkit's, ``type`` the conventions'."""

    name: str
    type: str
    kind: SpanKind


CREATE = Operation("create", "create", SpanKind.PRODUCER)
SEND = Operation("send", "send", SpanKind.PRODUCER)
FORWARD = Operation("send", "send", SpanKind.CLIENT)
"""Sends a message that was created under another span, whose context it keeps."""
CALL = Operation("call", "send", SpanKind.PRODUCER)
PROCESS = Operation("process", "process", SpanKind.CONSUMER)


@dataclass(frozen=True, slots=True)
class Beginning:
    """The beginning of a span: all that a sampler sees."""

    name: str
    kind: SpanKind
    attributes: Attributes


class Beginnings:
    """The beginnings of spans by operation and destination, each made once for a broker."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._endpoint: Endpoint | None = None
        self._made: dict[tuple[Operation, str], Beginning] = {}
        self._destinations: set[str] = {"", TEMPORARY}

    def of(self, operation: Operation, destination: str) -> Beginning:
        """An empty ``destination`` is none in particular."""
        endpoint = self._broker()
        if endpoint is not self._endpoint:
            self._endpoint = endpoint
            self._made.clear()
        if (made := self._made.get((operation, destination))) is not None:
            return made
        if destination not in self._destinations:
            if len(self._destinations) >= DESTINATIONS_MAX:
                return self.of(operation, "")
            self._destinations.add(destination)
        made = _beginning(operation, destination, endpoint)
        self._made[operation, destination] = made
        return made


def destination_of(message: Message) -> str:
    """The exchange that ``message`` goes to; for the default one, the queue."""
    if message.exchange:
        return message.exchange
    key = message.routing_key
    return TEMPORARY if key.startswith(NAMED_BY_THE_BROKER) else key or DEFAULT_EXCHANGE


def full_name(exchange: str, routing_key: str, queue: str = "") -> str:
    """The name of a destination by the conventions for RabbitMQ: exchange, routing key and, of a
    consumer, queue, as far as there are such."""
    parts = [exchange, routing_key]
    if queue != routing_key:
        parts.append(queue)
    return ":".join(filter(None, parts)) or DEFAULT_EXCHANGE


def _beginning(operation: Operation, destination: str, endpoint: Endpoint | None) -> Beginning:
    attributes: dict[str, str | int | bool] = {
        SYSTEM: "rabbitmq",
        OPERATION_NAME: operation.name,
        OPERATION_TYPE: operation.type,
    }
    if destination:
        attributes[DESTINATION_TEMPLATE] = destination
    if destination == TEMPORARY:
        attributes |= {DESTINATION_TEMPORARY: True, DESTINATION_ANONYMOUS: True}
    if endpoint is not None:
        attributes |= {SERVER_ADDRESS: endpoint.host, SERVER_PORT: endpoint.port}
    return Beginning(f"{operation.name} {destination}".rstrip(), operation.kind, attributes)
