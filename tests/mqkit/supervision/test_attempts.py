"""mqkit.supervision.attempts: which error is told, and which will be the same the next time."""

from __future__ import annotations

import pytest

from mqkit.errors import (
    ConfigurationError,
    ConnectionRefused,
    DeadlineExceeded,
    MqkitError,
    Unanswered,
    Unreachable,
)
from mqkit.supervision.attempts import is_lasting, most_telling


def test_a_brokers_words_come_before_silence() -> None:
    silent, refused = Unreachable("a"), ConnectionRefused(403, "login")
    assert most_telling([silent, refused, ConnectionRefused(530, "vhost")]) is refused
    assert most_telling([silent, Unreachable("b")]) is silent


def test_so_does_whatever_was_heard_from_a_host() -> None:
    certificate = Unreachable("certificate")
    assert most_telling([Unanswered("a"), certificate, Unreachable("b")]) is certificate
    late = DeadlineExceeded("late")
    assert most_telling([Unanswered("a"), late]) is late


@pytest.mark.parametrize(
    ("problem", "lasts"),
    [
        (ConnectionRefused(403, "login"), True),
        (ConnectionRefused(530, "vhost"), True),
        (ConnectionRefused(320, "shutdown"), False),
        (Unreachable("nobody"), False),
        (Unanswered("nobody"), False),
        (DeadlineExceeded("late"), False),
        (ConfigurationError("a file"), True),
    ],
    ids=str,
)
def test_what_will_be_the_same_lasts(problem: MqkitError, lasts: bool) -> None:
    assert is_lasting(problem) is lasts
