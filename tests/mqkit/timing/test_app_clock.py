"""The clock of a whole app."""

from __future__ import annotations

from mqkit.testing.clock import FakeClock
from mqkit.testing.in_process.vhost import reference_broker
from mqkit.timing.app_clock import OF_CONSUMER, AppClock
from mqkit.timing.clock import SYSTEM_CLOCK


def test_only_a_clock_that_knows_who_works_is_an_apps() -> None:
    assert not isinstance(SYSTEM_CLOCK, AppClock)
    assert not isinstance(FakeClock(), AppClock)
    with reference_broker() as broker:
        assert isinstance(broker.clock, AppClock)


def test_handlers_are_limited_by_the_machines_clock_unless_a_consumer_says_otherwise() -> None:
    assert OF_CONSUMER.get() is None
