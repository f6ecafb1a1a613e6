"""The keys of a policy's definition: the values that they take, and the objects that they suit.

Measured on RabbitMQ 3.10.8, each key with each type of queue; ``consumer-timeout`` is RabbitMQ 4's,
and ``federation-...`` of a plugin.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from mqkit.topology.model import Overflow, QueueType

_MAX_AGE = re.compile(r"[0-9]{1,18}[YMDhms]")
_MAX_NUMBER = 2**63 - 1


class PolicyKey(NamedTuple):
    """One key. ``expected`` says which values are ``valid``."""

    expected: str
    valid: Callable[[Any], bool]
    unsuited: tuple[QueueType, ...] = ()
    """Queues of these types take no policy that has the key, not even for its other keys."""


def _whole(least: int, unsuited: tuple[QueueType, ...] = ()) -> PolicyKey:
    def valid(value: Any) -> bool:
        return type(value) is int and least <= value <= _MAX_NUMBER

    return PolicyKey(f"a whole number from {least} on", valid, unsuited)


def _one_of(*values: Any, unsuited: tuple[QueueType, ...] = ()) -> PolicyKey:
    def valid(value: Any) -> bool:
        return type(value) in (int, str) and value in values

    return PolicyKey(f"one of {', '.join(map(str, values))}", valid, unsuited)


def _text(unsuited: tuple[QueueType, ...] = ()) -> PolicyKey:
    return PolicyKey("a name", lambda value: isinstance(value, str), unsuited)


def _any(unsuited: tuple[QueueType, ...] = ()) -> PolicyKey:
    return PolicyKey("a value", lambda value: value is not None, unsuited)


_C, _Q, _S = QueueType.CLASSIC, QueueType.QUORUM, QueueType.STREAM

POLICY_KEYS: dict[str, PolicyKey] = {
    "message-ttl": _whole(0, (_S,)),
    "expires": _whole(1, (_S,)),
    "max-length": _whole(0, (_S,)),
    "max-length-bytes": _whole(0),
    "max-in-memory-length": _whole(0, (_S,)),
    "max-in-memory-bytes": _whole(0, (_S,)),
    "delivery-limit": _whole(0, (_C, _S)),
    "consumer-timeout": _whole(1),
    "overflow": _one_of(*map(str, Overflow), unsuited=(_S,)),
    "dead-letter-exchange": _text((_S,)),
    "dead-letter-routing-key": _text((_S,)),
    "dead-letter-strategy": _one_of("at-most-once", "at-least-once", unsuited=(_C, _S)),
    "alternate-exchange": _text(),
    "queue-mode": _one_of("default", "lazy", unsuited=(_Q, _S)),
    "queue-version": _one_of(1, 2),
    "queue-master-locator": _one_of("min-masters", "client-local", "random", unsuited=(_Q, _S)),
    "queue-leader-locator": _one_of(
        *("client-local", "balanced", "random", "least-leaders"), unsuited=(_C,)
    ),
    "initial-cluster-size": _whole(0, (_C, _Q)),
    "max-age": PolicyKey(
        "an age like 7D or 12h",
        lambda value: isinstance(value, str) and _MAX_AGE.fullmatch(value) is not None,
        (_C, _Q),
    ),
    "stream-max-segment-size-bytes": _whole(0, (_C, _Q)),
    "ha-mode": _one_of("all", "exactly", "nodes", unsuited=(_Q, _S)),
    "ha-params": _any((_Q, _S)),
    "ha-sync-mode": _one_of("manual", "automatic", unsuited=(_Q, _S)),
    "ha-sync-batch-size": _whole(1, (_Q, _S)),
    "ha-promote-on-shutdown": _one_of("always", "when-synced", unsuited=(_Q, _S)),
    "ha-promote-on-failure": _one_of("always", "when-synced", unsuited=(_Q, _S)),
    "federation-upstream": _text(),
    "federation-upstream-set": _text(),
    "federation-upstream-pattern": _text(),
}

VIA_POLICY: dict[str, tuple[str, ...]] = {
    "max_length": ("max-length",),
    "max_length_bytes": ("max-length-bytes",),
    "overflow": ("overflow",),
    "message_ttl": ("message-ttl",),
    "expires": ("expires",),
    "dead_letter": ("dead-letter-exchange", "dead-letter-routing-key"),
}
"""The keys of a queue in the file that ``via_policy`` may list, and the policy keys of each. The
argument of the same meaning has ``x-`` before it."""

LOWEST = frozenset(
    (
        *("message-ttl", "expires", "max-length", "max-length-bytes", "max-in-memory-length"),
        *("max-in-memory-bytes", "delivery-limit", "consumer-timeout"),
    )
)
"""Keys of which the lowest of argument, policy and operator policy is in force (RabbitMQ,
"Policies" and "Operator policies"). Of any other the argument is, where there is one."""

FATE = (
    *("message-ttl", "expires", "max-length", "max-length-bytes", "overflow", "delivery-limit"),
    *("dead-letter-exchange", "dead-letter-routing-key", "dead-letter-strategy", "max-age"),
    "alternate-exchange",
)
"""Keys that decide what becomes of a message. Where a queue lies and how it is mirrored, which
others decide, is no difference from a file."""


def argument_of(key: str) -> str:
    """The argument of a declaration that says the same as the policy key ``key``."""
    return key if key == "alternate-exchange" else f"x-{key}"
