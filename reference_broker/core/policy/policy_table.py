"""The policies of one kind in one virtual host, best first."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator

from reference_broker.core.policy.policy import Policy


class PolicyTable:
    """By name, and in order of rank."""

    def __init__(self) -> None:
        self._by_name: dict[str, Policy] = {}
        self._ranked: list[Policy] = []

    def __len__(self) -> int:
        return len(self._by_name)

    def __iter__(self) -> Iterator[Policy]:
        """Best first."""
        return iter(self._ranked)

    def get(self, name: str) -> Policy | None:
        return self._by_name.get(name)

    def put(self, policy: Policy) -> None:
        """Add it, in place of the one that has its name."""
        self.remove(policy.name)
        self._by_name[policy.name] = policy
        insort(self._ranked, policy, key=lambda each: each.rank)

    def remove(self, name: str) -> Policy | None:
        """Take it out; ``None`` when there is none of that name."""
        policy = self._by_name.pop(name, None)
        if policy is not None:
            self._ranked.remove(policy)
        return policy

    def best_for_queue(self, name: bytes, type: str) -> Policy | None:
        """The one that applies to a queue, if one does."""
        return next((each for each in self._ranked if each.covers_queue(name, type)), None)

    def best_for_exchange(self, name: bytes) -> Policy | None:
        """The one that applies to an exchange, if one does."""
        return next((each for each in self._ranked if each.covers_exchange(name)), None)
