"""The wiring: dirty connections, deadlines, recovery of definitions, and determinism."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from mqkit.wire import Properties, decode_header, method_frame
from mqkit.wire.methods import (
    BasicConsume,
    ConnectionClose,
    ConnectionCloseOk,
    ExchangeDeclare,
    QueueBind,
    QueueDeclare,
    QueueDeclareOk,
    QueueDelete,
)
from reference_broker.core.base.limits import HANDSHAKE_S, Limits
from reference_broker.core.journal.journal import Entry, EntrySource
from reference_broker.core.message.content import Content
from reference_broker.core.work.budget import CONNECTION_UNITS
from reference_broker.errors import ConnectionException, ReplyCode
from reference_broker.testing.lone_broker import LoneBroker
from reference_broker.testing.recording_journal import RecordingJournal

GO_ELSEWHERE = ConnectionClose(320, "CONNECTION_FORCED - go elsewhere", 0, 0)


def test_a_connection_is_listed_as_dirty_once_and_by_any_input_that_concerns_it() -> None:
    lone = LoneBroker()
    consumer, publisher = lone.client(), lone.client()
    consumer.send(1, QueueDeclare("q"), BasicConsume("q", "t"))
    publisher.publish("q")
    publisher.publish("q")
    dirty = lone.broker.take_dirty_connections()
    assert dirty == [consumer.connection, publisher.connection]
    assert lone.broker.take_dirty_connections() == []
    publisher.publish("q")
    assert lone.broker.take_dirty_connections() == [consumer.connection]


def test_the_next_deadline_is_the_soonest_of_either_clock() -> None:
    lone = LoneBroker()
    assert lone.broker.next_deadline() is None
    client = lone.socket()
    assert lone.broker.next_deadline() == pytest.approx(lone.now_s + HANDSHAKE_S, abs=0.02)
    client.disconnect()
    client = lone.client()
    client.send(1, QueueDeclare("q", arguments={"x-expires": 500}))
    deadline = lone.broker.next_deadline()
    assert deadline is not None
    assert deadline <= lone.now_s + 0.52


def test_a_tick_expires_a_queue() -> None:
    lone = LoneBroker()
    client = lone.client()
    client.send(1, QueueDeclare("q", arguments={"x-expires": 500}))
    lone.pass_time(0.4)
    assert "q" in lone.broker.vhosts["/"].queues
    lone.pass_time(0.2)
    assert "q" not in lone.broker.vhosts["/"].queues


def test_many_deadlines_that_are_due_at_once_have_as_many_turns_as_they_take() -> None:
    lone, ran = LoneBroker(units=100), list[int]()
    broker = lone.broker
    broker.begin(lone.now_s, lone.wall_ms)
    for number in range(1_000):
        broker.after(1.0, partial(ran.append, number))
        broker.deadlines.at(lone.wall_ms + 1_000, partial(ran.append, 1_000 + number))
    broker.after(5.0, partial(ran.append, -1))
    lone.now_s += 2
    lone.wall_ms += 2_000
    broker.tick(lone.now_s, lone.wall_ms)
    assert (len(ran), broker.has_work, broker.next_deadline()) == (100, True, None)
    broker.tick(lone.now_s, lone.wall_ms)
    assert len(ran) == 100, "they have had their turn"
    turns = 0
    while broker.has_work:
        before = len(ran)
        lone.turn()
        turns += 1
        assert len(ran) - before <= 100
    assert 19 <= turns <= 20, "a look at a job costs a unit"
    assert ran == list(range(2_000))
    assert broker.next_deadline() == pytest.approx(lone.now_s + 3, abs=0.02)


def test_a_client_is_served_between_deadlines_that_are_due_at_once() -> None:
    lone, ran = LoneBroker(units=100), list[int]()
    client = lone.client()
    for number in range(2_000):
        lone.broker.after(1.0, partial(ran.append, number))
    lone.now_s += 2
    lone.broker.tick(lone.now_s, lone.wall_ms)
    lone.broker.budget.refill()
    client.feed(method_frame(1, QueueDeclare("q")))
    assert client.methods() == [QueueDeclareOk("q", 0, 0)]
    assert len(ran) == 100
    assert lone.overdrawn == 0


def test_a_deadline_that_fails_does_not_hold_up_the_others() -> None:
    lone, ran = LoneBroker(units=2), list[int]()
    lone.broker.begin(lone.now_s, lone.wall_ms)
    for number in range(10):
        lone.broker.after(1.0, partial(ran.append, number))
    lone.broker.after(1.0, partial(divmod, 1, 0))
    lone.broker.after(1.0, partial(ran.append, 10))
    lone.now_s += 2
    lone.broker.tick(lone.now_s, lone.wall_ms)
    with pytest.raises(ZeroDivisionError):
        lone.complete()
    lone.complete()
    assert ran == list(range(11))


def test_a_tick_that_fails_leaves_the_rest_to_later_turns() -> None:
    lone, ran = LoneBroker(), list[int]()
    lone.broker.begin(lone.now_s, lone.wall_ms)
    lone.broker.after(1.0, partial(divmod, 1, 0))
    lone.broker.after(1.0, partial(ran.append, 1))
    with pytest.raises(ZeroDivisionError):
        lone.pass_time(2)
    assert lone.broker.has_work
    lone.complete()
    assert ran == [1]


def test_a_tick_that_is_early_does_nothing() -> None:
    lone = LoneBroker()
    client = lone.client()
    for _ in range(5):
        lone.broker.tick(lone.now_s, lone.wall_ms)
    assert client.received() == []


def test_a_message_expires_in_the_tick_that_was_asked_for() -> None:
    lone = LoneBroker()
    client = lone.client()
    client.send(1, QueueDeclare("q", arguments={"x-message-ttl": 300}))
    client.publish("q")
    lone.pass_time(0.29)
    assert lone.broker.vhosts["/"].queues["q"].ready == 1
    lone.pass_time(0.1)
    assert lone.broker.vhosts["/"].queues["q"].ready == 0


def test_definitions_are_taken_up_before_anything_else() -> None:
    class Definitions:
        def __init__(self) -> None:
            self.values: dict[str, bytes] = {}

    lone = LoneBroker()
    kept = Definitions()

    def define(key: str, value: bytes | None) -> None:
        assert value is not None
        kept.values[key] = value

    lone.journal.define = define  # type: ignore[method-assign]
    client = lone.client()
    client.send(
        1,
        QueueDeclare("q", durable=True),
        QueueDeclare("transient"),
        ExchangeDeclare("x", "topic", durable=True),
        QueueBind("q", "x", "a.#"),
    )
    again = LoneBroker()
    again.broker.restore(kept.values)
    vhost = again.broker.vhosts["/"]
    assert list(vhost.queues) == ["q"]
    assert [queue.name for queue in vhost.route("x", "a.b", b"") or ()] == ["q"]


SCRIPT = """
import hashlib
from mqkit.wire.methods import *
from reference_broker.testing.lone_broker import LoneBroker
lone = LoneBroker()
clients = [lone.client(heartbeat_s=10) for _ in range(3)]
trace = hashlib.sha256()
for round in range(30):
    for number, client in enumerate(clients):
        client.send(1, QueueDeclare(f"q{round % 5}"), QueueDeclare(exclusive=True))
        client.send(1, BasicConsume(f"q{round % 5}"), QueueBind("", "amq.topic", "a.*"))
        client.publish("a.b", exchange="amq.topic")
        if round == 20 and number == 1:
            client.disconnect()
    lone.pass_time(1)
    for client in clients:
        trace.update(client.output())
print(trace.hexdigest())
"""


def test_the_same_inputs_give_the_same_bytes_whatever_the_hash_seed() -> None:
    traces = set()
    for seed in ("0", "1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[3])},
            capture_output=True,
            text=True,
            check=True,
        )
        traces.add(done.stdout)
    assert len(traces) == 1
    assert traces != {hashlib.sha256().hexdigest() + "\n"}


class AskingJournal(RecordingJournal):
    """Asks which entries are alive, as the log does when a segment is sealed, before each record
    that ends one."""

    def __init__(self) -> None:
        super().__init__()
        self.alive: list[tuple[str, list[int]]] = []

    def attach(self, entries: EntrySource) -> None:
        self._entries = entries

    def ask(self, verb: str, queue_id: int) -> None:
        pieces = self._entries.live_entries(queue_id, 0, self.tail)
        self.alive.append((verb, [position for each in pieces for position in each.positions]))

    def ack(self, queue_id: int, sequence: int, position: int, stored: int) -> None:
        self.ask("ack", queue_id)
        super().ack(queue_id, sequence, position, stored)

    def move(
        self,
        queue_id: int,
        sequence: int,
        position: int,
        stored: int,
        entries: Sequence[Entry],
        content: Content,
    ) -> None:
        self.ask("move", queue_id)
        super().move(queue_id, sequence, position, stored, entries, content)


@pytest.mark.parametrize(("grave_durable", "verb"), [(True, "move"), (False, "ack")])
def test_a_dead_letter_is_alive_until_its_end_is_in_the_journal(
    grave_durable: bool, verb: str
) -> None:
    journal = AskingJournal()
    lone = LoneBroker(journal)
    client = lone.client()
    client.send(1, QueueDeclare("grave", durable=grave_durable))
    lone.sync()
    letters = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "grave"}
    client.send(1, QueueDeclare("q", durable=True, arguments={"x-max-length": 1, **letters}))
    lone.sync()
    client.publish("q", properties=Properties(delivery_mode=2))
    (position,) = (p for p, record in enumerate(journal.records) if record[0] == "publish")
    client.publish("q", properties=Properties(delivery_mode=2))
    assert journal.alive == [(verb, [position, position + 1])]
    queue = lone.broker.vhosts["/"].queues["q"]
    (left,) = lone.broker.live_entries(queue.id, 0, journal.tail)
    assert left.positions.tolist() == [position + 1]


def test_the_entries_of_a_queue_are_those_of_all_its_levels_and_none_once_it_is_deleted() -> None:
    journal = RecordingJournal()
    lone = LoneBroker(journal)
    client = lone.client()
    client.send(1, QueueDeclare("q", durable=True, arguments={"x-max-priority": 5}))
    lone.sync()
    for priority in (0, 3):
        client.publish("q", properties=Properties(delivery_mode=2, priority=priority))
    client.publish("q", properties=Properties())
    queue_id = lone.broker.vhosts["/"].queues["q"].id
    found = list(lone.broker.live_entries(queue_id, 0, journal.tail))
    assert [each.queue_id for each in found] == [queue_id, queue_id]
    assert [each.positions.tolist() for each in found] == [[2], [1]]
    client.send(1, QueueDelete("q"))
    assert list(lone.broker.live_entries(queue_id, 0, journal.tail)) == []


def test_an_answer_for_a_queue_that_is_gone_is_dropped() -> None:
    journal = RecordingJournal()
    lone = LoneBroker(journal)
    lone.broker.window.size_bytes = 1
    client = lone.client()
    client.send(1, QueueDeclare("q", durable=True))
    lone.sync()
    for _ in range(2):
        client.publish("q", properties=Properties(delivery_mode=2))
    client.send(1, BasicConsume("q", "t"), QueueDelete("q"))
    lone.broker.fetched([journal.answer()], lone.now_s, lone.wall_ms)
    assert journal.live() == []


def test_the_end_of_a_connection_is_told_once_to_everybody_who_waits_for_it() -> None:
    lone = LoneBroker()
    client = lone.client()
    told: list[str] = []
    lone.broker.await_end(client.connection, lambda: told.append("first"))
    lone.broker.await_end(client.connection, lambda: told.append("second"))
    client.connection.fail(ConnectionException(ReplyCode.CONNECTION_FORCED, "enough"))
    assert told == []
    client.send(0, ConnectionCloseOk())
    assert told == ["first", "second"]
    client.disconnect()
    lone.broker.await_end(client.connection, lambda: told.append("late"))
    assert told == ["first", "second", "late"]


def test_clients_are_dismissed_in_portions_and_those_that_come_meanwhile_stay() -> None:
    lone = LoneBroker()
    clients = [lone.client() for _ in range(50)]
    for client in clients:
        client.methods()
    told: list[str] = []
    lone.broker.budget.units = 10 * CONNECTION_UNITS
    lone.turn()
    lone.broker.dismiss("go elsewhere", lambda: told.append("all"))
    dismissed = [client.methods() for client in clients].count([GO_ELSEWHERE])
    assert 0 < dismissed <= 10
    late = lone.socket()
    assert told == []
    turns = lone.complete()
    assert turns >= 3
    left = [client.methods() for client in clients]
    assert left.count([GO_ELSEWHERE]) == 50 - dismissed
    assert told == ["all"]
    assert not late.connection.closed


def test_where_nobody_is_connected_all_are_told_at_once() -> None:
    lone = LoneBroker()
    told: list[str] = []
    lone.take(lambda: lone.broker.dismiss("go elsewhere", lambda: told.append("all")))
    assert told == ["all"]


def test_a_dead_letters_header_fits_a_frame_of_this_broker() -> None:
    lone = LoneBroker(limits=Limits(frame_max=8_192))
    client = lone.client(frame_max=8_192)
    for number in range(100):
        arguments = {
            "x-max-length": 0,
            "x-dead-letter-exchange": "",
            "x-dead-letter-routing-key": f"q{number + 1}",
        }
        client.send(1, QueueDeclare(f"q{number}", arguments=arguments))
    client.send(1, QueueDeclare("q100"), BasicConsume("q100", "t"))
    client.received()
    client.publish("q0", properties=Properties(message_id="m"))
    (delivery,) = client.received()
    assert 8_000 > len(delivery.header) > 6_000
    assert decode_header(delivery.header)[1].message_id == "m"
    assert lone.broker.vhosts["/"].dead_letters.tables_dropped > 0


def test_a_queue_is_found_by_its_id_in_whichever_virtual_host_until_it_is_deleted() -> None:
    broker = LoneBroker().broker
    other = broker.add_vhost("other")
    queues = [vhost.declare_queue("q") for vhost in (broker.vhosts["/"], other)]
    windowed = other.declare_queue("w", arguments={"x-message-id-window": 10})
    assert windowed.deduplication is not None
    of_other = [queues[1], windowed, windowed.deduplication.queue]
    assert list(broker.queues_by_id.values()) == [queues[0], *of_other]
    assert [broker.queues_by_id[queue.id] for queue in of_other] == of_other
    broker.delete_vhost("other")
    assert list(broker.queues_by_id.values()) == queues[:1]
