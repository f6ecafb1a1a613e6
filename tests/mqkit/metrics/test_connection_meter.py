"""The meter of connections, told of changes as the supervisor makes them."""

from __future__ import annotations

from mqkit.metrics.connection_meter import ConnectionMeter
from mqkit.supervision.states import Change, Event, State, after


class Connections:
    """Makes the changes, at moments that a test says."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.state = State.CONNECTING
        self.meter = ConnectionMeter(lambda: self.now_s)
        self.meter.begin()

    def fire(self, *events: Event, after_s: float = 0.0) -> None:
        self.now_s += after_s
        for event in events:
            change = Change(self.state, event, after(self.state, event))
            self.state = change.after
            self.meter.changed(change)


def test_connects_and_losses_are_counted() -> None:
    connections = Connections()
    assert connections.meter.values.state is State.CONNECTING
    connections.fire(Event.CONNECTED, Event.DECLARED, Event.LOST)
    connections.fire(Event.CONNECTED, Event.LOST, Event.CONNECTED, Event.DECLARED)
    values = connections.meter.values
    assert (values.state, values.connects, values.losses) == (State.READY, 3, 2)


def test_blocked_time_is_summed_and_the_one_that_goes_on_is_in_it() -> None:
    connections = Connections()
    connections.fire(Event.CONNECTED, Event.DECLARED, Event.BLOCKED)
    connections.fire(Event.BLOCKED, after_s=1.0)  # the other connection
    connections.fire(Event.UNBLOCKED, after_s=1.0)
    assert (connections.meter.values.blocked_s, connections.meter.values.blocked_for_s) == (2, 0)
    connections.fire(Event.BLOCKED, after_s=60.0)
    connections.now_s += 5
    assert (connections.meter.values.blocked_s, connections.meter.values.blocked_for_s) == (7, 5)
    connections.fire(Event.LOST)
    assert (connections.meter.values.blocked_s, connections.meter.values.blocked_for_s) == (7, 0)


def test_an_end_that_was_asked_for_is_no_loss() -> None:
    connections = Connections()
    connections.fire(Event.CONNECTED, Event.DECLARED, Event.DRAIN, Event.CLOSE)
    values = connections.meter.values
    assert (values.state, values.losses) == (State.CLOSED, 0)
