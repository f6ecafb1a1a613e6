"""The keys of a policy's definition, the values that they take, and RabbitMQ's words for others.

``ha-*`` and ``initial-cluster-size`` are taken and have no effect: a queue has one replica. The
locators place a queue in a cluster, when it is declared. Measured on RabbitMQ 3.10.8, with which
queue types a key suits; ``consumer-timeout`` is of RabbitMQ 4.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from mqkit.wire import EncodeError, encode_shortstr
from reference_broker.core.arguments.queue_arguments import Overflow

_MAX_AGE = re.compile(r"[0-9]{1,18}[YMDhms]")


class PolicyKey(NamedTuple):
    """One key. A value that is not ``valid`` is refused with ``fault`` behind it."""

    valid: Callable[[Any], bool]
    fault: str
    of_operators: bool = False
    """Operator policies may have it too. Then it is a number, and the smaller one holds."""
    unsuited: tuple[str, ...] = ()
    """Values of ``x-queue-type``: a policy with this key applies to no such queue."""


def _whole(least: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and value >= least


def _one_of(*values: Any) -> Callable[[Any], bool]:
    return lambda value: type(value) in (int, str) and value in values


def _is_name(value: Any) -> bool:
    """A text that fits where AMQP has names."""
    if not isinstance(value, str):
        return False
    try:
        encode_shortstr(value)
    except (EncodeError, UnicodeEncodeError):
        return False
    return True


def _is_max_age(value: Any) -> bool:
    return isinstance(value, str) and _MAX_AGE.fullmatch(value) is not None


def _anything(value: Any) -> bool:
    """Checked together with others, by :mod:`mirroring_keys`."""
    return True


_NOT_CLASSIC = ("classic",)
_NOT_QUORUM = ("quorum",)
_OF_STREAMS = ("classic", "quorum")

_LEADER_LOCATORS = ("client-local", "balanced", "random", "least-leaders")
_MASTER_LOCATORS = ("min-masters", "client-local", "random")

MIRRORING_KEYS = (
    "ha-mode",
    "ha-params",
    "ha-sync-mode",
    "ha-sync-batch-size",
    "ha-promote-on-shutdown",
    "ha-promote-on-failure",
)

POLICY_KEYS: dict[str, PolicyKey] = {
    "message-ttl": PolicyKey(_whole(0), "is not a valid message TTL", True),
    "expires": PolicyKey(_whole(1), "is not a valid queue expiry", True),
    "max-length": PolicyKey(_whole(0), "is not a valid maximum length", True),
    "max-length-bytes": PolicyKey(_whole(0), "is not a valid maximum length in bytes", True),
    "max-in-memory-length": PolicyKey(_whole(0), "is not a valid maximum memory in bytes", True),
    "max-in-memory-bytes": PolicyKey(_whole(0), "is not a valid maximum memory in bytes", True),
    "delivery-limit": PolicyKey(_whole(0), "is not a valid delivery limit", True, _NOT_CLASSIC),
    "consumer-timeout": PolicyKey(_whole(1), "is not a valid consumer timeout"),
    "overflow": PolicyKey(_one_of(*map(str, Overflow)), "is not a valid overflow value"),
    "dead-letter-exchange": PolicyKey(_is_name, "is not a valid dead letter exchange name"),
    "dead-letter-routing-key": PolicyKey(_is_name, "is not a valid dead letter routing key"),
    "dead-letter-strategy": PolicyKey(
        _one_of("at-most-once", "at-least-once"),
        "is not a valid dead letter strategy",
        unsuited=_NOT_CLASSIC,
    ),
    "alternate-exchange": PolicyKey(_is_name, "is not a valid alternate exchange name"),
    "queue-mode": PolicyKey(
        _one_of("default", "lazy"), "is not a valid queue-mode value", unsuited=_NOT_QUORUM
    ),
    "queue-version": PolicyKey(_one_of(1, 2), "is not a valid queue-version value"),
    "queue-master-locator": PolicyKey(
        _one_of(*_MASTER_LOCATORS), "invalid queue-master-locator value", unsuited=_NOT_QUORUM
    ),
    "queue-leader-locator": PolicyKey(
        _one_of(*_LEADER_LOCATORS),
        "is not a valid queue leader locator value",
        unsuited=_NOT_CLASSIC,
    ),
    "initial-cluster-size": PolicyKey(
        _whole(0), "is not a valid cluster size", unsuited=_OF_STREAMS
    ),
    "max-age": PolicyKey(_is_max_age, "is not a valid max age", unsuited=_OF_STREAMS),
    "stream-max-segment-size-bytes": PolicyKey(
        _whole(0), "is not a valid segment size", unsuited=_OF_STREAMS
    ),
    **{key: PolicyKey(_anything, "", unsuited=_NOT_QUORUM) for key in MIRRORING_KEYS},
}
"""Every key that is known; plugins' keys (federation) are not, as without the plugin."""
