"""Publishing from threads to a real broker, with a faulty network between."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import mqkit.sync
from mqkit.errors import Closed, ConfigurationError
from mqkit.message import Message, Properties
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason, Unknown

WAIT_S = 20.0


def reasons(outcomes: list[Outcome]) -> list[RejectReason | None]:
    return [outcome.reason if isinstance(outcome, Rejected) else None for outcome in outcomes]


def link_of(app: mqkit.sync.App) -> Any:
    return app._own.caller._link


def test_one_message_after_the_other_has_its_outcome(
    app: mqkit.sync.App, name: str, bodies: Callable[[], list[bytes]]
) -> None:
    found = [
        app.publish("", name, b"1"),
        app.publish("", f"{name}.not", b"2"),
        app.publish(f"{name}.not", "k", b"3"),
        app.publish("", "k" * 256, b"4"),
        app.publish("", name, b"5" * 1001),
        app.publish("", name, b"6"),
    ]
    assert reasons(found) == [
        None,
        RejectReason.UNROUTABLE,
        RejectReason.NO_EXCHANGE,
        RejectReason.REFUSED,
        RejectReason.TOO_LARGE,
        None,
    ]
    assert "1001 bytes; the limit is 1000" in str(found[4])
    assert bodies() == [b"1", b"6"]


def test_a_batch_of_many_windows_is_confirmed_and_in_order(
    app: mqkit.sync.App, name: str, bodies: Callable[[], list[bytes]]
) -> None:
    texts = [str(number).encode() for number in range(1300)]
    outcomes = app.publish_batch([app.message("", name, text) for text in texts])
    assert all(outcomes)
    assert len({outcome.message_id for outcome in outcomes}) == len(texts)
    assert bodies() == texts


def test_one_bad_message_costs_the_others_nothing(
    app: mqkit.sync.App, name: str, bodies: Callable[[], list[bytes]]
) -> None:
    outcomes = app.publish_batch(
        [
            Message("", name, b"1"),
            Message(f"{name}-missing", "k", b"2"),
            Message("", name, b"3", Properties(user_id="somebody-else")),
            Message("", f"{name}-nowhere", b"4"),
            Message("", "k" * 300, b"5"),
            Message("", name, b"6"),
        ]
    )
    assert reasons(outcomes) == [
        None,
        RejectReason.NO_EXCHANGE,
        RejectReason.REFUSED,
        RejectReason.UNROUTABLE,
        RejectReason.REFUSED,
        None,
    ]
    assert set(bodies()) == {b"1", b"6"}


def test_threads_share_one_connection_and_a_guilty_one_costs_the_others_nothing(
    app: mqkit.sync.App, faults: Any, name: str, bodies: Callable[[], list[bytes]]
) -> None:
    def publish(number: int) -> Outcome:
        if number % 10 == 3:
            return app.publish(f"{name}-missing", "k", b"%d" % number)
        return app.publish("", name, b"%d" % number)

    with ThreadPoolExecutor(8) as threads:
        outcomes = list(threads.map(publish, range(200)))
    wanted = [RejectReason.NO_EXCHANGE if n % 10 == 3 else None for n in range(200)]
    assert reasons(outcomes) == wanted
    assert all(outcome for n, outcome in enumerate(outcomes) if n % 10 != 3)
    assert {int(body) for body in bodies()} == {n for n in range(200) if n % 10 != 3}
    assert faults.accepted == 1


def test_a_confirm_lost_with_the_connection_is_asked_for_again_under_the_same_id(
    app: mqkit.sync.App, faults: Any, direct: Any, name: str
) -> None:
    assert app.publish("", name, b"first")
    faults.act("cut_before_confirm")
    assert app.publish("", name, b"twice", message_id="the-id") == Confirmed("the-id")
    direct.basic_get(name, auto_ack=True)
    ids = [direct.basic_get(name, auto_ack=True)[1].message_id for _ in range(2)]
    assert ids == ["the-id", "the-id"]
    assert faults.accepted == 2


def test_who_wants_no_duplicate_has_unknown_instead(
    app: mqkit.sync.App, faults: Any, name: str, bodies: Callable[[], list[bytes]]
) -> None:
    assert app.publish("", name, b"first")
    faults.act("cut_before_confirm")
    outcome = app.publish("", name, b"once", message_id="the-id", resend=False)
    assert isinstance(outcome, Unknown)
    assert (outcome.message_id, outcome.sent) == ("the-id", True)
    assert bodies() == [b"first", b"once"]


def test_a_batch_that_is_cut_is_sent_again_in_its_order(
    app: mqkit.sync.App, faults: Any, name: str, bodies: Callable[[], list[bytes]]
) -> None:
    assert app.publish("", name, b"first")
    faults.act("cut_before_confirm")
    outcomes = app.publish_batch([app.message("", name, b"%d" % n) for n in range(50)])
    assert all(outcomes)
    found = bodies()
    assert found[-50:] == [b"%d" % n for n in range(50)]


def test_a_broker_that_does_not_answer_is_waited_for(
    app: mqkit.sync.App, faults: Any, name: str
) -> None:
    told = threading.Event()

    class Telling(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            told.set()

    handler, logger = Telling(), logging.getLogger("mqkit.sync.patience")
    logger.addHandler(handler)
    faults.act("refuse")
    try:
        with ThreadPoolExecutor(1) as thread:
            outcome = thread.submit(app.publish, "", name, b"x")
            assert told.wait(WAIT_S)
            faults.act("accept")
            assert outcome.result(WAIT_S)
    finally:
        logger.removeHandler(handler)


def test_the_deadline_ends_the_waiting_and_says_for_what(
    app: mqkit.sync.App, faults: Any, name: str, bodies: Callable[[], list[bytes]]
) -> None:
    faults.act("refuse")
    late = app.publish("", name, b"late", deadline=0.2)
    assert isinstance(late, Unknown)
    assert not late.sent
    assert "was never sent within 0.2 s (client: connecting: " in late.detail
    at_once = app.publish("", name, b"late", deadline=0)
    assert isinstance(at_once, Unknown)
    assert not at_once.sent
    faults.act("accept")
    assert app.publish("", name, b"now")
    assert bodies() == [b"now"]


def test_a_confirm_that_does_not_come_in_time_is_unknown(
    app: mqkit.sync.App, faults: Any, name: str
) -> None:
    assert app.publish("", name, b"x")
    faults.act("stall")
    late = app.publish("", name, b"late", deadline=0.2)
    faults.act("resume")
    assert isinstance(late, Unknown)
    assert late.sent
    assert "was sent, but not confirmed within 0.2 s (client: ready)" in late.detail


def test_a_broker_that_blocks_is_waited_for_or_not(
    app: mqkit.sync.App,
    faults: Any,
    name: str,
    bodies: Callable[[], list[bytes]],
    until: Callable[[Callable[[], bool]], None],
) -> None:
    assert app.publish("", name, b"before")
    faults.act("block", "low on memory")
    until(lambda: link_of(app).blocked is not None)
    assert app.publish("", name, b"fails", message_id="a", on_blocked="fail") == Rejected(
        RejectReason.BLOCKED, "low on memory", "a"
    )
    late = app.publish("", name, b"late", deadline=0.1)
    assert isinstance(late, Unknown)
    assert not late.sent
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(app.publish, "", name, b"waits")
        until(lambda: not link_of(app)._changed.is_empty)
        faults.act("unblock")
        assert waiting.result(WAIT_S)
    assert bodies() == [b"before", b"waits"]


def test_a_block_ends_the_waiting_of_who_would_rather_fail(
    app: mqkit.sync.App, faults: Any, name: str, until: Callable[[Callable[[], bool]], None]
) -> None:
    assert app.publish("", name, b"before")
    faults.act("block", "low on disk")
    until(lambda: link_of(app).blocked is not None)
    batch = [app.message("", name, b"x") for _ in range(3)]
    assert reasons(app.publish_batch(batch, on_blocked="fail")) == [RejectReason.BLOCKED] * 3


def test_after_the_end_nothing_is_published(app: mqkit.sync.App, faults: Any, name: str) -> None:
    assert app.publish("", name, b"x")
    app.close()
    app.close()
    with pytest.raises(Closed, match="the app is closed"):
        app.publish("", name, b"y")
    with app:
        assert app.publish("", name, b"z")
    assert faults.accepted == 2


def test_the_end_does_not_wait_for_ever_for_calls_under_way(
    app: mqkit.sync.App, faults: Any, name: str, until: Callable[[Callable[[], bool]], None]
) -> None:
    faults.act("refuse")
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(app.publish, "", name, b"x")
        until(lambda: not link_of(app)._changed.is_empty)
        app._own.close(0.05)
        with pytest.raises(Closed):
            waiting.result(WAIT_S)


def test_the_end_waits_for_calls_under_way(app: mqkit.sync.App, faults: Any, name: str) -> None:
    assert app.publish("", name, b"x")
    faults.act("stall")
    with ThreadPoolExecutor(2) as threads:
        waiting = threads.submit(app.publish, "", name, b"y")
        while not link_of(app)._calls:
            pass
        closing = threads.submit(app.close)
        faults.act("resume")
        assert waiting.result(WAIT_S)
        closing.result(WAIT_S)


@pytest.mark.parametrize("wrong", [{"resend": 1}, {"on_blocked": "never"}, {"deadline": -1}])
def test_terms_that_make_no_sense_are_refused(
    app: mqkit.sync.App, name: str, wrong: dict[str, Any]
) -> None:
    with pytest.raises(ConfigurationError):
        app.publish("", name, b"x", **wrong)
