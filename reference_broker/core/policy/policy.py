"""A policy: what queues and exchanges whose names match it get, beside their own arguments.

Of the user policies that match an object one applies, and of the operator policies one: the one of
the highest priority, and of equal ones the one that was there first (RabbitMQ leaves that open).
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from reference_broker.core.base.pattern import Pattern
from reference_broker.core.policy.policy_keys import POLICY_KEYS


class PolicyKind(StrEnum):
    """Whose policy it is; the value is RabbitMQ's name of the component."""

    USER = "policy"
    OPERATOR = "operator_policy"


class ApplyTo(StrEnum):
    """The objects that a policy applies to. The three queue types are RabbitMQ's from 3.12 on."""

    ALL = "all"
    QUEUES = "queues"
    CLASSIC_QUEUES = "classic_queues"
    QUORUM_QUEUES = "quorum_queues"
    STREAMS = "streams"
    EXCHANGES = "exchanges"


_OF_EXCHANGES = (ApplyTo.ALL, ApplyTo.EXCHANGES)
_OF_QUEUES = {
    "classic": (ApplyTo.ALL, ApplyTo.QUEUES, ApplyTo.CLASSIC_QUEUES),
    "quorum": (ApplyTo.ALL, ApplyTo.QUEUES, ApplyTo.QUORUM_QUEUES),
}


@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    """One policy as it was set; setting it again makes a new object of the same ``number``.

    ``definition`` is valid and read only. Of equal priorities the lower number is the older.
    """

    name: str
    pattern: Pattern
    apply_to: ApplyTo
    definition: Mapping[str, Any]
    priority: float
    number: int

    @property
    def rank(self) -> tuple[float, int]:
        """Sorts the policies of a kind, best first."""
        return -self.priority, self.number

    def covers_queue(self, name: bytes, type: str) -> bool:
        """It is for this queue of ``x-queue-type`` ``type``. With a key that
        such queues don't have it is for none."""
        return (
            self.apply_to in _OF_QUEUES[type]
            and self.pattern.matches(name)
            and not any(type in POLICY_KEYS[key].unsuited for key in self.definition)
        )

    def covers_exchange(self, name: bytes) -> bool:
        """It is for this exchange."""
        return self.apply_to in _OF_EXCHANGES and self.pattern.matches(name)


class AppliedPolicies(NamedTuple):
    """The policies that apply to one queue or exchange."""

    user: Policy | None = None
    operator: Policy | None = None

    def definition(self) -> Mapping[str, Any]:
        """Both in one: where they have the same key, the smaller number holds. Every key that an
        operator policy may have is a number (see :data:`POLICY_KEYS`)."""
        user = self.user.definition if self.user else {}
        operator = self.operator.definition if self.operator else {}
        merged = {**user, **operator}
        for key in operator:
            if key in user:
                merged[key] = min(user[key], operator[key])
        return merged


NO_POLICIES = AppliedPolicies()


def octets(name: str) -> bytes:
    """The name of a queue or exchange as it was on the wire."""
    return name.encode(errors="surrogateescape")


class PolicyTable:
    """The policies of one kind in one virtual host, by name and in order of rank."""

    def __init__(self) -> None:
        self._by_name: dict[str, Policy] = {}
        self._ranked: list[Policy] = []
        self.instructions = 0
        """Those of all patterns: what a declaration may cost that is matched with each of them."""

    def __len__(self) -> int:
        return len(self._by_name)

    def __iter__(self) -> Iterator[Policy]:
        """Best first."""
        return iter(self._ranked)

    def get(self, name: str) -> Policy | None:
        return self._by_name.get(name)

    def put(self, policy: Policy) -> None:
        """Add ``policy``, in place of the one that has its name."""
        self.remove(policy.name)
        self._by_name[policy.name] = policy
        self.instructions += policy.pattern.instructions
        insort(self._ranked, policy, key=lambda each: each.rank)

    def remove(self, name: str) -> Policy | None:
        """Remove the policy of that name; ``None`` when there is none."""
        policy = self._by_name.pop(name, None)
        if policy is not None:
            self._ranked.remove(policy)
            self.instructions -= policy.pattern.instructions
        return policy

    def best_for_queue(self, name: bytes, type: str) -> Policy | None:
        """The policy that applies to a queue, if one does."""
        return next((each for each in self._ranked if each.covers_queue(name, type)), None)

    def best_for_exchange(self, name: bytes) -> Policy | None:
        """The policy that applies to an exchange, if one does."""
        return next((each for each in self._ranked if each.covers_exchange(name)), None)
