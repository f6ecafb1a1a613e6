"""The types of queue that there are, and what each refuses, in RabbitMQ's words.

Classic and quorum queues run on the same engine: a message of either is on disk before its
publisher is told. What makes a quorum queue one: it is durable, it stores every message, it counts
failed deliveries (:mod:`delivery_counts`), and some of what AMQP offers it does not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from reference_broker.core.base.names import described
from reference_broker.errors import ChannelException, ConnectionException, ReplyCode


class QueueType(StrEnum):
    """``x-queue-type``. Streams are refused: see :func:`named_type`."""

    CLASSIC = "classic"
    QUORUM = "quorum"

    @property
    def module(self) -> str:
        """The name of the type in RabbitMQ's error texts."""
        return f"rabbit_{self.value}_queue"


STREAM = "stream"

DEFAULT_DELIVERY_LIMIT = 20
"""Of a quorum queue for which neither argument nor policy says another (RabbitMQ 4)."""

NOT_OF_CLASSIC_QUEUES = (
    "x-delivery-limit",
    "x-quorum-initial-group-size",
    "x-max-in-memory-length",
    "x-max-in-memory-bytes",
    "x-max-age",
    "x-stream-max-segment-size-bytes",
    "x-initial-cluster-size",
    "x-queue-leader-locator",
    "x-dead-letter-strategy",
)

NOT_OF_QUORUM_QUEUES = (
    "x-max-priority",
    "x-queue-mode",
    "x-queue-version",
    "x-queue-master-locator",
    "x-max-age",
    "x-stream-max-segment-size-bytes",
    "x-initial-cluster-size",
)

FOREIGN_ARGUMENTS: dict[QueueType, tuple[str, ...]] = {
    QueueType.CLASSIC: NOT_OF_CLASSIC_QUEUES,
    QueueType.QUORUM: NOT_OF_QUORUM_QUEUES,
}
"""Arguments that RabbitMQ knows, and refuses for a queue of the type."""


def named_type(name: str) -> QueueType | None:
    """The type of that name; ``None`` when there is none. Raises :exc:`ConnectionException` 540 for
    a stream: who asks for one wants to read it again from any place, and must be told at once."""
    if name == STREAM:
        raise ConnectionException(
            ReplyCode.NOT_IMPLEMENTED,
            "queue type 'stream' is not supported by this broker, use 'classic' or 'quorum'",
        )
    return QueueType(name) if name in list(QueueType) else None


def with_default_type(
    arguments: Mapping[str, Any], default: str, *, temporary: bool
) -> dict[str, Any]:
    """The arguments of a declaration, with the ``default`` queue type of its virtual host where
    they name none. A ``temporary`` queue (exclusive, auto-delete or not durable) is classic where
    the default can't be so (RabbitMQ 3.12)."""
    complete = dict(arguments)
    if default == QueueType.CLASSIC or (default in (*QueueType, STREAM) and not temporary):
        complete.setdefault("x-queue-type", default)
    return complete


def refuse_foreign_arguments(type: QueueType, arguments: Mapping[str, Any], where: str) -> None:
    """Raises :exc:`ChannelException` 406 for an argument that only other types have."""
    for name in arguments:
        if name in FOREIGN_ARGUMENTS[type]:
            raise ChannelException(
                ReplyCode.PRECONDITION_FAILED,
                f"invalid arg '{name}' for {where} of queue type {type.module}",
            )


def check_properties(
    type: QueueType,
    name: str,
    vhost_name: str,
    *,
    durable: bool,
    exclusive: bool,
    auto_delete: bool,
) -> None:
    """Raises :exc:`ChannelException` 406 when a new queue of the type can't be so."""
    if type is QueueType.CLASSIC:
        return
    refused = {
        "auto-delete": auto_delete,
        "exclusive-owner": exclusive,
        "non-durable": not durable,
    }
    for prop, is_so in refused.items():
        if is_so:
            raise ChannelException(
                ReplyCode.PRECONDITION_FAILED,
                f"invalid property '{prop}' for {described('queue', name, vhost_name)}",
            )


def check_server_named(type_name: object) -> None:
    """Raises :exc:`ChannelException` 406 when the broker is to name a queue of a type for which it
    does not."""
    if type_name == QueueType.QUORUM:
        raise ChannelException(
            ReplyCode.PRECONDITION_FAILED,
            f"Cannot declare a server-named queue for type {QueueType.QUORUM.module}",
        )


def check_conditional_deletion(
    type: QueueType, name: str, vhost_name: str, *, if_unused: bool, if_empty: bool
) -> None:
    """Raises :exc:`ConnectionException` 540: a quorum queue is deleted unconditionally or not."""
    if type is QueueType.CLASSIC:
        return
    for flag, is_set in (("if-unused", if_unused), ("if-empty", if_empty)):
        if is_set:
            raise ConnectionException(
                ReplyCode.NOT_IMPLEMENTED,
                f"cannot delete {described('queue', name, vhost_name)}. queue.delete operations"
                f" with {flag} flag set are not supported by quorum queues",
            )


def check_get(type: QueueType, name: str, vhost_name: str) -> None:
    """For a queue with a single active consumer. Raises :exc:`ChannelException` 405: what such a
    quorum queue has is its consumer's."""
    if type is QueueType.QUORUM:
        raise ChannelException(
            ReplyCode.RESOURCE_LOCKED,
            f"cannot obtain access to locked {described('queue', name, vhost_name)}. basic.get"
            " operations are not supported by quorum queues with single active consumer",
        )


def check_global_qos(type: QueueType, name: str, vhost_name: str, global_prefetch: int) -> None:
    """Raises :exc:`ConnectionException` 540 for a consumer on a channel with a global prefetch."""
    if type is QueueType.QUORUM and global_prefetch:
        raise ConnectionException(
            ReplyCode.NOT_IMPLEMENTED,
            f"{described('queue', name, vhost_name)} does not support global qos",
        )
