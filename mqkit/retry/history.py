"""The history of a delivery: its attempt, those that are left, where it was first published to.
Pure, and computed when asked: from its headers, and the rules of the queue that it came from.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from mqkit.message import AttemptRules, Delivery
from mqkit.retry.headers import ATTEMPT as FAILURES
from mqkit.retry.headers import (
    FIRST_FAILURE,
    ORIGINAL_EXCHANGE,
    ORIGINAL_ROUTING_KEY,
    QUEUE,
    count_of,
    failures_of,
)
from mqkit.retry.names import owner_of_parking_lot


@dataclass(frozen=True, slots=True)
class History:
    """The history of ``delivery`` by ``rules``. Without rules, as for a delivery that no consumer
    of an app handed out, its headers are believed whatever queue they name."""

    delivery: Delivery
    rules: AttemptRules | None

    @property
    def attempt(self) -> int:
        """1 where no handler of the queue has failed yet."""
        return self._failures + 1

    @property
    def attempts_left(self) -> int | None:
        """The attempts after this one; ``None`` for a queue without a retry policy."""
        retries = None if self.rules is None else self.rules.retries
        return None if retries is None else max(0, retries - self._failures)

    @property
    def first_failure(self) -> datetime | None:
        """The time of the first failure on the queue."""
        moment = self.delivery.headers.get(FIRST_FAILURE)
        if not self._is_recorded or not isinstance(moment, str):
            return None
        try:
            return datetime.fromisoformat(moment)
        except ValueError:  # a peer may send any text
            return None

    @property
    def original_exchange(self) -> str:
        """The exchange of the first delivery to the queue."""
        return self._recorded(ORIGINAL_EXCHANGE, self.delivery.exchange)

    @property
    def original_routing_key(self) -> str:
        """The routing key of the first delivery to the queue."""
        return self._recorded(ORIGINAL_ROUTING_KEY, self.delivery.routing_key)

    @property
    def _failures(self) -> int:
        headers = self.delivery.headers
        if self.rules is None:
            return count_of(headers, FAILURES)
        return failures_of(headers, self.rules.queue)

    @property
    def _is_recorded(self) -> bool:
        """True if the headers are about the queue that the delivery came from: the queue itself, or
        the one whose parking lot it is."""
        if self.rules is None:
            return True
        failed_on = self.delivery.headers.get(QUEUE)
        queue = self.rules.queue
        owners = (queue, owner_of_parking_lot(queue), *self.rules.parks_for)
        return failed_on is not None and failed_on in owners

    def _recorded(self, name: str, otherwise: str) -> str:
        value = self.delivery.headers.get(name)
        return value if self._is_recorded and isinstance(value, str) else otherwise
