"""Bugs in what goes in runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import pytest

from mutants.mutant import mutant
from mutants.worlds import running
from reference_broker.core.channel.consumer import UNLIMITED, Consumer
from reference_broker.core.hot_path import publish_run
from reference_broker.core.hot_path.publish_run import PublishRun
from reference_broker.core.index.index import QueueIndex
from reference_broker.core.journal.journal import Entry
from reference_broker.core.message.content import Content
from reference_broker.core.message.header import PROPERTIES, facts_of
from reference_broker.core.queue import runs
from reference_broker.core.queue.backlog import Backlog
from reference_broker.core.queue.lease import Lease
from reference_broker.core.queue.queue import Queue
from reference_broker.store import Log
from reference_broker.store.log.foreign_ranges_by_segment import AckRow

# Publishing


@mutant("durability", worlds=running)
def last_not_logged(patch: pytest.MonkeyPatch) -> None:
    """The last message of a run has no record; it is said to be where the one before is."""
    publish_run = Log.publish_run

    def all_but_one(self: Log, entry: Entry, contents: Sequence[Content]) -> int:
        if len(contents) < 2 or publish_run(self, entry, contents[:-1]) < len(contents) - 1:
            return publish_run(self, entry, contents) if len(contents) < 2 else 0
        contents[-1].position, contents[-1].stored = contents[-2].position, contents[-2].stored
        self._segment.live_bytes += contents[-1].stored
        return len(contents)

    patch.setattr(Log, "publish_run", all_but_one)


@mutant("books", worlds=running)
def last_not_booked(patch: pytest.MonkeyPatch) -> None:
    publish_run = Log.publish_run

    def without_its_bytes(self: Log, entry: Entry, contents: Sequence[Content]) -> int:
        count = publish_run(self, entry, contents)
        self._segment.live_bytes -= contents[count - 1].stored if count > 1 else 0
        return count

    patch.setattr(Log, "publish_run", without_its_bytes)


@mutant(worlds=running)
def same_sequence_twice(patch: pytest.MonkeyPatch) -> None:
    """The part of a run that the log takes begins at the entry of the first message again."""
    append_run = publish_run._append_stored

    def again(queue: Queue, contents: list[Content]) -> int:
        journal = queue.env.journal
        count = append_run(queue, contents)
        if 1 < count < len(contents):
            journal.publish((Entry(queue.id, queue.index.tail - 1),), contents[count])
        return count

    patch.setattr(publish_run, "_append_stored", again)


@mutant("order", worlds=running)
def backwards(patch: pytest.MonkeyPatch) -> None:
    close: Callable[[PublishRun], Any] = PublishRun.close

    def last_first(self: PublishRun) -> Any:
        self.contents.reverse()
        return close(self)

    patch.setattr(PublishRun, "close", last_first)


@mutant("durability", worlds=running)
def any_header_is_alike(patch: pytest.MonkeyPatch) -> None:
    """Only the first message of a run is asked whether it is persistent."""
    patch.setattr(publish_run, "shape_of", lambda header: header[:PROPERTIES])
    add = PublishRun.add

    def any_mode(self: PublishRun, header: bytes, body: bytes) -> bool:
        facts = self.facts
        if facts is not None:
            self.facts = facts._replace(persistent=facts_of(header).persistent)
        taken = add(self, header, body)
        self.facts = facts or self.facts
        return taken

    patch.setattr(PublishRun, "add", any_mode)


@mutant("liveness", worlds=running)
def counted_as_one(patch: pytest.MonkeyPatch) -> None:
    """A run takes one number of the channel's confirms."""
    close: Callable[[PublishRun], Any] = PublishRun.close

    def as_one(self: PublishRun) -> Any:
        answer = close(self)
        confirms = self._channel.confirms
        if confirms is not None and self.contents:
            confirms.published -= len(self.contents) - 1
        return answer

    patch.setattr(PublishRun, "close", as_one)


@mutant(worlds=running)
def left_out_and_not_counted(patch: pytest.MonkeyPatch) -> None:
    """Of the messages of a run that memory doesn't keep, one is counted."""
    leave_out = Backlog.leave_out

    def one(self: Backlog, sequence: int, size: int, count: int = 1) -> None:
        leave_out(self, sequence, size)

    patch.setattr(Backlog, "leave_out", one)


# Handing out


@mutant("durability", worlds=running, showed_at=1)
def last_not_sent(patch: pytest.MonkeyPatch) -> None:
    """The last delivery of a run has a lease and a tag, and no frames."""
    deliver_run = Consumer.deliver_run

    def all_but_one(self: Consumer, leases: Iterator[Lease]) -> int:
        before = len(self.connection.output)
        count = deliver_run(self, leases)
        if count > 1 and len(self.connection.output) - before == 7 * count:
            del self.connection.output[-7:]
        return count

    patch.setattr(Consumer, "deliver_run", all_but_one)


@mutant(worlds=running)
def one_too_many(patch: pytest.MonkeyPatch) -> None:
    """A run asks for a message before it knows that there is room for it."""
    deliver_run = Consumer.deliver_run

    def asked_before(self: Consumer, leases: Iterator[Lease]) -> int:
        first = next(leases, None)
        return 0 if first is None else deliver_run(self, chain((first,), leases))

    patch.setattr(Consumer, "deliver_run", asked_before)


@mutant("prefetch", worlds=running)
def prefetch_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Consumer, "room", lambda self: UNLIMITED)


@mutant("redelivered", worlds=running)
def redelivered_as_new(patch: pytest.MonkeyPatch) -> None:
    """Requeued messages are taken for messages that were never handed out."""
    fresh_run = QueueIndex.fresh_run

    def anything(self: QueueIndex) -> tuple[int, int]:
        head = self._head
        if head.returned and self.ready:
            chunk, offset = self._seek()
            if chunk is head:
                run = head.ready_run(offset)
                for place in run:
                    head.returned -= head.states[place] == 1
                    head.states[place] = 0
        return fresh_run(self)

    patch.setattr(QueueIndex, "fresh_run", anything)


# Settling


@mutant("acks", worlds=running, showed_at=5)
def not_logged(patch: pytest.MonkeyPatch) -> None:
    def forget(self: Log, queue_id: int, sequence: int, contents: Sequence[Content]) -> int:
        self._segment.live_bytes -= sum(
            each.stored for each in contents if each.position >= self._segment.base
        )
        return len(contents)

    patch.setattr(Log, "ack_run", forget)


@mutant("books", worlds=running)
def shares_of_one(patch: pytest.MonkeyPatch) -> None:
    """The acks of a run set free what the first of them has taken."""
    ack_run = Log.ack_run

    def first_only(self: Log, queue_id: int, sequence: int, contents: Sequence[Content]) -> int:
        before = self._segment.live_bytes
        count = ack_run(self, queue_id, sequence, contents)
        if self._segment.live_bytes < before:
            self._segment.live_bytes = before - contents[0].stored
        return count

    patch.setattr(Log, "ack_run", first_only)


@mutant("books", worlds=running, showed_at=2)
def over_the_segments_end(patch: pytest.MonkeyPatch) -> None:
    """Acks about older segments are folded with those of the segment in use, unsaid."""
    ack_run = Log.ack_run

    def everything(self: Log, queue_id: int, sequence: int, contents: Sequence[Content]) -> int:
        count = ack_run(self, queue_id, sequence, contents)
        last = self._open_ranges.get(queue_id)
        if last is not None and last[2] + 1 == sequence + count:
            last[2] += len(contents) - count
            return len(contents)
        return count

    patch.setattr(Log, "ack_run", everything)


@mutant("acks", worlds=running, showed_at=4)
def row_forgets_the_footer(patch: pytest.MonkeyPatch) -> None:
    """A row of acks goes on in the log, and not in the ranges about the other segment."""

    def go_on(self: AckRow, queue_id: int, sequence: int, contents: Sequence[Content]) -> int:
        self._open_range[2] += len(contents)
        self._segment.live_bytes -= sum(content.stored for content in contents)
        return len(contents)

    patch.setattr(AckRow, "go_on", go_on)


@mutant("durability", worlds=running, showed_at=5)
def one_more_is_acked(patch: pytest.MonkeyPatch) -> None:
    """The message behind a run goes with it, if somebody has it."""
    following = runs._ack_following

    def with_the_next(queue: Queue, leases: Sequence[Lease], place: int) -> int:
        count = following(queue, leases, place)
        if count:
            lease = queue.leases.get(leases[place + count - 1].sequence + 1)
            if lease is not None and place + count == len(leases):
                queue.ack(lease)
        return count

    patch.setattr(runs, "_ack_following", with_the_next)
