"""mqkit.testing.scenario.recording: what is done becomes steps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from mqkit.errors import ConfigurationError
from mqkit.testing.scenario.recording import Recording
from mqkit.testing.scenario.step import STEPS_MAX, Step


class Time:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


def test_steps_have_their_moments_and_what_was_seen(time: Time) -> None:
    time.now += timedelta(hours=1)
    recording = Recording(time)
    one, two = SimpleNamespace(has_struck=False), SimpleNamespace(has_struck=False)
    recording.did("nack", {"publish": 1}, one)
    recording.did("drop_before_confirm", {"publish": 7}, two)
    time.now += timedelta(seconds=10)
    recording.did("cancel_consumers", {"queue": "q"}, 3)
    recording.did("block", {}, None)
    one.has_struck = True
    assert recording.steps() == [
        Step(0, "nack", {"publish": 1}, struck=True),
        Step(0, "drop_before_confirm", {"publish": 7}, struck=False),
        Step(10_000, "cancel_consumers", {"queue": "q"}, found=3),
        Step(10_000, "block"),
    ]


def test_movements_that_follow_each_other_are_one(time: Time) -> None:
    recording = Recording(time)
    for holding in (0, 0, 2, 2, 0):
        time.now += timedelta(seconds=1)
        recording.advanced(holding)
    assert recording.steps() == [
        Step(2000, "advance"),
        Step(4000, "advance", {"holding": 2}),
        Step(5000, "advance"),
    ]


def test_it_has_an_end(time: Time) -> None:
    recording = Recording(time)
    for _ in range(STEPS_MAX):
        recording.did("block", {}, None)
    with pytest.raises(ConfigurationError, match=f"at most {STEPS_MAX} steps"):
        recording.did("block", {}, None)
