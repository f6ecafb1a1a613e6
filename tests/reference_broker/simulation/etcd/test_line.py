from __future__ import annotations

from dataclasses import replace
from random import Random

from reference_broker.simulation.etcd.inbox import Inbox
from reference_broker.simulation.etcd.line import LATE_US, REQUEST_TIMEOUT_US, Cut, Line
from reference_broker.simulation.etcd.profile import CALM
from reference_broker.simulation.etcd.server import EtcdServer
from reference_broker.simulation.events.clock import SimulatedClock

IN_TIME_US = REQUEST_TIMEOUT_US - 1
LATER_US = REQUEST_TIMEOUT_US + LATE_US + 10_000_000
REQUESTS = 40


class Requests:
    """A line, and requests on it: the numbers of those that were carried out, and were settled."""

    def __init__(self, *, late: float = 0, answer_lost: float = 0) -> None:
        self.clock = SimulatedClock()
        profile = replace(CALM, late=late, answer_lost=answer_lost)
        self.server = EtcdServer(self.clock, Random(3), profile)
        self.inbox = Inbox(self.clock)
        self.line = Line(self.server, self.inbox)
        self.done: list[int] = []
        self.answered: list[int] = []
        self.failed: dict[int, tuple[str, bool]] = {}

    def ask(self) -> None:
        for number in range(REQUESTS):
            self._ask(number)
        assert not self.answered
        assert not self.failed

    def _ask(self, number: int) -> None:
        def act() -> int:
            self.done.append(number)
            return number

        def failed(reason: str, in_doubt: bool) -> None:
            assert number not in self.failed
            assert number not in self.answered
            self.failed[number] = (reason, in_doubt)

        self.line.ask(act, self.answered.append, failed)


def test_requests_are_carried_out_and_answered_in_any_order() -> None:
    requests = Requests()
    requests.ask()
    requests.clock.run(IN_TIME_US)
    assert sorted(requests.answered) == sorted(requests.done) == list(range(REQUESTS))
    assert requests.done != sorted(requests.done)
    requests.clock.run(LATER_US)
    assert not requests.failed


def test_an_answer_that_is_lost_leaves_the_outcome_in_doubt() -> None:
    requests = Requests(answer_lost=1)
    requests.ask()
    requests.clock.run(IN_TIME_US)
    assert sorted(requests.done) == list(range(REQUESTS))
    assert not requests.failed
    requests.clock.run(LATER_US)
    assert not requests.answered
    assert set(requests.failed.values()) == {("no answer in 5 s", True)}
    assert requests.server.counts["answers lost"] == REQUESTS


def test_a_late_request_is_carried_out_after_its_outcome_was_in_doubt() -> None:
    requests = Requests(late=1)
    requests.ask()
    requests.clock.run(REQUEST_TIMEOUT_US)
    assert len(requests.failed) == REQUESTS
    assert not requests.done
    requests.clock.run(LATER_US)
    assert sorted(requests.done) == list(range(REQUESTS))
    assert not requests.answered


def test_a_refused_request_is_never_carried_out() -> None:
    requests = Requests()
    requests.line.break_off(Cut.REFUSING)
    requests.ask()
    requests.clock.run(IN_TIME_US)
    assert set(requests.failed.values()) == {("connection refused", False)}
    requests.line.heal()
    requests.clock.run(LATER_US)
    assert len(requests.failed) == REQUESTS
    assert not requests.done


def test_a_reset_leaves_open_requests_in_doubt() -> None:
    requests = Requests()
    requests.ask()
    requests.line.break_off(Cut.REFUSING)
    requests.clock.run(IN_TIME_US)
    assert set(requests.failed.values()) == {("connection was reset", True)}
    assert not requests.done
    requests.line.heal()
    requests.clock.run(LATER_US)
    assert 0 < len(requests.done) < REQUESTS


def test_what_is_sent_into_a_silent_cut_fails_late_and_some_of_it_is_carried_out_yet() -> None:
    requests = Requests()
    requests.line.break_off(Cut.SILENT)
    requests.ask()
    requests.clock.run(IN_TIME_US)
    assert not requests.failed
    requests.clock.run(REQUEST_TIMEOUT_US)
    assert len(requests.failed) == REQUESTS
    requests.line.heal()
    requests.clock.run(LATER_US)
    # A failure that is no doubt is the truth.
    assert requests.done
    assert all(requests.failed[number] == ("no answer in 5 s", True) for number in requests.done)
    sure = [number for number, (_, in_doubt) in requests.failed.items() if not in_doubt]
    assert sure


def test_an_answer_that_meets_a_cut_is_lost() -> None:
    requests = Requests()
    requests.ask()
    requests.clock.run(IN_TIME_US, lambda: len(requests.done) > REQUESTS // 2)
    requests.line.break_off(Cut.SILENT)
    requests.clock.run(LATER_US)
    assert len(requests.answered) < len(requests.done)
    assert len(requests.answered) + len(requests.failed) == REQUESTS


def test_what_a_process_asked_for_is_carried_out_when_it_is_gone() -> None:
    requests = Requests()
    requests.ask()
    requests.inbox.close()
    requests.ask()  # nobody is there to ask
    requests.clock.run(LATER_US)
    assert sorted(requests.done) == list(range(REQUESTS))
    assert not requests.answered
    assert not requests.failed


def test_what_etcd_dropped_is_refused() -> None:
    requests = Requests()
    requests.server.go_away(60_000_000)
    requests.ask()
    requests.clock.run(IN_TIME_US)
    assert set(requests.failed.values()) == {("etcdserver: no leader", False)}
    dropped = set(requests.failed)
    requests.clock.run(70_000_000)
    assert requests.done
    assert dropped.isdisjoint(requests.done)
