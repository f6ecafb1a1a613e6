"""The order in which the members of etcd are tried."""

from __future__ import annotations

from collections.abc import Sequence

from reference_broker.runtime.etcd.config import Endpoint


class Endpoints:
    """All endpoints: first the one that answered last, last the one that failed last, so that a
    member that does not answer costs its time once."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self._order = list(endpoints)

    def in_turn(self, avoid: Endpoint | None = None) -> tuple[Endpoint, ...]:
        """All of them, in the order to try; ``avoid`` comes last."""
        return tuple(sorted(self._order, key=lambda each: each == avoid))

    def answered(self, endpoint: Endpoint) -> None:
        """Try it first from now on."""
        self._order.remove(endpoint)
        self._order.insert(0, endpoint)

    def failed(self, endpoint: Endpoint) -> None:
        """Try it last from now on."""
        self._order.remove(endpoint)
        self._order.append(endpoint)
