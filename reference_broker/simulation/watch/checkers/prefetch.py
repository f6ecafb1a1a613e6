"""The law that a consumer never holds more unsettled messages than its prefetch, nor a channel than
its own."""

from __future__ import annotations

from collections import Counter

from reference_broker.simulation.events.events import Delivery, Settlement
from reference_broker.simulation.watch.checkers.checker import Checker


class PrefetchChecker(Checker):
    """Counts deliveries to a client, less the settlements that it has sent: the broker can't know
    of more settlements than were sent, so this is never above its own count.

    What basic.get gave counts against no prefetch, nor does what needs no ack.
    """

    name = "prefetch"

    def __init__(self) -> None:
        self._by_consumer: Counter[tuple[int, str]] = Counter()
        self._by_channel: Counter[int] = Counter()

    def delivered(self, delivery: Delivery) -> None:
        if not _counts(delivery):
            return
        session = delivery.session
        self._by_consumer[session, delivery.consumer] += 1
        self._by_channel[session] += 1
        held = self._by_consumer[session, delivery.consumer]
        if delivery.prefetch and held > delivery.prefetch:
            raise self.fail(
                f"a consumer of '{delivery.queue}' with a prefetch of {delivery.prefetch} "
                f"holds {held} messages"
            )
        held = self._by_channel[session]
        if delivery.channel_prefetch and held > delivery.channel_prefetch:
            raise self.fail(
                f"a channel with a prefetch of {delivery.channel_prefetch} holds {held} messages"
            )

    def settled(self, delivery: Delivery, how: Settlement) -> None:
        if _counts(delivery):
            self._by_consumer[delivery.session, delivery.consumer] -= 1
            self._by_channel[delivery.session] -= 1


def _counts(delivery: Delivery) -> bool:
    return bool(delivery.consumer) and not delivery.no_ack
