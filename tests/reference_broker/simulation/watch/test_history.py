from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import pytest

from reference_broker.simulation.events.clock import START_WALL_MS, SimulatedClock
from reference_broker.simulation.events.events import (
    BitRot,
    Copy,
    Delivery,
    DiskUse,
    Indexed,
    Losses,
    Message,
    Removal,
    RemovalKind,
    Settlement,
    Start,
)
from reference_broker.simulation.watch.checkers import Checker, Violation
from reference_broker.simulation.watch.history import History


class Listener(Checker):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def published(self, message: Message) -> None:
        self.told.append(f"published {message.number}")

    def confirmed(self, message: Message, wall_ms: int) -> None:
        self.told.append(f"confirmed {message.number} at {wall_ms - START_WALL_MS}")

    def delivered(self, delivery: Delivery) -> None:
        self.told.append(f"delivered {delivery.number}")

    def settled(self, delivery: Delivery, how: Settlement) -> None:
        self.told.append(f"{how.value} {delivery.number}")

    def removal_sent(self, removal: Removal) -> None:
        self.told.append(f"{removal.kind.value} {removal.queue}")

    def removed(self, removal: Removal) -> None:
        self.told.append(f"done {removal.queue}")

    def started(self, start: Start) -> None:
        self.told.append("started")

    def life_ended(self, losses: Losses) -> None:
        self.told.append("life ended")

    def bit_flipped(self, rot: BitRot) -> None:
        self.told.append("bit flipped")

    def compared(self, index: object, rebuilt: object, source: str) -> None:
        self.told.append(f"compared with {source}")

    def rested(self, use: DiskUse) -> None:
        self.told.append(f"rested with {use.size_bytes}")

    def drained(self, losses: Losses, wall_ms: int) -> None:
        self.told.append("drained")


EXPECTED = [
    "published 1", "confirmed 1 at 0", "delivered 1", "reject 1", "published 2", "purge q",
    "done q", "started", "bit flipped", "compared with footers", "rested with 9",
    "life ended", "drained",
]  # fmt: skip


def script(history: History) -> None:
    session = history.begin_session()
    message = history.publish(Message(0, session, ("q",), True, 0))
    history.confirmed(message)
    delivery = Delivery(message.number, "q", session, 1, True)
    history.delivered(delivery)
    history.settled(delivery, Settlement.REJECT)
    history.nacked(history.publish(Message(0, session, ("q",), True, 1)))
    history.removed(history.removal_sent(RemovalKind.PURGE, "q", session))
    history.started(Start({"q": [Copy(2)]}, 1, 0))
    history.bit_flipped(BitRot("file", (2,), False, False, 1))
    history.compared({"q": [Indexed(1, 2, 0, 0, 0)]}, {}, "footers")
    history.rested(DiskUse(9, 1, 0, 1, 1, 1, 0, (), False))
    history.session_ended(session)
    history.life_ended({"q": Counter()}, Counter(rewrites=3))
    history.drained({})


def test_every_checker_is_told_in_order() -> None:
    listeners = [Listener(), Listener()]
    script(History(listeners, SimulatedClock()))
    assert [listener.told for listener in listeners] == [EXPECTED, EXPECTED]


def test_who_is_told_first_hears_what_breaks_a_law() -> None:
    class Judge(Checker):
        def published(self, message: Message) -> None:
            raise self.fail("no")

    listener = Listener()
    history = History([Judge()], SimulatedClock())
    history.tell_first(listener)
    with pytest.raises(Violation):
        script(history)
    assert listener.told == ["published 1"]


def test_events_are_counted() -> None:
    history = History([], SimulatedClock())
    script(history)
    counts = history.counts
    assert (counts["published"], counts["confirmed"], counts["nacked"]) == (2, 1, 1)
    assert (counts["delivered"], counts["redelivered"], counts["reject"]) == (1, 1, 1)
    assert (counts["sessions"], counts["starts"]) == (1, 1)
    assert (counts["rebuilds from footers"], counts["rests"], counts["rewrites"]) == (1, 1, 3)


def test_the_trace_is_of_everything_that_was_told() -> None:
    def trace(*more: Callable[[History], None]) -> str:
        history = History([], SimulatedClock())
        script(history)
        for step in more:
            step(history)
        return history.trace_hash

    assert trace() == trace()
    assert trace(lambda history: history.note("one more")) != trace()
    assert trace(lambda history: history.session_ended(2)) != trace()


def test_the_trace_has_no_names_of_classes_and_fields() -> None:
    class Renamed(NamedTuple):
        place: int
        history: tuple[()]

    told, renamed, other = (History([], SimulatedClock()) for _ in range(3))
    told.note("compared", [("q", [Copy(1, ())])])
    renamed.note("compared", [("q", (Renamed(1, ()),))])
    other.note("compared", [("q", [Copy(2, ())])])
    assert told.trace_hash == renamed.trace_hash != other.trace_hash


def test_a_message_is_found_by_its_number_or_it_is_a_violation() -> None:
    clock = SimulatedClock()
    history = History([], clock)
    clock.run(5_000)
    message = history.publish(Message(0, 1, ("q",), True, 0))
    assert history.message(1) is message
    assert (message.stamp, message.wall_ms) == (1, START_WALL_MS + 5)
    for number in (0, 2):
        with pytest.raises(Violation, match="content"):
            history.message(number)
