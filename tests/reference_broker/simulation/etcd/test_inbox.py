from __future__ import annotations

from reference_broker.simulation.etcd.inbox import Inbox
from reference_broker.simulation.events.clock import SimulatedClock


def test_a_paused_process_is_told_everything_in_order_when_it_wakes() -> None:
    clock, seen = SimulatedClock(), list[str]()
    inbox = Inbox(clock)
    inbox.later(10, lambda: seen.append("timer"))
    inbox.pause()
    inbox.tell(lambda: seen.append("answer"))
    clock.run(50)
    assert seen == []
    inbox.resume()
    assert seen == []
    clock.run(50)
    assert seen == ["answer", "timer"]


def test_what_an_answer_causes_is_told_behind_what_has_waited() -> None:
    clock, seen = SimulatedClock(), list[str]()
    inbox = Inbox(clock)
    inbox.pause()
    inbox.tell(lambda: inbox.tell(lambda: seen.append("caused")))
    inbox.tell(lambda: seen.append("answer"))
    inbox.resume()
    clock.run(1)
    assert seen == ["answer", "caused"]


def test_one_that_stands_still_again_does_not_wake() -> None:
    clock, seen = SimulatedClock(), list[str]()
    inbox = Inbox(clock)
    inbox.pause()
    inbox.tell(lambda: seen.append("answer"))
    inbox.resume()
    inbox.pause()
    clock.run(1)
    assert seen == []
    inbox.resume()
    clock.run(2)
    assert seen == ["answer"]


def test_one_that_pauses_again_keeps_the_rest() -> None:
    clock, seen = SimulatedClock(), list[str]()
    inbox = Inbox(clock)
    inbox.pause()
    inbox.tell(inbox.pause)
    inbox.tell(lambda: seen.append("answer"))
    inbox.resume()
    clock.run(1)
    assert seen == []
    inbox.resume()
    clock.run(2)
    assert seen == ["answer"]


def test_a_closed_one_is_told_nothing() -> None:
    clock, seen = SimulatedClock(), list[str]()
    inbox = Inbox(clock)
    inbox.later(10, lambda: seen.append("timer"))
    inbox.tell(inbox.close)
    inbox.tell(lambda: seen.append("answer"))
    clock.run(50)
    assert seen == []
