"""A queue at rest: who asks for a message or a count waits until what is coming back is back, and
what is due has gone; but not for ever."""

from __future__ import annotations

from functools import partial

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.queue.rest import REST_S, is_kept_busy, require_rest, until_rest
from reference_broker.core.work.until import NotYet
from reference_broker.testing.lone_queue import LoneConsumer, QueueHost, delete_now

HEADER = encode_header(1, Properties())
DYING = encode_header(1, Properties(expiration="100"))


def test_a_queue_with_nothing_to_do_is_at_rest() -> None:
    host = QueueHost(units=10)
    require_rest(host.declare("q"))


def test_consumers_are_served_before_there_is_an_answer() -> None:
    host = QueueHost()
    queue = host.declare("q")
    host.publish(queue, *[b"m"] * 30, header=HEADER)
    consumers = [LoneConsumer(tag, credit=10) for tag in "ab"]  # one alone gets a run at once
    for consumer in consumers:
        queue.add_consumer(consumer)
    host.budget.units = 8
    host.budget.refill()
    for _ in range(2):
        with pytest.raises(NotYet):
            require_rest(queue)
        host.budget.refill()
    require_rest(queue)

    assert [len(consumer.leases) for consumer in consumers] == [10, 10]
    assert queue.ready == 10


def test_what_comes_back_is_waited_for_however_long_it_takes() -> None:
    host = QueueHost()
    queue = host.declare("q")
    queue.begin_return()
    told: list[str] = []
    with pytest.raises(NotYet) as wait:
        require_rest(queue)
    wait.value.until.then(lambda: told.append("rest"))
    host.advance(round(REST_S * 100_000))
    host.turn()
    with pytest.raises(NotYet):
        require_rest(queue)
    assert told == []

    queue.end_return()
    host.turn()
    assert told == ["rest"]
    require_rest(queue)


def test_all_who_wait_are_told_together_and_once() -> None:
    host = QueueHost()
    queue = host.declare("q")
    queue.begin_return()
    assert until_rest(queue) is until_rest(queue)
    told: list[int] = []
    for number in (1, 2):
        until_rest(queue).then(partial(told.append, number))
    queue.end_return()
    host.turn()
    host.turn()
    assert told == [1, 2]


def test_a_queue_that_is_deleted_is_at_rest() -> None:
    host = QueueHost()
    queue = host.declare("q")
    queue.begin_return()
    told: list[str] = []
    until_rest(queue).then(lambda: told.append("rest"))
    queue.end_return()
    delete_now(queue)
    host.turn()
    assert told == ["rest"]


def test_a_queue_that_is_kept_busy_answers_as_it_is() -> None:
    host = QueueHost(units=4)
    host.moment.mono_s = 100.0
    queue = host.declare("q")
    host.publish(queue, *[b"m"] * 50, header=DYING, settle=False)
    host.moment.wall_ms += 200
    with pytest.raises(NotYet):
        require_rest(queue)
    assert not is_kept_busy(queue)

    host.moment.mono_s += REST_S
    host.budget.left = 0
    require_rest(queue)
    assert queue.ready > 0, "more is still to go"


def test_who_waits_for_a_queue_that_is_kept_busy_is_told() -> None:
    host = QueueHost(units=8)
    host.moment.mono_s = 100.0
    queue = host.declare("q")
    host.publish(queue, *[b"m"] * 500, header=DYING, settle=False)
    host.moment.wall_ms += 200
    told: list[int] = []
    with pytest.raises(NotYet) as wait:
        require_rest(queue)
    wait.value.until.then(lambda: told.append(queue.ready))
    for _ in range(5):
        host.turn()
    assert told == []

    host.moment.mono_s += REST_S
    host.turn()
    assert told
    assert told[0] > 0
