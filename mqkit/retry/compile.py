"""A retry policy as queues: one with a fixed TTL per tier, and a parking lot.

Why fixed TTLs: a queue expires messages only at its head, so a short per-message TTL behind a
long one waits for the long one (rabbitmq-server, "Time-To-Live", caveats). Why one set of tiers
per queue: a tier dead-letters over the default exchange to exactly the queue that failed, and to
no other consumer of the original exchange. Why no length limit on them: what waits in a tier is a
message that nobody else has.
"""

from __future__ import annotations

from mqkit.declaration import Queue
from mqkit.retry.names import BY_FORM, RetryNames
from mqkit.retry.policy import RetryPolicy

UNLIMITED_DELIVERIES = 2**31 - 1
"""For a quorum parking lot: since RabbitMQ 4.0 the default limit is 20, and a message that was
looked at 20 times (get, requeue) would be dropped. ``-1`` means "no limit" only from 4.0 on."""


def compile_tier(
    queue: str, after_ms: int, *, quorum: bool = False, names: RetryNames = BY_FORM
) -> Queue:
    """The queue in which failed messages of ``queue`` wait ``after_ms`` milliseconds.

    A quorum tier dead-letters at-least-once (RabbitMQ "Quorum Queues", which asks for
    ``reject-publish`` with it): the broker keeps the message until ``queue`` has it.
    """
    arguments: dict[str, object] = {
        "x-message-ttl": after_ms,
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": queue,
    }
    if quorum:
        arguments |= {
            "x-queue-type": "quorum",
            "x-dead-letter-strategy": "at-least-once",
            "x-overflow": "reject-publish",
        }
    return Queue(names.tier(queue, after_ms), durable=True, arguments=arguments)


def compile_parking_lot(queue: str, *, quorum: bool = False, names: RetryNames = BY_FORM) -> Queue:
    """The parking lot of ``queue``: no TTL, no limit, no way out but a person's."""
    arguments: dict[str, object] = {}
    if quorum:
        arguments = {"x-queue-type": "quorum", "x-delivery-limit": UNLIMITED_DELIVERIES}
    return Queue(names.lot(queue), durable=True, arguments=arguments)


def compile_policy(queue: str, policy: RetryPolicy, *, quorum: bool = False) -> tuple[Queue, ...]:
    """The queues that ``policy`` adds beside ``queue``: the tiers, and the parking lot if it parks.

    The same input gives equal declarations, in the same order.
    """
    names = policy.names
    tiers = tuple(
        compile_tier(queue, after_ms, quorum=quorum, names=names) for after_ms in policy.tiers
    )
    if not policy.parks:
        return tiers
    return (*tiers, compile_parking_lot(queue, quorum=quorum, names=names))
