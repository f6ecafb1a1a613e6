"""The lines about handlers that failed: how many, how loud, and which have a traceback."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from mqkit.consumer.failure_log import ERROR_TEXT_MAX, ERROR_TYPES_MAX, FailureLog
from mqkit.consumer.handler import HandlerTimeout
from mqkit.consumer.observing.log_fields import LogFields
from mqkit.consumer.settlement import (
    HANDLED,
    DeadLetter,
    Destination,
    Discard,
    Republish,
    Requeue,
    Settlement,
)
from mqkit.incoming import BodyMisfit
from mqkit.message import Delivery, Message, Properties
from mqkit.retry import Drop, Park, RetryLater
from mqkit.retry.headers import ATTEMPT, QUEUE
from mqkit.testing.clock import FakeClock

COPY = Message("", "q.retry.1s", b"secret", Properties(message_id="m0"))
TIER = Republish(Destination.TIER, COPY)
LOT = Republish(Destination.PARKING_LOT, COPY)


def deliveries(count: int = 1) -> list[Delivery]:
    return [
        Delivery("", "q", b"secret", Properties(message_id=f"m{number}"), number, False)
        for number in range(count)
    ]


def has_traceback(record: logging.LogRecord) -> bool:
    return record.exc_info is not None


def test_a_retry_is_a_line_and_a_traceback_once_a_minute_for_each_type(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = FakeClock()
    log = FailureLog("q", clock)
    for error in (KeyError("a"), KeyError("b"), ValueError("c"), KeyError("d")):
        log.tell(deliveries(), error, TIER)
    clock.advance(60.0)
    log.tell(deliveries(), KeyError("e"), TIER)
    assert [has_traceback(record) for record in caplog.records] == [True, False, True, False, True]
    assert {record.levelno for record in caplog.records} == {logging.WARNING}
    assert caplog.messages[0] == "message m0 from q goes to a retry tier after KeyError: 'a'"


def test_a_record_has_the_fields_of_its_message(caplog: pytest.LogCaptureFixture) -> None:
    log = FailureLog("q", FakeClock())
    headers = {QUEUE: "q", ATTEMPT: 2, "traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}
    (delivery,) = deliveries()
    delivery = replace(delivery, properties=Properties(message_id="m", headers=headers))
    log.tell([delivery], KeyError("a"), LOT)
    log.too_late(delivery, KeyError("a"))
    log.answered(delivery, KeyError("a"))
    failed_again = Properties(message_id="m", headers={**headers, ATTEMPT: 3})
    copy = replace(COPY, properties=failed_again)
    log.not_confirmed(replace(TIER, message=copy), "no")
    assert len(caplog.records) == 4
    for record in caplog.records:
        shown = {name: getattr(record, name) for name in LogFields.__annotations__}
        assert shown == {"queue": "q", "message_id": "m", "attempt": 3, "trace_id": "a" * 32}


def test_parking_always_has_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    log = FailureLog("q", FakeClock())
    for _ in range(3):
        log.tell(deliveries(), KeyError("a"), LOT)
    assert [has_traceback(record) for record in caplog.records] == [True] * 3


def test_what_was_settled_already_stays_so_whatever_is_asked_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = FailureLog("q", FakeClock())
    (message,) = deliveries()
    for error in (ValueError("no"), ValueError("still"), Park("later")):
        log.too_late(message, error)
    assert [(record.getMessage(), has_traceback(record)) for record in caplog.records] == [
        ("message m0 from q stays settled after ValueError: no", True),
        ("message m0 from q stays settled after ValueError: still", False),
        ("message m0 from q stays settled after Park: later", False),
    ]


@pytest.mark.parametrize(
    ("raised", "settlement", "level"),
    [
        (RetryLater("1s"), TIER, logging.INFO),
        (Park("bad"), LOT, logging.WARNING),
        (Drop(), Discard("dropped"), logging.INFO),
        (RetryLater("1s"), Requeue("no retry policy"), logging.WARNING),
        (Park("bad"), DeadLetter("no lot"), logging.WARNING),
        (BodyMisfit("vat: missing"), LOT, logging.WARNING),
        (HandlerTimeout("longer than 1 s"), TIER, logging.WARNING),
    ],
)
def test_what_was_asked_for_and_what_says_it_all_has_no_traceback(
    raised: Exception, settlement: Settlement, level: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    FailureLog("q", FakeClock()).tell(deliveries(), raised, settlement)
    (record,) = caplog.records
    assert (record.levelno, has_traceback(record)) == (level, False)


def test_what_one_error_did_to_many_is_a_line(caplog: pytest.LogCaptureFixture) -> None:
    FailureLog("q", FakeClock()).tell(deliveries(1000), OSError("disk"), TIER)
    assert caplog.messages == [
        "message m0 and 999 others from q goes to a retry tier after OSError: disk"
    ]


def test_a_line_is_one_line_and_has_no_body(caplog: pytest.LogCaptureFixture) -> None:
    FailureLog("q", FakeClock()).tell(deliveries(), ValueError("one\ntwo " + "x" * 10_000), TIER)
    (line,) = caplog.messages
    assert "ValueError: one two x" in line
    assert "\n" not in line
    assert len(line) < ERROR_TEXT_MAX + 100
    assert "secret" not in line


def test_what_was_handled_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    FailureLog("q", FakeClock()).tell(deliveries(), KeyError(), HANDLED)
    assert not caplog.records


def test_types_made_at_run_time_are_not_remembered_for_ever(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = FailureLog("q", FakeClock())
    for number in range(3 * ERROR_TYPES_MAX):
        log.tell(deliveries(), type(f"Error{number}", (Exception,), {})(), TIER)
        assert len(log._tracebacks) <= ERROR_TYPES_MAX
    assert all(map(has_traceback, caplog.records))


def test_copies_that_are_not_confirmed_are_told_a_few_times(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = FakeClock()
    log = FailureLog("q", clock)
    for _ in range(100):
        log.not_confirmed(LOT, "unroutable")
    clock.advance(60.0)
    log.not_confirmed(LOT, "unroutable")
    line = "message m0 did not get from q into its parking lot, and is requeued: unroutable"
    assert caplog.messages == [line] * 4
