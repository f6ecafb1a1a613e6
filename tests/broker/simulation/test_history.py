from __future__ import annotations

from collections.abc import Callable

from reference_broker.simulation.checkers import Checker
from reference_broker.simulation.events import Delivery, Message, Settlement
from reference_broker.simulation.history import History


class Listener(Checker):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def published(self, message: Message) -> None:
        self.told.append(f"published {message.number}")

    def confirmed(self, message: Message) -> None:
        self.told.append(f"confirmed {message.number}")

    def delivered(self, delivery: Delivery) -> None:
        self.told.append(f"delivered {delivery.number}")

    def settled(self, delivery: Delivery, how: Settlement) -> None:
        self.told.append(f"{how.value} {delivery.number}")


def script(history: History) -> None:
    session = history.begin_session()
    message = history.publish(session, ("q",), True, 0)
    history.confirmed(message)
    delivery = Delivery(message.number, "q", session, 1, True, False, 0)
    history.delivered(delivery)
    history.settled(delivery, Settlement.REJECT)
    history.nacked(history.publish(session, ("q",), True, 1))
    history.recovered({"q": [2]})
    history.session_ended(session)
    history.drained()


def test_every_checker_is_told_in_order() -> None:
    listeners = [Listener(), Listener()]
    script(History(listeners))
    expected = ["published 1", "confirmed 1", "delivered 1", "reject 1", "published 2"]
    assert [listener.told for listener in listeners] == [expected, expected]


def test_events_are_counted() -> None:
    history = History([])
    script(history)
    counts = history.counts
    assert (counts["published"], counts["confirmed"], counts["nacked"]) == (2, 1, 1)
    assert (counts["delivered"], counts["redelivered"], counts["reject"]) == (1, 1, 1)
    assert (counts["sessions"], counts["starts"]) == (1, 1)


def test_the_trace_is_of_everything_that_was_told() -> None:
    def trace(*more: Callable[[History], None]) -> str:
        history = History([])
        script(history)
        for step in more:
            step(history)
        return history.trace_hash

    assert trace() == trace()
    assert trace(lambda history: history.note("one more")) != trace()
    assert trace(lambda history: history.session_ended(2)) != trace()
