"""queue.declare and queue.delete: their checks, in RabbitMQ's order and words, and the making of a
queue that has passed them.

A check raises, or changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_broker.core.arguments.equivalence import (
    QUEUE_ARGUMENTS,
    require_same,
    require_same_arguments,
)
from reference_broker.core.arguments.queue_arguments import QueueArguments, parse_stored
from reference_broker.core.base.names import described
from reference_broker.core.exchange.deduplication_rule import DeduplicationRule
from reference_broker.core.exchange.definitions import QueueDefinition
from reference_broker.core.queue.queue import Queue
from reference_broker.core.queue.rest import require_no_leaving
from reference_broker.errors import ChannelException, ReplyCode

if TYPE_CHECKING:
    from reference_broker.core.vhost.vhost import VHost


def default_type_for(existing: Queue | None, default: str) -> str:
    """The virtual host's ``default`` queue type, unless ``existing``, the queue of the declared
    name, was there before the default was: then none, which is empty."""
    if existing is not None and "x-queue-type" not in existing.arguments:
        return ""
    return default


def new_queue(vhost: VHost, wanted: QueueDefinition, durable: bool, owner: object | None) -> Queue:
    """The queue of a declaration, with its window and its policies; it is not in the topology yet.

    Raises :exc:`ChannelException` 406 for a bad argument, :exc:`ConnectionException` 540 for a
    stream.
    """
    limits = QueueArguments.parse(wanted.arguments, wanted.name, vhost.name)
    rule = DeduplicationRule.of_queue(wanted.arguments)
    return _queue_of(vhost, wanted, durable, owner, limits, rule, None)


def stored_queue(vhost: VHost, wanted: QueueDefinition, window_id: int | None) -> Queue:
    """:func:`new_queue` for a durable queue of the journal: a bad argument, which an earlier
    version took, is passed over. ``window_id`` is the id that the queue's window had, if any."""
    limits = parse_stored(wanted.arguments, wanted.name, vhost.name)
    rule = DeduplicationRule.of_stored_queue(wanted.arguments)
    return _queue_of(vhost, wanted, True, None, limits, rule, window_id)


def _queue_of(
    vhost: VHost,
    wanted: QueueDefinition,
    durable: bool,
    owner: object | None,
    limits: QueueArguments,
    rule: DeduplicationRule | None,
    window_id: int | None,
) -> Queue:
    window = None
    if rule is not None:
        kept = durable and owner is None
        window = vhost.inner_queues.window_of_queue(wanted.name, rule, window_id, durable=kept)
    queue = Queue(
        id=wanted.id,
        name=wanted.name,
        durable=durable,
        auto_delete=wanted.auto_delete,
        owner=owner,
        arguments=wanted.arguments,
        limits=limits,
        env=vhost,
        deduplication=window,
    )
    vhost.policies.adopt_queue(queue)
    return queue


def require_access(queue: Queue, owner: object | None, vhost_name: str) -> None:
    """Raises :exc:`ChannelException` 405 when ``queue`` is exclusive to another connection.

    ``owner`` is the connection that asks, ``None`` for the broker's own management.
    """
    if queue.owner is not None and queue.owner is not owner:
        raise _locked(queue, vhost_name)


def check_redeclared_queue(
    existing: Queue,
    wanted: QueueDefinition,
    vhost_name: str,
    *,
    durable: bool,
    owner: object | None,
) -> None:
    """Raises :exc:`ChannelException` when ``wanted`` is another queue than ``existing``: 405 where
    ``exclusive`` differs (``owner`` is ``None`` for a declaration without it), 406 for the rest."""
    if existing.owner is not owner:
        raise _locked(existing, vhost_name)
    resource = described("queue", existing.name, vhost_name)
    require_same("durable", durable, existing.durable, resource)
    require_same("auto_delete", wanted.auto_delete, existing.auto_delete, resource)
    require_same_arguments(wanted.arguments, existing.arguments, resource, QUEUE_ARGUMENTS)


def check_queue_deletion(
    queue: Queue, vhost_name: str, *, if_unused: bool, if_empty: bool, owner: object | None
) -> None:
    """Raises :exc:`ChannelException`: 405 for another connection's queue, 406 when a condition is
    not met. Only ready messages count against ``if_empty``, which is told first (RabbitMQ). And
    :exc:`NotYet` where consumers in the way are leaving."""
    require_access(queue, owner, vhost_name)
    resource = described("queue", queue.name, vhost_name)
    if if_empty and queue.ready:
        raise ChannelException(ReplyCode.PRECONDITION_FAILED, f"{resource} not empty")
    if if_unused and queue.consumers:
        require_no_leaving(queue)
        raise ChannelException(ReplyCode.PRECONDITION_FAILED, f"{resource} in use")


def _locked(queue: Queue, vhost_name: str) -> ChannelException:
    return ChannelException(
        ReplyCode.RESOURCE_LOCKED,
        "cannot obtain exclusive access to locked"
        f" {described('queue', queue.name, vhost_name)}. It could be originally declared on"
        " another connection or the exclusive property value does not match that of the original"
        " declaration.",
    )
