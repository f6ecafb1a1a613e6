"""A confirmed persistent message is in each of its queues, until somebody settled it there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from reference_broker.simulation.checkers.checker import Checker
from reference_broker.simulation.events import Delivery, Entry, Message, Settlement


class DurabilityChecker(Checker):
    """``dead_letters`` says where a queue's rejected messages go; where it says nothing, a reject
    is the end of the message.

    A settlement counts when it was sent: nobody knows whether it arrived before a crash.
    """

    name = "durability"

    def __init__(self, dead_letters: Mapping[str, str]) -> None:
        self._dead_letters = dead_letters
        self._owed: dict[Entry, None] = {}
        """Entries that were confirmed, and for all that is known are not settled."""
        self._finished: set[Entry] = set()
        self._moved: dict[Entry, None] = {}
        """Rejected ones that are here, or in the queue for dead letters."""

    def confirmed(self, message: Message) -> None:
        if message.persistent:
            for queue in message.queues:
                entry = (queue, message.number)
                if entry not in self._finished:
                    self._owed[entry] = None

    def settled(self, delivery: Delivery, how: Settlement) -> None:
        if how is Settlement.REQUEUE:
            return
        entry = delivery.entry
        if how is Settlement.REJECT and delivery.queue in self._dead_letters:
            self._moved[entry] = None
            return
        self._finished.add(entry)
        self._owed.pop(entry, None)

    def recovered(self, queues: Mapping[str, Sequence[int]]) -> None:
        present = {name: frozenset(numbers) for name, numbers in queues.items()}
        nothing: frozenset[int] = frozenset()
        self._check(lambda queue, number: number in present.get(queue, nothing), "a start")

    def drained(self) -> None:
        self._check(lambda queue, number: False, "everything was consumed")

    def _check(self, present: Callable[[str, int], bool], after: str) -> None:
        lost = [entry for entry in self._owed if not self._is_kept(entry, present)]
        if lost:
            queue, number = lost[0]
            raise self.fail(
                f"{len(lost)} confirmed messages are gone after {after}; "
                f"the first is {number} in '{queue}'",
                lost=len(lost),
            )

    def _is_kept(self, entry: Entry, present: Callable[[str, int], bool]) -> bool:
        queue, number = entry
        if present(queue, number):
            return True
        if entry not in self._moved:
            return False
        target = self._dead_letters[queue]
        return (target, number) in self._finished or present(target, number)
