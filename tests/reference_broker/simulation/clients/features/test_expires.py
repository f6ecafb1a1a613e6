"""Queues with ``x-expires``: answers, looks and ends of lines are facts of their use."""

from __future__ import annotations

from random import Random

import pytest

from mqkit.wire.methods import QueueDeclareOk
from reference_broker.simulation.clients.features.expires import Expires
from reference_broker.simulation.clients.features.line import Line
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.watch.checkers import Violation
from reference_broker.testing.lone_broker import LoneBroker


class Told:
    """A feature whose line has declared a durable queue in a broker that never saw it."""

    def __init__(self, *, answered: bool) -> None:
        self.clock = SimulatedClock()
        self.feature = Expires(Random("told"), self.clock)
        self.lone = LoneBroker()
        self.broker = self.lone.broker
        self.broker.add_vhost(self.feature.vhost)
        self.line = Line(1, self.feature, lambda data: None, self.clock.wall_ms)
        self.feature.topology()
        self.feature._declare(self.line, "longer")
        if answered:
            self.feature.answered(self.line, QueueDeclareOk("longer", 0, 0))

    def pass_ms(self, ms: int) -> None:
        self.clock.now_us += 1_000 * ms


def test_a_queue_that_was_declared_is_there() -> None:
    with pytest.raises(Violation, match=r"expires: queue 'longer' of .* ms before its time"):
        Told(answered=True).feature.looked_at(Told(answered=True).broker)
    told = Told(answered=False)
    told.feature.looked_at(told.broker)
    told = Told(answered=True)
    told.pass_ms(8_000)
    told.feature.looked_at(told.broker)


def test_it_is_found_by_a_start_within_its_time() -> None:
    told = Told(answered=True)
    with pytest.raises(Violation, match=r"expires: queue 'longer' of .* ms before its time"):
        told.feature.started(told.broker)


def test_a_request_of_a_line_that_has_ended_may_still_come() -> None:
    told = Told(answered=False)
    told.broker.vhosts[told.feature.vhost].declare_queue("longer", durable=True)
    told.feature.ended(told.line)
    connection = told.lone.client()
    for _ in range(2):
        told.feature.looked_at(told.broker)
        told.pass_ms(20_000)
    connection.disconnect()
    with pytest.raises(Violation, match="its time was over"):
        told.feature.looked_at(told.broker)


def test_an_answer_of_an_earlier_life_says_nothing() -> None:
    told = Told(answered=False)
    told.feature.life += 1
    told.feature.answered(told.line, QueueDeclareOk("longer", 0, 0))
    told.feature.looked_at(told.broker)
