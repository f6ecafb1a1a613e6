"""A queue whose messages are mostly absent, against a plain model: random histories."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from mqkit.wire import Properties, encode_header
from reference_broker.core.queue import backlog
from reference_broker.core.queue.lease import Lease
from reference_broker.testing.lone_queue import LoneConsumer, QueueHost, purge_now
from reference_broker.testing.recording_journal import RecordingJournal

PERSISTENT = encode_header(1, Properties(delivery_mode=2))
TRANSIENT = encode_header(1, Properties())


class BacklogMachine(RuleBasedStateMachine):
    """A queue with next to no window, and a disk that answers when it likes, against lists."""

    @initialize(
        messages=st.integers(1, 5),
        window=st.sampled_from([1, 1200, 3000]),
        levels=st.booleans(),
    )
    def begin(self, messages: int, window: int, levels: bool) -> None:
        self.journal = RecordingJournal()
        self.host = QueueHost(self.journal)
        self.host.window.size_bytes = window
        self.levels = levels
        self.patch = pytest.MonkeyPatch()  # the messages are tiny: so are the bounds they meet
        self.patch.setattr(backlog, "HEAD_BYTES", 600)
        self.patch.setattr(backlog, "READ_AHEAD_BYTES_MIN", 1)
        self.patch.setattr(backlog, "READ_AHEAD_MESSAGES", messages)
        arguments: dict[str, Any] = {"max_priority": 3} if levels else {}
        self.queue = self.host.declare("q", **arguments)
        self.consumers: list[LoneConsumer] = []
        self.ready: list[tuple[int, int, bool]] = []  # (level to serve first, number, redelivered)
        self.out: list[Lease] = []
        self.taken: list[Lease] = []
        self.number = self.waiting = 0

    def collect(self) -> None:
        """Check the deliveries: the first messages that were ready, in order, with their bodies."""
        self.host.settle()
        fresh = self.taken + [lease for consumer in self.consumers for lease in consumer.leases]
        self.taken.clear()
        for consumer in self.consumers:
            consumer.leases.clear()
        for lease in sorted(fresh, key=lambda lease: lease.number):
            _, number, redelivered = self.ready.pop(0)
            assert int(lease.content.body) == number
            assert lease.redelivered == redelivered
            self.out.append(lease)

    @rule(count=st.integers(1, 6), persistent=st.booleans(), level=st.integers(0, 3))
    def publish(self, count: int, persistent: bool, level: int) -> None:
        level = level if self.levels else 0
        mode = 2 if persistent else 1
        header = encode_header(1, Properties(delivery_mode=mode, priority=level))
        for _ in range(count):
            body = b"%d" % self.number
            self.host.publish(self.queue, body, header=header, settle=False)
            self.ready.append((-level, self.number, False))
            self.number += 1
        self.ready.sort()
        self.collect()

    @rule(damage=st.sampled_from([False, False, False, True]))
    def answer(self, damage: bool) -> None:
        if not self.journal.fetches:
            return
        position = self.journal.fetches[0].positions[0]
        number = int(self.journal.message(position).body)
        if damage:
            self.journal.damaged[position] = None
        before = self.queue.lost
        self.queue.fetched(self.journal.answer().contents)
        rows = [row for row in self.ready if row[1] == number]
        assert self.queue.lost - before == (len(rows) if position in self.journal.damaged else 0)
        if self.queue.lost > before:
            self.ready.remove(rows[0])
        self.collect()

    @rule(credit=st.integers(0, 4))
    def consume(self, credit: int) -> None:
        self.consumers.append(LoneConsumer(credit=credit))
        self.queue.add_consumer(self.consumers[-1])
        self.collect()

    @rule(place=st.integers(0, 99))
    def cancel(self, place: int) -> None:
        if self.consumers:
            self.queue.remove_consumer(self.consumers.pop(place % len(self.consumers)))

    def try_get(self) -> None:
        lease = self.queue.get(None)
        if lease is not None:
            self.taken.append(lease)
        elif self.queue.ready:
            self.waiting += 1
            self.queue.backlog.await_head(self.woken)

    def woken(self) -> None:
        self.waiting -= 1
        self.try_get()

    @rule()
    def get(self) -> None:
        self.try_get()
        self.collect()

    @rule(place=st.integers(0, 99))
    def ack(self, place: int) -> None:
        if self.out:
            lease = self.out.pop(place % len(self.out))
            self.queue.ack(lease)
            if isinstance(lease.holder, LoneConsumer):
                lease.holder.credit += 1
                self.host.mark_dirty(self.queue)
            self.collect()

    @rule(places=st.lists(st.integers(0, 99), min_size=1, max_size=6))
    def requeue(self, places: list[int]) -> None:
        leases = [self.out.pop(place % len(self.out)) for place in places if self.out]
        self.queue.requeue(leases)
        for lease in leases:
            level = lease.sequence >> 55
            self.ready.append((-level, int(lease.content.body), True))
        self.ready.sort()
        self.collect()

    @rule(wanted=st.sampled_from([1, 1000, 1 << 20]), paging=st.booleans())
    def shed(self, wanted: int, paging: bool) -> None:
        self.queue.backlog.shed(wanted, paging=paging)

    @rule()
    def purge(self) -> None:
        assert purge_now(self.queue) == len(self.ready)
        self.ready.clear()
        self.collect()

    @invariant()
    def the_counts_agree(self) -> None:
        if not hasattr(self, "queue"):
            return
        queue = self.queue
        assert queue.ready == len(self.ready)
        assert queue.backlog.absent == queue.ready - len(queue.contents)
        in_memory = sum(len(content.body) for content in queue.contents.values())
        assert queue.backlog.absent_bytes == queue.ready_bytes - in_memory
        headers = [content.header for content in queue.contents.values()]
        headers += [lease.content.header for lease in self.out]
        assert queue.header_bytes == sum(len(header) for header in headers)
        assert queue.unacked == len(self.out)
        assert not self.waiting or self.journal.fetches, "somebody waits, and nothing is asked for"

    def teardown(self) -> None:
        """A consumer that takes everything gets everything, in order."""
        self.consume(1_000_000)
        for _ in range(self.number + 1):
            self.answer(False)
        assert self.ready == []
        assert self.waiting == 0
        assert not self.journal.pages
        logged = [lease for lease in self.out if lease.content.position >= 0]
        assert len(self.journal.live()) == len(logged)
        self.patch.undo()


TestBacklogMachine = BacklogMachine.TestCase
TestBacklogMachine.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
