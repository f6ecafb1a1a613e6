"""The settings that are in force on a queue or exchange: arguments, policy and operator policy.

One policy and one operator policy apply to an object: of those that match it, the one of the
highest priority (RabbitMQ, "Policies"). A pattern is searched for in the octets of a name. A policy
with a key that a queue of its type has not applies to no such queue, whatever its other keys are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from mqkit.declaration import Exchange, Queue
from mqkit.topology.model import QueueType
from mqkit.topology.policy.keys import FATE, LOWEST, POLICY_KEYS, argument_of
from mqkit.topology.policy.policy_model import ApplyTo, PolicyModel

PATTERNS_KEPT = 1_024
"""Compiled patterns: each is searched for in every name of a virtual host."""

_OF_QUEUES = {
    QueueType.CLASSIC: (ApplyTo.ALL, ApplyTo.QUEUES, ApplyTo.CLASSIC_QUEUES),
    QueueType.QUORUM: (ApplyTo.ALL, ApplyTo.QUEUES, ApplyTo.QUORUM_QUEUES),
    QueueType.STREAM: (ApplyTo.ALL, ApplyTo.QUEUES, ApplyTo.STREAMS),
}
_OF_EXCHANGES = (ApplyTo.ALL, ApplyTo.EXCHANGES)


class Setting(NamedTuple):
    """A value that is in force, and ``source``, in words, that it comes from."""

    value: Any
    source: str


class Applying(NamedTuple):
    """The policies that apply to one object."""

    policy: PolicyModel | None = None
    operator: PolicyModel | None = None


@lru_cache(maxsize=PATTERNS_KEPT)
def compiled(pattern: str) -> re.Pattern[bytes] | None:
    """The pattern; ``None`` for one that is no regular expression to Python."""
    try:
        return re.compile(pattern.encode("utf-8", "surrogateescape"))
    except (re.error, OverflowError, RecursionError):
        return None


def matches(policy: PolicyModel, declaration: Queue | Exchange) -> bool:
    """True if ``policy`` is for the object; the one that applies is the best of these."""
    pattern = compiled(policy.pattern)
    name = declaration.name.encode("utf-8", "surrogateescape")
    if pattern is None or pattern.search(name) is None:
        return False
    if isinstance(declaration, Exchange):
        return policy.apply_to in _OF_EXCHANGES
    kind = type_of(declaration)
    return policy.apply_to in _OF_QUEUES[kind] and not any(
        key in POLICY_KEYS and kind in POLICY_KEYS[key].unsuited for key in policy.definition
    )


def best(policies: Iterable[PolicyModel], declaration: Queue | Exchange) -> PolicyModel | None:
    """The policy of ``policies`` that applies; of equal priorities the first (the broker does not
    say which)."""
    found = [policy for policy in policies if matches(policy, declaration)]
    return max(found, key=lambda policy: policy.priority, default=None)


def type_of(queue: Queue) -> QueueType:
    """The queue's type; classic for one that is unknown here."""
    try:
        return QueueType(queue.arguments.get("x-queue-type", QueueType.CLASSIC))
    except ValueError:
        return QueueType.CLASSIC


def settings_in_force(declaration: Queue | Exchange, applying: Applying) -> dict[str, Setting]:
    """The keys of :data:`~mqkit.topology.policy.keys.FATE` that have a value, and where it is
    from."""
    found: dict[str, Setting] = {}
    for key in FATE:
        options = list(_options(key, declaration.arguments, applying))
        if options:
            found[key] = min(options, key=_size) if key in LOWEST else options[0]
    return found


def _options(key: str, arguments: Mapping[str, Any], applying: Applying) -> Iterable[Setting]:
    """The values that are given for ``key``, the strongest first."""
    if (argument := argument_of(key)) in arguments:
        yield Setting(arguments[argument], f"argument {argument}")
    if applying.operator is not None and key in applying.operator.definition:
        yield Setting(
            applying.operator.definition[key], f"operator policy {applying.operator.name!r}"
        )
    if applying.policy is not None and key in applying.policy.definition:
        yield Setting(applying.policy.definition[key], f"policy {applying.policy.name!r}")


def _size(setting: Setting) -> float:
    """A negative number is no limit (``x-delivery-limit: -1``), and text none either."""
    value = setting.value
    is_limit = isinstance(value, int | float) and value >= 0
    return value if is_limit else float("inf")
