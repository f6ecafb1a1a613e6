"""What happened in a run: told to every checker, counted, and folded into one hash.

Two runs of a seed are the same when their hashes are.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence

from reference_broker.simulation.checkers import Checker
from reference_broker.simulation.events import Delivery, Message, Settlement

_DIGEST_BYTES = 16


class History:
    """The one place that events go through. ``counts`` are by kind of event.

    Raises :exc:`Violation`, from any method, when a checker does.
    """

    def __init__(self, checkers: Sequence[Checker]) -> None:
        self.counts: Counter[str] = Counter()
        self._checkers = checkers
        self._digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)

    @property
    def trace_hash(self) -> str:
        """Of everything that was noted so far."""
        return self._digest.hexdigest()

    def note(self, *what: object) -> None:
        """Make something part of the trace."""
        self._digest.update(repr(what).encode())

    def begin_session(self) -> int:
        """A client is about to connect: the number of its session."""
        self.counts["sessions"] += 1
        return self.counts["sessions"]

    def publish(
        self, session: int, queues: tuple[str, ...], persistent: bool, settled_before: int
    ) -> Message:
        """A client is about to publish: gives the message its number."""
        self.counts["published"] += 1
        number = self.counts["published"]
        message = Message(number, session, queues, persistent, settled_before)
        self.note("published", number, session, queues, persistent)
        for checker in self._checkers:
            checker.published(message)
        return message

    def confirmed(self, message: Message) -> None:
        self.counts["confirmed"] += 1
        self.note("confirmed", message.number)
        for checker in self._checkers:
            checker.confirmed(message)

    def nacked(self, message: Message) -> None:
        """The broker nacked it: it may be in some of its queues, and nothing is promised."""
        self.counts["nacked"] += 1
        self.note("nacked", message.number)

    def delivered(self, delivery: Delivery) -> None:
        self.counts["delivered"] += 1
        self.counts["redelivered"] += delivery.redelivered
        self.note("delivered", *delivery.entry, delivery.session, delivery.redelivered)
        for checker in self._checkers:
            checker.delivered(delivery)

    def settled(self, delivery: Delivery, how: Settlement) -> None:
        self.counts[how.value] += 1
        self.note("settled", *delivery.entry, delivery.session, how.value)
        for checker in self._checkers:
            checker.settled(delivery, how)

    def session_ended(self, session: int) -> None:
        self.note("session ended", session)
        for checker in self._checkers:
            checker.session_ended(session)

    def recovered(self, queues: Mapping[str, Sequence[int]]) -> None:
        self.counts["starts"] += 1
        self.note("recovered", sorted(queues.items()))
        for checker in self._checkers:
            checker.recovered(queues)

    def drained(self) -> None:
        self.note("drained")
        for checker in self._checkers:
            checker.drained()
