"""A message on its way into many queues: some of them a turn, each once, its source gone last."""

from __future__ import annotations

import sys
from array import array

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.index.index import CHUNK_ENTRIES
from reference_broker.core.message.content import Content
from reference_broker.core.message.header import facts_of
from reference_broker.core.queue.death import Death, DeathReason
from reference_broker.core.queue.fan_out import (
    _FULL_COLUMNS,
    BODY_BYTES_PER_QUEUE,
    FEW_QUEUES,
    MOVED_PER_UNIT,
    PORTION_QUEUES,
    PORTION_QUEUES_MAX,
    ROWS_MOVED_PER_UNIT,
    FanOut,
    all_of,
    distribute,
    is_too_many,
    portion_of,
)
from reference_broker.core.queue.queue import Queue
from reference_broker.core.queue.rest import until_rest
from reference_broker.core.work.budget import FAN_OUT_UNITS
from reference_broker.core.work.until import NotYet
from reference_broker.testing.lone_queue import LoneConsumer, QueueHost, delete_now
from reference_broker.testing.recording_journal import RecordingJournal

HEADER = encode_header(1, Properties(delivery_mode=2))


def declared(host: QueueHost, count: int) -> list[Queue]:
    return [host.declare(f"q{number}") for number in range(count)]


def fan_out(host: QueueHost, queues: list[Queue], body: bytes = b"m") -> FanOut:
    return FanOut(queues, Content(b"\0\0", HEADER, body), facts_of(HEADER), host)


def reached(queues: list[Queue]) -> list[int]:
    return [queue.ready for queue in queues]


def test_as_many_queues_a_turn_as_there_are_units_in_order() -> None:
    host = QueueHost(units=4 * FAN_OUT_UNITS)
    queues = declared(host, 10)
    message = fan_out(host, queues)

    assert not message.advance()
    assert reached(queues) == [1] * 4 + [0] * 6
    host.budget.refill()
    assert not message.advance()
    host.budget.refill()
    assert message.advance()

    assert reached(queues) == [1] * 10
    assert (message.reached, message.refused) == (10, False)


def test_nothing_is_done_in_a_turn_that_is_spent() -> None:
    host = QueueHost(units=4 * FAN_OUT_UNITS)
    queues = declared(host, 10)
    host.budget.left = 0
    assert not fan_out(host, queues).advance()
    assert reached(queues) == [0] * 10


def test_each_portion_is_one_record_with_the_message_in_it() -> None:
    journal = RecordingJournal()
    host = QueueHost(journal, units=4 * FAN_OUT_UNITS)
    queues = declared(host, 10)
    message = fan_out(host, queues)
    while not message.advance():
        host.budget.refill()

    assert len(journal.live()) == 10
    positions = {content.position for queue in queues for content in queue.contents.values()}
    assert len(positions) == 3


@pytest.mark.parametrize(
    ("size", "portion"),
    [
        (0, PORTION_QUEUES),
        (BODY_BYTES_PER_QUEUE, PORTION_QUEUES + 1),
        (100 * BODY_BYTES_PER_QUEUE, PORTION_QUEUES + 100),
        (1 << 30, PORTION_QUEUES_MAX),
    ],
)
def test_a_portion_grows_with_the_body_up_to_a_bound(size: int, portion: int) -> None:
    class Body(bytes):
        """As long as it says, without its octets."""

        def __len__(self) -> int:
            return size

    assert portion_of(Content(b"", b"", Body())) == portion


def test_a_large_body_is_not_written_again_for_every_few_queues() -> None:
    journal = RecordingJournal()
    host = QueueHost(journal, units=4 * FAN_OUT_UNITS)
    queues = declared(host, 30)
    assert fan_out(host, queues, b"x" * 100 * BODY_BYTES_PER_QUEUE).advance()
    positions = {content.position for queue in queues for content in queue.contents.values()}
    assert len(positions) == 1


FULL = 682
"""Messages with which a dictionary is full."""


def test_a_dictionary_that_is_full_is_made_anew_for_the_next_message() -> None:
    """As the constants have it: else what is charged is charged at the wrong message."""
    contents = dict.fromkeys(range(FULL))
    before = sys.getsizeof(contents)
    contents[FULL] = None
    assert sys.getsizeof(contents) > before
    before = sys.getsizeof(contents)
    contents[FULL + 1] = None
    assert sys.getsizeof(contents) == before


def test_columns_that_are_full_are_made_anew_for_the_next_entry() -> None:
    """As the constants have it, too, for all that one chunk of an index has."""
    column = array("q")
    for entries in range(CHUNK_ENTRIES):
        before = sys.getsizeof(column)
        column.append(0)
        assert (sys.getsizeof(column) > before) is (entries in _FULL_COLUMNS), entries


ROWS = min(rows for rows in _FULL_COLUMNS if rows >= 2 * ROWS_MOVED_PER_UNIT)
"""Entries with which columns are full, and a dictionary is not."""


@pytest.mark.parametrize(
    ("full", "units"), [(FULL, FULL // MOVED_PER_UNIT), (ROWS, ROWS // ROWS_MOVED_PER_UNIT)]
)
def test_queues_that_grow_together_do_so_in_more_turns(full: int, units: int) -> None:
    growing = FAN_OUT_UNITS + units
    host = QueueHost(units=growing * 30)
    queues = declared(host, FEW_QUEUES + 1)
    for queue in queues:
        host.publish(queue, *[b"m"] * (full - 1), header=HEADER)
    host.budget.refill()
    assert not is_too_many(queues, host.budget)
    assert fan_out(host, queues).advance()

    host.budget.refill()
    assert is_too_many(queues, host.budget)
    message = fan_out(host, queues)
    assert not message.advance()
    assert reached(queues) == [full + 1] * 30 + [full] * (len(queues) - 30)
    host.budget.refill()
    assert message.advance()


def test_a_queue_that_is_deleted_before_its_portion_is_passed_over() -> None:
    host = QueueHost(units=4 * FAN_OUT_UNITS)
    queues = declared(host, 10)
    message = fan_out(host, queues)
    message.advance()
    delete_now(queues[6])
    host.budget.refill()
    while not message.advance():
        host.budget.refill()

    assert reached(queues) == [1] * 6 + [0] + [1] * 3
    assert message.reached == 9


def test_one_that_refuses_is_told_of_and_the_others_have_it() -> None:
    host = QueueHost(units=4 * FAN_OUT_UNITS)
    full = host.declare("full", max_length=0, overflow="reject-publish")
    queues = [full, *declared(host, 9)]
    message = fan_out(host, queues)
    while not message.advance():
        host.budget.refill()

    assert reached(queues) == [0] + [1] * 9
    assert (message.reached, message.refused, full.refused) == (9, True, 1)


def returning(host: QueueHost) -> Queue:
    """A queue that refuses what is too much, has as many messages as it may, and a consumer that
    will take one of them when what is coming back is back."""
    queue = host.declare("full", max_length=1, overflow="reject-publish")
    host.publish(queue, b"before", header=HEADER)
    queue.begin_return()
    queue.add_consumer(LoneConsumer(credit=1))
    host.budget.refill()
    return queue


def come_to_rest(host: QueueHost) -> None:
    while not host.turn():
        pass
    host.budget.refill()


def test_a_queue_that_is_not_at_rest_is_waited_for_with_the_place_kept() -> None:
    host = QueueHost(units=4 * FAN_OUT_UNITS)
    queues = [*declared(host, 5), returning(host)]
    message = fan_out(host, queues)
    message.advance()
    host.budget.refill()

    with pytest.raises(NotYet) as wait:
        message.advance()
    assert reached(queues) == [1] * 4 + [0, 1], "none of the portion has it"

    happened: list[int] = []
    wait.value.until.then(lambda: happened.append(1))
    queues[5].end_return()
    come_to_rest(host)
    assert happened
    assert message.advance()
    assert reached(queues) == [1] * 6


def test_the_steps_of_a_publish_wait_for_the_next_turn_and_for_queues() -> None:
    host = QueueHost(units=4 * FAN_OUT_UNITS)
    queues = [*declared(host, 5), returning(host)]
    steps = all_of(fan_out(host, queues))

    assert next(steps) is None
    host.budget.refill()
    assert next(steps) is until_rest(queues[5])
    queues[5].end_return()
    come_to_rest(host)
    assert next(steps, "ended") == "ended"
    assert reached(queues) == [1] * 6


def dead(host: QueueHost) -> Death:
    """A message that has left the queue ``from`` by rejection."""
    source = host.declare("from")
    host.publish(source, b"m", header=HEADER, settle=False)
    lease = source.get(LoneConsumer())
    assert lease is not None
    departed = source.depart(lease)
    assert departed is not None
    return Death(source, lease.sequence, lease.content, DeathReason.REJECTED)


def test_the_source_is_gone_with_the_last_portion_and_not_before() -> None:
    journal = RecordingJournal()
    host = QueueHost(journal, units=4 * FAN_OUT_UNITS)
    queues = declared(host, 10)
    death = dead(host)
    host.budget.left = 4
    content = Content(b"\0\0", HEADER, b"m")
    assert distribute(queues, content, facts_of(HEADER), host, death)
    assert reached(queues) == [0] * 10, "it goes on before everything else"
    while sum(reached(queues)) < 10:
        assert len(death.queue.index) == 1
        host.turn()

    assert len(death.queue.index) == 0
    assert len(journal.live()) == 10, "and of its own entry nothing is left"


def test_a_source_whose_queue_was_deleted_meanwhile_does_no_harm() -> None:
    journal = RecordingJournal()
    host = QueueHost(journal, units=4 * FAN_OUT_UNITS)
    queues = declared(host, 10)
    death = dead(host)
    host.budget.left = 4
    distribute(queues, Content(b"\0\0", HEADER, b"m"), facts_of(HEADER), host, death)
    host.turn()
    delete_now(death.queue)
    while sum(reached(queues)) < 10:
        host.turn()
    assert len(journal.live()) == 10


def test_few_queues_have_it_at_once() -> None:
    host = QueueHost(units=100)
    queues = declared(host, 10)
    death = dead(host)
    before = host.budget.left
    assert distribute(queues, Content(b"\0\0", HEADER, b"m"), facts_of(HEADER), host, death)
    assert reached(queues) == [1] * 10
    assert before - host.budget.left >= 10
    assert not distribute([], Content(b"\0\0", HEADER, b"m"), facts_of(HEADER), host, dead(host))
