"""mqkit_spark.sink.patience: silence and being blocked have a timeout each."""

from __future__ import annotations

from types import SimpleNamespace

from mqkit_spark.options import SinkOptions
from mqkit_spark.sink.patience import Patience

OPTIONS = SinkOptions(url="amqp://h/", confirm_timeout_s=10, blocked_timeout_s=100)


def test_time_while_blocked_counts_against_its_own_timeout() -> None:
    times = SimpleNamespace(now_s=0.0, blocked_s=5.0)
    patience = Patience(OPTIONS, lambda: times.now_s, lambda: times.blocked_s)
    times.now_s = 10.0
    assert not patience.is_out()
    times.now_s = 10.5
    assert patience.is_out(), "the broker has said nothing for more than confirmTimeout"
    times.blocked_s = 15.0
    assert not patience.is_out(), "for 10 s of these it had blocked the connection"
    assert "3 messages are unconfirmed" in patience.words(3)
    assert "waited 10 s, for 10 s of which" in patience.words(3)
    times.now_s, times.blocked_s = 110.5, 105.5
    assert patience.is_out(), "blocked for more than blockedTimeout"
    patience.note_progress()
    assert not patience.is_out()
