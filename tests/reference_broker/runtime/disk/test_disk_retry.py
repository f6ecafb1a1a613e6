"""The tries of a full disk: one after the other, while somebody waits for room."""

from __future__ import annotations

from reference_broker.runtime.disk.disk_retry import DISK_FULL_RETRY_S, DiskRetry
from reference_broker.simulation.events.clock import SimulatedClock


class Full:
    """A disk that is full until ``tries`` of it have failed."""

    def __init__(self, tries: int = 1_000) -> None:
        self.tries = 0
        self.clock = SimulatedClock()
        self.retry = DiskRetry(self.clock.call_later, lambda: self.tries < tries, self._try)

    def _try(self) -> None:
        self.tries += 1

    def run(self, tries: float) -> None:
        self.clock.run(self.clock.now_us + round(tries * DISK_FULL_RETRY_S * 1_000_000))


def test_nothing_is_tried_before_it_is_said_that_the_disk_is_full() -> None:
    full = Full()
    full.run(5)
    assert full.tries == 0


def test_it_is_tried_again_and_again_and_not_twice_at_a_time() -> None:
    full = Full()
    full.retry.later()
    full.retry.later()
    full.run(0.9)
    assert full.tries == 0
    full.run(3)
    assert full.tries == 3
    full.retry.later()
    full.run(2)
    assert full.tries == 5


def test_it_ends_with_the_shortage_and_begins_with_the_next_one() -> None:
    full = Full(tries=2)
    full.retry.later()
    full.run(10)
    assert full.tries == 2
    full.tries = 0
    full.run(10)
    assert full.tries == 0
    full.retry.later()
    full.run(10)
    assert full.tries == 2


def test_a_stop_ends_it_for_good() -> None:
    full = Full()
    full.retry.later()
    full.retry.close()
    full.retry.close()
    full.retry.later()
    full.run(10)
    assert full.tries == 0
