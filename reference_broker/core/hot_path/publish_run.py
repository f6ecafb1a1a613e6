"""Runs of publishes: messages of one read that follow each other to the same queue are put into it
at once.

Most of what a publish costs is the way through the layers, and not the message. So what needs no
decision of its own is only collected here, and goes the way once for all of them:

    take_publishes   add, add, add, ...   close  -->  journal.publish_run, index.append_run
                     (anything else in between closes the run first: the order is kept)

A run is of one target that is nothing but one queue without limits, levels and TTL, and of messages
that are all persistent, or none, and have nothing that the channel has to see to. When room gets
scarce in the middle of it, the rest is given back: those have to ask, each for itself
(:mod:`reference_broker.core.journal.free_space`).
"""

from __future__ import annotations

import struct
from array import array
from itertools import accumulate
from typing import TYPE_CHECKING

from mqkit.wire import FRAME_END, FRAME_OVERHEAD
from reference_broker.core.channel.after_routing import forward_run
from reference_broker.core.index.memory_window import MESSAGE_OVERHEAD_BYTES
from reference_broker.core.journal.journal import Entry
from reference_broker.core.message.content import NOT_STORED, Content
from reference_broker.core.message.header import facts_of, shape_of
from reference_broker.core.queue.enqueue import enqueue
from reference_broker.core.remote.remote_queue import RemoteQueue
from reference_broker.core.work.budget import TABLE_OCTETS_PER_UNIT
from reference_broker.errors import AmqpError

if TYPE_CHECKING:
    from reference_broker.core.channel.channel import Channel
    from reference_broker.core.channel.publish_target import PublishTarget
    from reference_broker.core.hot_path.message_span import MessageSpan
    from reference_broker.core.message.header import HeaderFacts
    from reference_broker.core.queue.queue import Queue

RUN_MESSAGES = 256
"""Messages of a run, at most: a longer one would not cost less for each."""

HEADER_FIXED = 12
"""Octets of class, weight and body size, with which a content header begins."""

_BODY_SIZE_AT = 4
_BODY = 3
_MIDDLE = struct.Struct(">BBHI")
"""The octets between header and body: the end of one frame, and the head of the other."""
_body_size = struct.Struct(">Q").unpack_from


class PublishRun:
    """A run of messages for ``target``, which is resolved and leads to ``queue`` alone. ``facts``
    are those of its first message; each begins with a method frame of ``method_octets``. To be
    closed before anything else is done."""

    __slots__ = ("_channel", "_method_octets", "_queue", "contents", "facts", "target")

    def __init__(
        self, channel: Channel, target: PublishTarget, queue: Queue, method_octets: int
    ) -> None:
        self._channel = channel
        self._queue = queue
        self._method_octets = method_octets
        self.target = target
        self.facts: HeaderFacts | None = None
        self.contents: list[Content] = []

    def add(self, header: bytes, body: bytes) -> bool:
        """Take one more message for the target, or refuse it: what is wrong with it is for
        :func:`~reference_broker.core.hot_path.publish.publish` to say."""
        try:
            facts = facts_of(header)
        except AmqpError:
            return False
        if facts.has_headers:
            budget = self._channel.broker.budget
            if budget.left <= 0:
                return False
            budget.left -= len(header) // TABLE_OCTETS_PER_UNIT
        first = self.facts
        if first is None:
            first = self.facts = facts
        if (
            not facts.plain
            or facts.expiration_ms is not None
            or facts.persistent != first.persistent
            or len(self.contents) >= RUN_MESSAGES
        ):
            return False
        self.contents.append(Content(self.target.route, header, body))
        return True

    def add_alike(self, data: bytes, span: MessageSpan, end: int, body_max: int) -> int:
        """Take the messages that follow the last one, and are like it but for their body and what
        is free in their header (:func:`shape_of`). ``span`` is where that one lies in ``data``.
        Returns where to go on: behind it, if there is none."""
        start, header_at, header_stop, position = span
        head = data[start : header_at + _BODY_SIZE_AT]
        begins = data.startswith
        if not begins(head, position):
            return position
        contents = self.contents
        route = self.target.route
        header = contents[-1].header
        shape = middle = b""
        size_at, middle_at = len(head), header_stop - start
        header_at, body_at = header_at - start, middle_at + _MIDDLE.size
        last_size = -1
        while len(contents) < RUN_MESSAGES and begins(head, position):
            if position + body_at >= end:
                break
            (size,) = _body_size(data, position + size_at)
            if size != last_size:
                if not 0 < size <= body_max:
                    break
                middle = _MIDDLE.pack(FRAME_END, _BODY, self._channel.number, size)
                last_size = size
            body = position + body_at
            stop = body + size
            if stop >= end or not begins(middle, position + middle_at) or data[stop] != FRAME_END:
                break
            found = data[position + header_at : position + middle_at]
            if found != header:
                shape = shape or shape_of(header)[HEADER_FIXED:]
                if not found.startswith(shape, HEADER_FIXED):
                    break
            contents.append(Content(route, found, data[body:stop]))
            position = stop + 1
        return position

    def close(self) -> tuple[int, int]:
        """Put what was collected into the queue; returns how many messages at the end were not,
        since room got scarce, and how many octets of the read they take: go on with them. The run
        is of no more use."""
        contents, facts = self.contents, self.facts
        if not contents or facts is None:
            return 0, 0
        missed = self._put(contents, facts)
        confirms = self._channel.confirms
        if confirms is not None:
            confirms.published += len(contents) - len(missed)
        return len(missed), sum(map(self._octets_of, missed))

    def _put(self, contents: list[Content], facts: HeaderFacts) -> list[Content]:
        return enqueue_run(self._queue, contents, facts)

    def _octets_of(self, content: Content) -> int:
        """Octets of the frames that the message came in."""
        body_octets = len(content.body) + FRAME_OVERHEAD if content.body else 0
        return self._method_octets + len(content.header) + FRAME_OVERHEAD + body_octets


class ForwardedRun(PublishRun):
    """A run of messages for one queue of another node."""

    __slots__ = ()

    def _put(self, contents: list[Content], facts: HeaderFacts) -> list[Content]:
        forward_run(self._channel, self._queue, contents)
        return []


def run_for(channel: Channel, target: PublishTarget, method_octets: int) -> PublishRun | None:
    """A run for ``target``, of messages that begin with method frames of so many octets; ``None``
    where each message has to go its own way."""
    if target.version != channel.vhost.topology_version or len(target.queues) != 1:
        return None
    queue = target.queues[0]
    if not target.plain:
        return _forwarded_run(channel, target, queue, method_octets)
    return PublishRun(channel, target, queue, method_octets) if takes_runs(queue) else None


def takes_runs(queue: Queue) -> bool:
    """True where no message needs a look of its own."""
    return (
        queue.length_limit is None and queue.levels is None and queue.limits.message_ttl_ms is None
    )


def _forwarded_run(
    channel: Channel, target: PublishTarget, queue: Queue, method_octets: int
) -> PublishRun | None:
    if not target.is_forwarded or not isinstance(queue, RemoteQueue) or not queue.home.has_room:
        return None
    return ForwardedRun(channel, target, queue, method_octets)


def enqueue_run(queue: Queue, contents: list[Content], facts: HeaderFacts) -> list[Content]:
    """:func:`~reference_broker.core.queue.enqueue.enqueue` for each of ``contents``, whose
    ``facts`` are alike, in the queue of a run. Returns those at the end that have to ask for room
    first."""
    stored = queue.durable and (facts.persistent or queue.stores_all)
    append = _append_stored if stored else _append_unstored
    while contents:
        count = append(queue, contents)
        if not count:  # The log has to begin a batch or a segment for it.
            enqueue((queue,), contents[0], facts, queue.env)
            if queue.env.journal.free_space.scarce:
                return contents[1:]
            count = 1
        contents = contents[count:]
    if not queue.dirty:
        queue.env.mark_dirty(queue)
    return contents


def _append_unstored(queue: Queue, contents: list[Content]) -> int:
    """Append messages that only memory has; returns how many, which is all."""
    count = len(contents)
    sizes = array("I", [len(content.body) for content in contents])
    positions = array("q", (NOT_STORED,)) * count
    first = queue.index.append_run(positions, sizes, array("I", bytes(sizes.itemsize * count)))
    queue.note_published(first, contents)
    return count


def _append_stored(queue: Queue, contents: list[Content]) -> int:
    """Log messages and append them, as many as the log takes and as are in memory alike; returns
    how many."""
    index = queue.index
    backlog = queue.backlog
    contents, fits = (contents, False) if backlog.absent else _that_fit(queue, contents)
    count = queue.env.journal.publish_run(Entry(queue.id, index.tail, 0, 0), contents)
    if not count:
        return 0
    contents = contents[:count]
    sizes = array("I", [len(content.body) for content in contents])
    first = index.append_run(
        array("q", [content.position for content in contents]),
        sizes,
        array("I", [content.stored for content in contents]),
    )
    if fits or contents[0].position < 0:
        queue.note_published(first, contents)
    else:
        queue.note_left_out(first, sum(sizes), count)
    return count


def _that_fit(queue: Queue, contents: list[Content]) -> tuple[list[Content], bool]:
    """The first of ``contents`` that the window has room for (the last one may be larger than what
    is left), and True; all, and False, where it has none. Nothing of the queue is absent."""
    index = queue.index
    room = queue.env.window.size_bytes - index.ready_bytes
    room -= index.ready * MESSAGE_OVERHEAD_BYTES
    if room <= 0:
        return contents, False
    taken = accumulate(len(content.body) + MESSAGE_OVERHEAD_BYTES for content in contents)
    return contents[: next((n for n, size in enumerate(taken, 1) if size >= room), None)], True
