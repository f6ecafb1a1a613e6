"""Progress from look to look: what stands still, and since when."""

from __future__ import annotations

from mqkit.consumer.breaker.states import State
from mqkit.consumer.stats import Stats
from mqkit.health.progress import Progress


class Consumer:
    def __init__(self) -> None:
        self.stats = Stats()
        self.circuit_state = State.CLOSED


class Looks:
    """Looks at one consumer, each some seconds after the last."""

    def __init__(self) -> None:
        self.consumer = Consumer()
        self._progress = Progress()
        self._now_s = 0.0

    def look(self, after_s: float = 10.0) -> float:
        self._now_s += after_s
        return self._progress.look([self.consumer], self._now_s)[self.consumer]


def test_messages_and_no_settlement_are_a_standstill() -> None:
    looks = Looks()
    looks.consumer.stats.delivered = 3
    assert [looks.look() for _ in range(4)] == [0, 10, 20, 30]
    looks.consumer.stats.acked = 1
    assert [looks.look() for _ in range(3)] == [0, 10, 20]


def test_an_idle_consumer_does_not_stand_still_however_rarely_it_is_looked_at() -> None:
    looks = Looks()
    looks.consumer.stats.delivered = looks.consumer.stats.acked = 5
    assert looks.look() == 0
    looks.consumer.stats.delivered = 6  # a moment ago
    assert looks.look(3600) == 0
    assert looks.look(1) == 1


def test_new_messages_are_no_progress() -> None:
    looks = Looks()
    looks.consumer.stats.delivered = 1
    looks.look()
    looks.consumer.stats.delivered = 2
    assert looks.look() == 10


def test_a_retry_that_is_held_in_order_is_progress() -> None:
    looks = Looks()
    looks.consumer.stats.delivered = 1
    looks.look()
    looks.consumer.stats.held = 1
    assert looks.look() == 0


def test_an_open_circuit_keeps_its_message_on_purpose() -> None:
    looks = Looks()
    looks.consumer.stats.delivered = 1
    looks.look()
    looks.consumer.circuit_state = State.OPEN
    assert looks.look(1000) == 0
    looks.consumer.circuit_state = State.CLOSED
    assert looks.look(1000) == 0


def test_a_consumer_that_has_ended_is_forgotten() -> None:
    progress, consumer = Progress(), Consumer()
    consumer.stats.delivered = 1
    progress.look([consumer], 1.0)
    assert progress.look([], 2.0) == {}
    assert progress.look([consumer], 3.0) == {consumer: 0.0}
