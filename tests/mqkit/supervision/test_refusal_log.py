"""The warnings about refused declarations: each once, and not a wall."""

from __future__ import annotations

import logging

import pytest

from mqkit.declaration import Queue
from mqkit.errors import ChannelError
from mqkit.supervision.refusal_log import OBJECTS_TOLD, RefusalLog
from mqkit.testing.clock import FakeClock
from mqkit.topology.planning.quarantine import Quarantined

REPLY = (
    "PRECONDITION_FAILED - inequivalent arg 'x-expires' for queue 'q0' in vhost '/':"
    " received the value '60000' of type 'signedint' but current is none"
)


def refused(count: int) -> list[Quarantined]:
    error = ChannelError(406, REPLY)
    return [Quarantined.of(Queue(f"q{number}"), error) for number in range(count)]


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    records = list(caplog.records)
    caplog.clear()
    assert {record.levelno for record in records} <= {logging.WARNING}
    return [record.getMessage() for record in records]


def test_an_object_is_told_with_the_brokers_words_and_the_difference(
    caplog: pytest.LogCaptureFixture,
) -> None:
    RefusalLog(FakeClock()).tell(refused(1))
    (line,) = told(caplog)
    assert line.startswith("q0 is not declared: 406 PRECONDITION_FAILED")
    assert line.count("x-expires") == 2


def test_the_same_is_told_again_after_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()
    log = RefusalLog(clock)
    counts = []
    for wait_s, count in ((0, 1), (1, 1), (1, 2), (59, 2), (1, 2), (0, 0), (0, 1)):
        clock.advance(wait_s)
        log.tell(refused(count))
        counts.append(len(told(caplog)))
    assert counts == [1, 0, 2, 0, 2, 0, 1]


def test_many_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    RefusalLog(FakeClock()).tell(refused(50))
    lines = told(caplog)
    assert len(lines) == OBJECTS_TOLD + 1
    assert lines[-1].startswith("45 more objects are not declared")
