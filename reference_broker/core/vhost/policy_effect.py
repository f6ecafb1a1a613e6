"""The effect of policies on a queue or an exchange: its arguments and its policies become one set
of limits.

The law: of a number the smallest of argument, policy and operator policy holds; of all else the
argument, if there is one (rabbit_amqqueue_process, rabbit_policy). Limits are values that a queue
holds: when a policy changes they are swapped, and no message is looked at for it.

A TTL counts for messages that are published from then on, as in RabbitMQ; a length limit cuts at
once, and ``expires`` starts over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from reference_broker.core.arguments.queue_arguments import MAX_EXPIRY_MS, Overflow, QueueArguments
from reference_broker.core.exchange.exchange import ALTERNATE_EXCHANGE

if TYPE_CHECKING:
    from reference_broker.core.exchange.exchange import Exchange
    from reference_broker.core.policy.policy import AppliedPolicies
    from reference_broker.core.queue.queue import Queue

_SMALLEST = {
    "message-ttl": "message_ttl_ms",
    "expires": "expires_ms",
    "max-length": "max_length",
    "max-length-bytes": "max_length_bytes",
    "delivery-limit": "delivery_limit",
    "consumer-timeout": "consumer_timeout_ms",
}
"""Keys of which the smallest value holds, and the field of :class:`QueueArguments` for each."""

_TIMES = ("message-ttl", "expires")
"""Keys whose value is a time. A policy's has no upper bound in RabbitMQ; more than ten years is as
good as ten years."""

_ARGUMENT_WINS = {
    "dead-letter-exchange": "dead_letter_exchange",
    "dead-letter-routing-key": "dead_letter_routing_key",
}


def effective_limits(
    own: QueueArguments, arguments: Mapping[str, Any], definition: Mapping[str, Any]
) -> QueueArguments:
    """``own``, the limits that ``arguments`` ask for, with the additions and cuts of policies."""
    changes: dict[str, Any] = {}
    for key, field in _SMALLEST.items():
        if key in definition:
            value = definition[key]
            if key in _TIMES:
                value = min(value, MAX_EXPIRY_MS)
            mine = getattr(own, field)
            # And not a default, which a policy may raise, or one of a queue in the log that is bad.
            is_mine = f"x-{key}" in arguments and mine is not None
            # A negative delivery limit is none.
            changes[field] = min(mine, value) if is_mine and mine >= 0 else value
    for key, field in _ARGUMENT_WINS.items():
        if key in definition and f"x-{key}" not in arguments:
            changes[field] = definition[key]
    if "overflow" in definition and "x-overflow" not in arguments:
        changes["overflow"] = Overflow(definition["overflow"])
    return replace(own, **changes) if changes else own


def apply_to_queue(queue: Queue, policies: AppliedPolicies) -> None:
    """Apply these policies to ``queue`` from now on. Its dead letters wait in the list of its
    environment: the caller drains it."""
    limits = effective_limits(queue.own_limits, queue.arguments, policies.definition())
    queue.take_limits(limits, policies)


def apply_to_exchange(exchange: Exchange, policies: AppliedPolicies) -> bool:
    """Apply these policies to ``exchange`` from now on; true when routes may have changed."""
    exchange.policies = policies
    before = exchange.alternate
    exchange.alternate = exchange.arguments.get(
        ALTERNATE_EXCHANGE, policies.definition().get(ALTERNATE_EXCHANGE)
    )
    return exchange.alternate != before
