"""Dead-lettering from queue to queue: routing, journaling, cycles, and chains of any length."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pytest

from mqkit.wire import Properties, decode_header, encode_header
from reference_broker.core.dead_letter import dead_letters
from reference_broker.core.journal.journal import Entry
from reference_broker.core.queue.lease import Lease
from reference_broker.core.queue.queue import Queue
from reference_broker.testing.lone_queue import LoneConsumer, QueueHost
from reference_broker.testing.recording_journal import RecordingJournal

PERSISTENT = encode_header(1, Properties(delivery_mode=2, message_id="m", headers={"a": 1}))
TRANSIENT = encode_header(1, Properties())


@pytest.fixture
def journal() -> RecordingJournal:
    return RecordingJournal()


@pytest.fixture
def host(journal: RecordingJournal) -> QueueHost:
    return QueueHost(journal)


def get(queue: Queue) -> Lease:
    lease = queue.get(None)
    assert lease is not None
    return lease


def properties(lease: Lease) -> Properties:
    return decode_header(lease.content.header)[1]


def headers(lease: Lease) -> dict[str, Any]:
    return properties(lease).headers or {}


def test_a_rejected_message_goes_on_with_its_history(
    host: QueueHost, journal: RecordingJournal
) -> None:
    grave = host.declare("grave")
    queue = host.declare("q", dead_letter_exchange="dlx")
    host.routes["dlx", "q"] = ["grave"]
    host.publish(queue, b"body", header=PERSISTENT)
    lease = get(queue)
    queue.reject(lease)
    letter = get(grave)
    assert letter.content.body is lease.content.body
    assert letter.content.route == b"\x03dlx\x01q"
    assert not letter.redelivered
    assert (properties(letter).message_id, properties(letter).delivery_mode) == ("m", 2)
    assert headers(letter)["a"] == 1
    assert headers(letter)["x-death"][0]["reason"] == "rejected"
    assert (queue.rejected, queue.unacked, host.dead_letters.sent) == (1, 0, 1)
    assert journal.records[1:] == [
        ("move", queue.id, lease.sequence, 0, (Entry(grave.id, letter.sequence),), b"body")
    ]
    assert letter.content.position == 1


def test_the_routing_key_of_the_queue_replaces_the_messages(host: QueueHost) -> None:
    grave = host.declare("grave")
    queue = host.declare("q", dead_letter_exchange="", dead_letter_routing_key="grave")
    header = encode_header(1, Properties(headers={"CC": ["nowhere"]}))
    host.publish(queue, b"body", header=header)
    queue.reject(get(queue))
    letter = get(grave)
    assert letter.content.route == b"\x00\x05grave"
    assert "CC" not in headers(letter)
    assert headers(letter)["x-death"][0]["routing-keys"] == ["q", "nowhere"]


def test_cc_keys_are_routed_too_and_no_queue_gets_it_twice(host: QueueHost) -> None:
    one, two = host.declare("one"), host.declare("two")
    queue = host.declare("q", dead_letter_exchange="dlx")
    host.routes |= {("dlx", "q"): ["one"], ("dlx", "cc"): ["two", "one"]}
    host.publish(queue, b"x", header=encode_header(1, Properties(headers={"CC": ["cc"]})))
    queue.reject(get(queue))
    assert (one.ready, two.ready) == (1, 1)


@pytest.mark.parametrize("routes", [{}, {("dlx", "other"): ["q"]}], ids=["no exchange", "no queue"])
def test_where_nothing_is_bound_the_message_is_dropped_and_counted(
    host: QueueHost, journal: RecordingJournal, routes: dict[tuple[str, str], list[str]]
) -> None:
    queue = host.declare("q", dead_letter_exchange="dlx")
    host.routes |= routes
    host.publish(queue, b"x", header=PERSISTENT)
    queue.reject(get(queue))
    assert (host.dead_letters.unroutable, host.dead_letters.sent) == (1, 0)
    assert journal.live() == []


def test_without_a_dead_letter_exchange_the_journal_only_hears_an_ack(
    host: QueueHost, journal: RecordingJournal
) -> None:
    queue = host.declare("q")
    host.publish(queue, b"x", header=PERSISTENT)
    queue.reject(get(queue))
    assert [record[0] for record in journal.records] == ["publish", "ack"]


@pytest.mark.parametrize(
    ("source_durable", "graves", "header", "verbs"),
    [
        (True, (True, True), PERSISTENT, ["publish", "move"]),
        (True, (True, False), PERSISTENT, ["publish", "publish", "ack"]),
        (True, (False, False), PERSISTENT, ["publish", "ack"]),
        (False, (True, False), PERSISTENT, ["publish"]),
        (True, (True, True), TRANSIENT, []),
    ],
)
def test_one_record_where_that_is_possible(
    host: QueueHost,
    journal: RecordingJournal,
    source_durable: bool,
    graves: tuple[bool, bool],
    header: bytes,
    verbs: list[str],
) -> None:
    for number, durable in enumerate(graves):
        host.declare(f"grave{number}", durable=durable)
    host.routes["dlx", "q"] = ["grave0", "grave1"]
    queue = host.declare("q", durable=source_durable, dead_letter_exchange="dlx")
    host.publish(queue, b"x", header=header)
    queue.reject(get(queue))
    assert [record[0] for record in journal.records] == verbs
    for number in range(2):
        host.queues[f"grave{number}"].ack(get(host.queues[f"grave{number}"]))
    assert journal.live() == []


def test_expired_and_dropped_messages_are_dead_lettered(host: QueueHost) -> None:
    grave = host.declare("grave")
    arguments: dict[str, Any] = {"dead_letter_exchange": "", "dead_letter_routing_key": "grave"}
    expiring = host.declare("expiring", message_ttl=100, **arguments)
    short = host.declare("short", max_length=1, **arguments)
    host.publish(expiring, b"a", header=PERSISTENT)
    host.advance(200)
    host.publish(short, b"b", b"c", header=PERSISTENT)
    letters = [get(grave), get(grave)]
    assert [(x.content.body, headers(x)["x-death"][0]["reason"]) for x in letters] == [
        (b"a", "expired"),
        (b"b", "maxlen"),
    ]
    assert grave.ready == 0


def test_a_dead_letter_lives_by_the_ttl_of_its_new_queue(host: QueueHost) -> None:
    grave = host.declare("grave", message_ttl=500)
    queue = host.declare("q", dead_letter_exchange="", dead_letter_routing_key="grave")
    host.publish(queue, b"a", header=encode_header(1, Properties(expiration="100")))
    host.advance(110)
    assert grave.ready == 1
    host.advance(490)
    assert grave.ready == 1
    host.advance(20)
    assert grave.ready == 0


def test_a_dead_letter_takes_its_place_by_its_priority(
    host: QueueHost, journal: RecordingJournal
) -> None:
    grave = host.declare("grave", max_priority=3)
    queue = host.declare("q", dead_letter_exchange="", dead_letter_routing_key="grave")
    for priority in (0, 9):
        header = encode_header(1, Properties(delivery_mode=2, priority=priority))
        host.publish(queue, b"%d" % priority, header=header)
        queue.reject(get(queue))
    assert [record[4][0].priority for record in journal.records if record[0] == "move"] == [0, 3]
    assert [bytes(get(grave).content.body) for _ in range(2)] == [b"9", b"0"]


def test_a_waiting_consumer_is_given_the_dead_letter(host: QueueHost) -> None:
    grave = host.declare("grave")
    queue = host.declare("q", dead_letter_exchange="", dead_letter_routing_key="grave")
    consumer = LoneConsumer()
    grave.add_consumer(consumer)
    host.settle()
    host.publish(queue, b"x", header=PERSISTENT)
    queue.reject(get(queue))
    host.settle()
    assert [bytes(lease.content.body) for lease in consumer.leases] == [b"x"]


def test_a_memory_queues_dead_letter_is_new_to_the_log(
    host: QueueHost, journal: RecordingJournal
) -> None:
    """Its message is in the log, for another queue; its entry is not."""
    host.declare("grave")
    durable = host.declare("durable")
    queue = host.declare(
        "q", durable=False, dead_letter_exchange="", dead_letter_routing_key="grave"
    )
    host.publish((queue, durable), b"x", header=PERSISTENT)
    queue.reject(get(queue))
    assert [record[0] for record in journal.records] == ["publish", "publish"]
    assert len(journal.live()) == 2


def test_a_quorum_queue_stores_a_transient_dead_letter(
    host: QueueHost, journal: RecordingJournal
) -> None:
    grave = host.declare("grave", queue_type="quorum")
    queue = host.declare("q", dead_letter_exchange="", dead_letter_routing_key="grave")
    host.publish(queue, b"x", header=TRANSIENT)
    queue.reject(get(queue))
    assert journal.live() == [(grave.id, get(grave).sequence)]


def test_a_retry_loop_with_reject_in_it_counts(host: QueueHost) -> None:
    work = host.declare("work", dead_letter_exchange="", dead_letter_routing_key="wait")
    host.declare("wait", message_ttl=100, dead_letter_exchange="", dead_letter_routing_key="work")
    host.publish(work, b"x", header=PERSISTENT)
    for attempt in range(1, 4):
        work.reject(get(work))
        host.advance(110)
        assert work.ready == 1, attempt
    assert [(d["queue"], d["count"]) for d in headers(get(work))["x-death"]] == [
        ("wait", 3),
        ("work", 3),
    ]


def test_a_loop_without_reject_ends_where_it_began(
    host: QueueHost, journal: RecordingJournal
) -> None:
    one = host.declare(
        "one", message_ttl=100, dead_letter_exchange="", dead_letter_routing_key="two"
    )
    two = host.declare(
        "two", message_ttl=100, dead_letter_exchange="", dead_letter_routing_key="one"
    )
    host.publish(one, b"x", header=PERSISTENT)
    host.advance(110)
    assert (one.ready, two.ready) == (0, 1)
    host.advance(110)
    assert (one.ready, two.ready) == (0, 0)
    assert host.dead_letters.cycles == 1
    assert journal.live() == []


def test_a_queue_that_is_its_own_dead_letter_queue_drops_what_expires(host: QueueHost) -> None:
    queue = host.declare("q", message_ttl=100, dead_letter_exchange="", dead_letter_routing_key="q")
    host.publish(queue, b"x", header=PERSISTENT)
    queue.reject(get(queue))
    assert queue.ready == 1, "a reject may bring it back"
    host.advance(110)
    assert queue.ready == 0


def test_a_chain_longer_than_pythons_stack_is_worked_off(
    host: QueueHost, journal: RecordingJournal
) -> None:
    length = sys.getrecursionlimit() + 500
    for number in range(length):
        host.declare(
            str(number),
            max_length=1,
            dead_letter_exchange="",
            dead_letter_routing_key=str(number + 1),
        )
    for number in range(length):
        host.publish(host.queues[str(number)], b"%d" % number, header=PERSISTENT)
    host.publish(host.queues["0"], b"push", header=PERSISTENT)
    for number in range(length):
        (content,) = host.queues[str(number)].contents.values()
        assert content.body == (b"push" if number == 0 else b"%d" % (number - 1))
    assert len(journal.live()) == length
    assert host.dead_letters.unroutable == 1


def test_a_history_never_outgrows_a_frame(host: QueueHost, journal: RecordingJournal) -> None:
    """A header can't be divided: one that no frame carries would end each connection that it is
    sent to."""
    length = 1_200
    key = "a routing key of some length"
    dead_letters: dict[str, Any] = {"max_length": 0, "dead_letter_exchange": "dlx"}
    for number in range(length):
        step = f"{key} {number:4}"
        host.declare(step, dead_letter_routing_key=f"to {number + 1}", **dead_letters)
        host.routes["dlx", f"to {number}"] = [step]
    end = host.declare("end")
    host.routes["dlx", f"to {length}"] = ["end"]
    host.publish(host.queues[f"{key}    0"], b"x", header=PERSISTENT)
    lease = get(end)
    assert len(lease.content.header) <= host.dead_letters.header_bytes_max
    deaths = headers(lease)["x-death"]
    assert [death["queue"] for death in deaths[:2]] == [f"{key} 1199", f"{key} 1198"]
    assert host.dead_letters.tables_dropped == length - len(deaths) > 0
    assert properties(lease).message_id == "m"


def test_a_cycle_among_many_targets(host: QueueHost) -> None:
    """More than the few that are searched for one by one."""
    waiting: dict[str, Any] = {"message_ttl": 100, "dead_letter_exchange": "dlx"}
    for number in range(20):
        host.declare(f"q{number}", dead_letter_routing_key="all", **waiting)
    host.routes["dlx", "all"] = list(host.queues)
    host.publish(host.queues["q0"], b"x", header=PERSISTENT)
    host.advance(110)
    assert [queue.ready for queue in host.queues.values()] == [0] + [1] * 19
    host.advance(110)
    assert host.dead_letters.cycles == 1 + 19 * 2
    assert [queue.ready for queue in host.queues.values()] == [0] + [18] * 19


def feeding_each_other(host: QueueHost) -> tuple[Queue, Queue]:
    """Two queues that keep nothing, and a message whose header leaves no room for a history."""
    one = host.declare("one", max_length=0, dead_letter_exchange="", dead_letter_routing_key="two")
    two = host.declare("two", max_length=0, dead_letter_exchange="", dead_letter_routing_key="one")
    host.dead_letters.header_bytes_max = 200
    return one, two


NO_ROOM = encode_header(1, Properties(delivery_mode=2, headers={"own": "x" * 170}))


def test_a_cycle_that_no_history_tells_of_ends(
    host: QueueHost, journal: RecordingJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_letters, "HOPS_MAX", 50)
    one, two = feeding_each_other(host)
    host.publish(one, b"x", header=NO_ROOM)
    assert (one.ready, two.ready, journal.live()) == (0, 0, [])
    assert (host.dead_letters.sent, host.dead_letters.cycles) == (50, 1)
    assert host.dead_letters.tables_dropped == 51


def test_a_message_without_room_for_a_history_arrives(host: QueueHost) -> None:
    one, two = feeding_each_other(host)
    two.limits = replace(two.limits, dead_letter_routing_key="grave")
    grave = host.declare("grave")
    host.publish(one, b"x", header=NO_ROOM)
    assert get(grave).content.header == NO_ROOM


def test_two_full_queues_that_feed_each_other_come_to_rest(host: QueueHost) -> None:
    one = host.declare("one", max_length=2, dead_letter_exchange="", dead_letter_routing_key="two")
    two = host.declare("two", max_length=2, dead_letter_exchange="", dead_letter_routing_key="one")
    for number in range(20):
        host.publish(one, b"%d" % number, header=PERSISTENT)
        assert one.ready <= 2
        assert two.ready <= 2
    assert host.dead_letters.cycles > 0


def test_a_grave_that_refuses_loses_the_letter(host: QueueHost, journal: RecordingJournal) -> None:
    host.declare("grave", max_length=0, overflow="reject-publish")
    queue = host.declare("q", dead_letter_exchange="", dead_letter_routing_key="grave")
    host.publish(queue, b"x", header=PERSISTENT)
    queue.reject(get(queue))
    assert host.dead_letters.unroutable == 1
    assert journal.live() == []


def test_names_that_no_delivery_can_show_whole(host: QueueHost) -> None:
    """An argument is a longstr: a client may ask for an exchange or a key of any length."""
    nowhere = host.declare("nowhere", dead_letter_exchange="x" * 300)
    host.publish(nowhere, b"1", header=PERSISTENT)
    nowhere.reject(get(nowhere))
    assert (nowhere.unacked, host.dead_letters.unroutable) == (0, 1)
    grave = host.declare("grave")
    queue = host.declare("q", dead_letter_exchange="dlx", dead_letter_routing_key="k" * 300)
    host.routes["dlx", "k" * 300] = ["grave"]
    host.publish(queue, b"2", header=PERSISTENT)
    queue.reject(get(queue))
    assert get(grave).content.route == b"\x03dlx\xff" + b"k" * 255
