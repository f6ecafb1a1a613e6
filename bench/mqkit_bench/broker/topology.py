"""The topology of a scenario: queues, exchanges, bindings. Thousands of them, so no answer is
awaited for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

from mqkit import wire
from mqkit.wire import methods
from mqkit_bench.session import Session

SETUP_TIMEOUT_S = 600.0
"""The timeout of the session that declares: RabbitMQ takes milliseconds for each durable
binding."""
BATCH = 256
"""Requests that are under way at once: their answers fit into the socket's buffers."""

Answer = TypeVar("Answer", bound=methods.Method)


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue, durable or not, with its arguments."""

    name: str
    durable: bool = True
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A durable exchange."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Binding:
    """A binding from an exchange to a queue."""

    exchange: str
    queue: str
    routing_key: str = ""


@dataclass(frozen=True, slots=True)
class Topology:
    """All of a scenario's objects. They are the bench's own: it deletes them afterwards."""

    queues: tuple[Queue, ...]
    exchanges: tuple[Exchange, ...] = ()
    bindings: tuple[Binding, ...] = ()

    def declare(self, session: Session) -> None:
        """Declare all objects, empty: the leftovers of an earlier run are deleted first.

        Raises :exc:`ConnectionError` when the broker refuses an object.
        """
        self.delete(session)
        _send(session, (_declare(queue) for queue in self.queues))
        _send(
            session,
            (
                methods.ExchangeDeclare(exchange=e.name, type=e.type, durable=True, nowait=True)
                for e in self.exchanges
            ),
        )
        _send(
            session,
            (
                methods.QueueBind(
                    queue=b.queue, exchange=b.exchange, routing_key=b.routing_key, nowait=True
                )
                for b in self.bindings
            ),
        )
        session.call(1, methods.BasicQos(), methods.BasicQosOk)  # all that is before it is done

    def ready(self, session: Session) -> int:
        """The number of ready messages, over all queues."""
        passive = (methods.QueueDeclare(queue=q.name, passive=True) for q in self.queues)
        return sum(a.message_count for a in _ask(session, passive, methods.QueueDeclareOk))

    def purge(self, session: Session) -> int:
        """Drop what is ready; how many that were."""
        purges = (methods.QueuePurge(queue=queue.name) for queue in self.queues)
        return sum(a.message_count for a in _ask(session, purges, methods.QueuePurgeOk))

    def delete(self, session: Session) -> int:
        """Delete all of it, with how many messages it held. What is not there is no error."""
        deletes = (methods.QueueDelete(queue=queue.name) for queue in self.queues)
        held = sum(a.message_count for a in _ask(session, deletes, methods.QueueDeleteOk))
        gone = (methods.ExchangeDelete(exchange=exchange.name) for exchange in self.exchanges)
        for _ in _ask(session, gone, methods.ExchangeDeleteOk):
            pass
        return held


def _declare(queue: Queue) -> methods.QueueDeclare:
    return methods.QueueDeclare(
        queue=queue.name, durable=queue.durable, nowait=True, arguments=dict(queue.arguments)
    )


def _send(session: Session, requests: Iterable[methods.Method]) -> None:
    for batch in _batches(requests):
        session.socket.sendall(b"".join(wire.method_frame(1, request) for request in batch))


def _ask(
    session: Session, requests: Iterable[methods.Method], answer: type[Answer]
) -> Iterator[Answer]:
    """The answers, in the order of the requests."""
    for batch in _batches(requests):
        session.socket.sendall(b"".join(wire.method_frame(1, request) for request in batch))
        for _ in batch:
            yield session.expect(answer)


def _batches(requests: Iterable[methods.Method]) -> Iterator[list[methods.Method]]:
    source = iter(requests)
    while batch := list(islice(source, BATCH)):
        yield batch
