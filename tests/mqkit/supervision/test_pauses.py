"""mqkit.supervision.pauses: how long a client waits for the next attempt, and after what."""

from __future__ import annotations

import pytest

from mqkit.errors import (
    ConnectionLost,
    ConnectionRefused,
    DeadlineExceeded,
    MqkitError,
    Unanswered,
    Unreachable,
)
from mqkit.supervision.pauses import UNANSWERED_MAX_S, ReconnectPauses

NOBODY = Unanswered("Connection refused")


def ceilings(pauses: ReconnectPauses, problem: BaseException | None, count: int) -> list[float]:
    """The next pauses of a client whose luck is always the worst."""
    return [pauses.next_s(problem) for _ in range(count)]


@pytest.fixture
def pauses() -> ReconnectPauses:
    return ReconnectPauses(0.5, 30.0, rng=lambda: 1.0)


def test_while_nobody_answers_the_pauses_stay_short(pauses: ReconnectPauses) -> None:
    assert ceilings(pauses, NOBODY, 4) == [0.5, 1.0, 1.0, 1.0]
    assert max(ceilings(pauses, NOBODY, 1000)) == UNANSWERED_MAX_S


@pytest.mark.parametrize(
    "problem",
    [
        ConnectionRefused(403, "login"),
        Unreachable("certificate"),
        DeadlineExceeded("late"),
        ConnectionLost("while setting up"),
        None,
    ],
    ids=str,
)
def test_after_an_answer_they_grow(pauses: ReconnectPauses, problem: MqkitError | None) -> None:
    assert ceilings(pauses, problem, 8) == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


def test_a_long_outage_does_not_count_when_the_broker_answers_again(
    pauses: ReconnectPauses,
) -> None:
    ceilings(pauses, NOBODY, 1000)
    assert ceilings(pauses, ConnectionRefused(320, "starting"), 2) == [0.5, 1.0]


def test_success_starts_both_over(pauses: ReconnectPauses) -> None:
    ceilings(pauses, NOBODY, 5)
    ceilings(pauses, None, 5)
    pauses.reset()
    assert ceilings(pauses, NOBODY, 1) == ceilings(pauses, None, 1) == [0.5]


@pytest.mark.parametrize(
    ("first_s", "most_s", "highest_s"), [(5.0, 30.0, 5.0), (0.01, 0.05, 0.05), (8.0, 2.0, 2.0)]
)
def test_settings_that_say_more_or_less_than_a_second_are_kept(
    first_s: float, most_s: float, highest_s: float
) -> None:
    pauses = ReconnectPauses(first_s, most_s, rng=lambda: 1.0)
    assert ceilings(pauses, NOBODY, 20)[-1] == highest_s


def test_jitter_covers_all_of_a_short_pause() -> None:
    pauses = ReconnectPauses(0.5, 30.0, rng=iter((0.0, 0.25, 1.0)).__next__)
    assert ceilings(pauses, NOBODY, 3) == [0.0, 0.25, 1.0]
