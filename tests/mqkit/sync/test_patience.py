"""mqkit.sync.patience: which failures are final, for whom, and until when."""

from __future__ import annotations

import time

import pytest

from mqkit.errors import ConnectionRefused, Unanswered, Unreachable
from mqkit.supervision.pauses import UNANSWERED_MAX_S
from mqkit.sync.patience import Patience

LONG_S = 1e6
"""With jitter a wait of less than a minute would be a rare chance."""
REFUSED = ConnectionRefused(403, "login")


def test_a_refused_login_is_for_all_who_come_before_the_next_attempt() -> None:
    patience = Patience(LONG_S, LONG_S)
    patience.failed(REFUSED)
    assert patience.until_s > time.monotonic()
    for _ in range(2):
        with pytest.raises(ConnectionRefused):
            patience.raise_if_refused()
    patience.until_s = time.monotonic()
    patience.raise_if_refused()
    assert patience.refusal is None


def test_a_host_that_does_not_answer_is_asked_again() -> None:
    patience = Patience(LONG_S, LONG_S)
    patience.failed(Unreachable("nobody"))
    patience.raise_if_refused()
    assert isinstance(patience.problem, Unreachable)


def test_while_nobody_answers_the_next_attempt_is_soon() -> None:
    patience = Patience(0.001, LONG_S)
    for _ in range(100):
        patience.failed(Unanswered("nobody"))
        assert patience.until_s <= time.monotonic() + UNANSWERED_MAX_S
    for _ in range(100):
        patience.failed(Unreachable("certificate"))
    assert patience.until_s > time.monotonic() + UNANSWERED_MAX_S


def test_after_a_success_nothing_is_final() -> None:
    patience = Patience(LONG_S, LONG_S)
    patience.ready()
    patience.failed(REFUSED)
    patience.raise_if_refused()
    assert patience.problem is REFUSED
    patience.ready()
    assert patience.problem is None


def test_a_lost_connection_is_not_opened_again_at_once() -> None:
    patience = Patience(LONG_S, LONG_S)
    patience.ready()
    assert patience.until_s == 0.0
    patience.lost()
    assert patience.until_s > time.monotonic()
